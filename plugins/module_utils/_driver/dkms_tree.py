# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The driver's part of the DKMS tree as it lies on disk, which ``dkms status`` does not tell once it is damaged.

One version without its source makes ``dkms status`` of dkms 3.0 end without a line for any version, so the directories
are read here, and dkms is asked about one sound version at a time. Changes nothing.
"""

from __future__ import annotations

import filecmp
import re
from dataclasses import dataclass, replace
from pathlib import Path

from .._node.commands import Run
from . import dkms

_MODULE_FILE = re.compile(r"\.ko(?:\.(?:gz|xz|zst))?$")
# Where distributions let dkms put modules: Debian and SUSE, then the RHEL family.
_PLACES = ("updates", "extra", "weak-updates")


@dataclass(frozen=True)
class Build:
    """What dkms keeps of one version for one kernel.

    ``known`` says whether dkms itself counts it as built, ``active`` whether it is the one that the kernel loads.
    Of an active build, ``missing`` names the modules that are not below /lib/modules, and ``replaced`` those in whose
    place a module of another version lies.
    """

    kernel: str
    arch: str
    directory: str
    known: bool
    active: bool
    missing: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()


@dataclass(frozen=True)
class Version:
    """One version in the tree. ``source`` is where its link points (None: no link), ``sound`` that it is all there.

    ``package`` owns /usr/src/habanalabs-<version>; None where a person put it there, or where it is gone for good.
    ``scratch`` says that the build directory holds something.
    """

    version: str
    directory: str
    source: str | None
    sound: bool
    package: str | None
    builds: tuple[Build, ...] = ()
    scratch: bool = False


@dataclass(frozen=True)
class Tree:
    """``dangling`` are the links from a kernel to a build that is gone, ``orphans`` module files nobody speaks for."""

    versions: tuple[Version, ...] = ()
    dangling: tuple[str, ...] = ()
    orphans: tuple[str, ...] = ()


def read_tree(run: Run, root: str = "/") -> Tree:
    """The tree as it is now; empty where dkms never had the driver."""
    tree = Path(root, "var/lib/dkms", dkms.DRIVER)
    links = [path for path in sorted(tree.glob("kernel-*")) if path.is_symlink()]
    active = {str(path.resolve()) for path in links if path.exists()}
    directories = [path for path in sorted(tree.glob("[0-9]*")) if path.is_dir() and not path.is_symlink()]
    return Tree(
        tuple(_version(path, active, run, root) for path in directories),
        tuple(str(path) for path in links if not path.exists()),
        tuple(_orphans(active, run, root)),
    )


def _version(directory: Path, active: set[str], run: Run, root: str) -> Version:
    link, version = directory / "source", directory.name
    sound = (link / "dkms.conf").is_file()
    known = _known(version, run) if sound else None
    scratch = directory / "build"
    return Version(
        version,
        str(directory),
        str(link.readlink()) if link.is_symlink() else (str(link) if link.is_dir() else None),
        sound,
        owner(f"/usr/src/{dkms.DRIVER}-{version}/dkms.conf", run),
        tuple(_build(path, known, active, run, root) for path in sorted(directory.glob("[0-9]*/*")) if path.is_dir()),
        scratch.is_dir() and any(scratch.iterdir()),
    )


def _known(version: str, run: Run) -> set[tuple[str | None, str | None]] | None:
    """Kernel and architecture of what dkms counts as built; None where it says nothing, and nothing can be judged."""
    # It has a line for every version that it knows, if only "added".
    entries = dkms.parse_status(run(["dkms", "status", "-m", dkms.DRIVER, "-v", version]).stdout)
    return {(entry.kernel, entry.arch) for entry in entries} if entries else None


def _build(
    directory: Path, known: set[tuple[str | None, str | None]] | None, active: set[str], run: Run, root: str
) -> Build:
    kernel, arch = directory.parent.name, directory.name
    counted = known is None or (kernel, arch) in known
    build = Build(kernel, arch, str(directory), counted, str(directory.resolve()) in active)
    # Without its directory the kernel itself is gone, and nobody misses its modules.
    if not build.active or not Path(root, "lib/modules", kernel).is_dir():
        return build
    there = {_module(path): path for path in module_files(kernel, root)}
    built = {_module(path): path for path in sorted(directory.glob("module/*.ko*"))}
    missing = tuple(name for name in built if name not in there)
    other = tuple(name for name in built if name in there and _is_other(built[name], there[name], run))
    return replace(build, missing=missing, replaced=other)


def _is_other(built: Path, installed: Path, run: Run) -> bool:
    """Whether the installed file is of another version; one of the same version may be somebody's own build."""
    if filecmp.cmp(built, installed, shallow=False):
        return False
    versions = [run(["modinfo", "-F", "version", str(path)]).stdout.strip() for path in (built, installed)]
    return versions[0] != versions[1]


def _module(path: Path) -> str:
    return _MODULE_FILE.sub("", path.name)


def module_files(kernel: str, root: str = "/") -> list[Path]:
    """The driver's module files where dkms puts them for ``kernel``."""
    tree = Path(root, "lib/modules", kernel)
    found = (path for place in _PLACES for path in (tree / place).rglob(f"{dkms.DRIVER}*.ko*"))
    return sorted(path for path in found if _MODULE_FILE.search(path.name))


def _orphans(active: set[str], run: Run, root: str) -> list[str]:
    """Files of kernels that have no active build, and that no package brought."""
    served = {Path(path).parent.name for path in active}
    kernels = sorted(path.name for path in Path(root, "lib/modules").glob("*") if path.name not in served)
    files = [path for kernel in kernels for path in module_files(kernel, root)]
    return [str(path) for path in files if owner(f"/{path.relative_to(root)}", run) is None]


def owner(path: str, run: Run) -> str | None:
    """The package that ``path`` belongs to, asked of dpkg, then of rpm (EPEL has dpkg); None for nobody's."""
    asked = run(["dpkg-query", "--search", path])
    if asked.rc == 0:
        return asked.stdout.partition(":")[0].partition(",")[0].strip() or None
    reported = run(["rpm", "--query", "--queryformat", "%{NAME}\\n", "--file", path])
    return reported.stdout.strip().splitlines()[0] if reported.rc == 0 and reported.stdout.strip() else None
