# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a killed build, package script or clean-up leaves in the driver's DKMS tree, and the way out of it.

Written to what dkms 3.0.10 left when it and dpkg were killed: see the table in docs/kernel_guard.md. Only the module
``habanalabs`` is looked at, and what no package owns is told and left alone.
"""

from __future__ import annotations

import filecmp
import os
import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

from .._errors import GaudiError
from .._node.commands import Run
from . import dkms
from .dkms_tree import Build, Tree, Version, module_files, read_tree
from .module_override import run_depmod

# The vendor's versions, 1.24.1-482. A tree of another name is somebody's own.
_RELEASE = re.compile(r"\d+\.\d+\.\d+-\d+")
# Where trees go that nothing can build again; a person may want to look before they are gone for good.
ASIDE = "var/lib/gaudi3_scale/dkms_set_aside"


@dataclass(frozen=True)
class Damage:
    """One thing wrong with the tree, with its ``sentence``.

    ``remove`` are files and directories that :func:`repair` deletes, ``set_aside`` directories that it moves away.
    ``packages`` have to be installed again to mend it. Where all three are empty it is only told.
    """

    kind: str
    sentence: str
    version: str | None = None
    kernel: str | None = None
    remove: tuple[str, ...] = ()
    set_aside: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()

    @property
    def repairable(self) -> bool:
        """Whether :func:`repair` does something about it."""
        return bool(self.remove or self.set_aside)

    def __str__(self) -> str:
        return self.sentence


def find_damages(run: Run, root: str = "/", proc: str = "/proc", patience_s: float = 60.0) -> list[Damage]:
    """What is wrong with the tree; changes nothing.

    Waits ``patience_s`` seconds for a dkms at work, as a build under way looks like one that was killed, and raises
    :class:`GaudiError` where it goes on.
    """
    if not wait_for_dkms(patience_s, proc):
        busy = working(proc)
        raise GaudiError(
            f"DKMS is at work on this node (process {', '.join(map(str, busy))}), a kernel or driver package is being "
            "installed; wait until it has ended and run again.",
            processes=busy,
        )
    return damages(read_tree(run, root))


def wait_for_dkms(timeout_s: float, proc: str = "/proc", pause_s: float = 0.2) -> bool:
    """Return True as soon as no dkms runs, False where one still runs after ``timeout_s`` seconds."""
    end = time.monotonic() + timeout_s
    while working(proc):
        if time.monotonic() >= end:
            return False
        time.sleep(pause_s)
    return True


def working(proc: str = "/proc") -> list[int]:
    """The processes of dkms; the tree is not to be judged while there are some."""
    found = []
    for path in Path(proc).glob("[0-9]*/comm"):
        try:
            # Anybody can have a program of this name; none but root's changes the tree.
            is_roots = path.parent.stat().st_uid in (0, os.geteuid())
            if is_roots and path.read_text(encoding="utf-8", errors="replace").strip() == "dkms":
                found.append(int(path.parent.name))
        except OSError:
            continue  # it ended while it was looked at
    return sorted(found)


def damages(tree: Tree) -> list[Damage]:
    """The judgment. Pure."""
    found = [damage for version in tree.versions for damage in _of_version(version)]
    found += [
        Damage(
            "dangling kernel link",
            f"{link} points to a build that is gone, so dkms considers the next build installed and never copies it "
            "into place: the link is removed.",
            kernel=re.sub(r"-[^-]+$", "", Path(link).name[len("kernel-") :]),
            remove=(link,),
        )
        for link in tree.dangling
    ]
    return found + [_orphan(path) for path in tree.orphans]


def _of_version(version: Version) -> list[Damage]:
    name = f"{dkms.DRIVER} {version.version}"
    if not version.sound:
        return [_without_source(version, name)]
    if version.package is None:
        own = f"{version.source} belongs to no package"
        remedy = f"`dkms remove -m {dkms.DRIVER} -v {version.version} --all` removes it"
        sentence = f"{name} was added to DKMS manually ({own}) and is left alone; if it is not wanted, {remedy}."
        return [Damage("by hand", sentence, version.version)]
    found = [_half_built(version, build, name) for build in version.builds if not build.known]
    found += [
        _not_in_place(version, build, name)
        for build in version.builds
        if build.known and (build.missing or build.replaced)
    ]
    if version.scratch:
        path = f"{version.directory}/build"
        sentence = f"A build of {name} was cut short or failed and left {path}: the directory is removed."
        found.append(Damage("stale build directory", sentence, version.version, remove=(path,)))
    return found


def _half_built(version: Version, build: Build, name: str) -> Damage:
    return Damage(
        "half built",
        f"The build of {name} for kernel {build.kernel} was cut short: dkms neither counts it as built nor builds it "
        f"again ('has already been built', 'tree already contains'), so {build.directory} is removed.",
        version.version,
        build.kernel,
        remove=(build.directory, *([_kernel_link(version, build)] if build.active else [])),
    )


def _not_in_place(version: Version, build: Build, name: str) -> Damage:
    what = f"lacks {', '.join(build.missing)}" if build.missing else f"has another version of {build.replaced[0]}"
    return Damage(
        "not in place",
        f"dkms counts {name} as installed for kernel {build.kernel}, but /lib/modules/{build.kernel} {what}: its mark "
        "is removed, so that it is installed again.",
        version.version,
        build.kernel,
        remove=(_kernel_link(version, build),),
    )


def _links(version: Version) -> tuple[str, ...]:
    return tuple(_kernel_link(version, build) for build in version.builds if build.active)


def _kernel_link(version: Version, build: Build) -> str:
    return f"{Path(version.directory).parent}/kernel-{build.kernel}-{build.arch}"


def _without_source(version: Version, name: str) -> Damage:
    """Unlisted (no link to a source) or broken (the source is gone): dkms then refuses to add, build and remove it."""
    standard = f"/usr/src/{dkms.DRIVER}-{version.version}"
    lacks = f"no source ({version.source} has no dkms.conf)" if version.source else "no link to a source"
    if version.package:
        if version.source is None:
            # The package's own script stumbles over this ("is not located in the DKMS tree"), installed again or not.
            sentence = f"{name} is in the DKMS tree with {lacks}: {version.directory} is removed and built again."
            return Damage("without source", sentence, version.version, remove=(version.directory, *_links(version)))
        sentence = (
            f"{name} is in the DKMS tree with {lacks}, on which `dkms status` fails for every version: the "
            f"package {version.package} has to be installed again."
        )
        return Damage("without source", sentence, version.version, packages=(version.package,))
    if version.source not in (None, standard) or not _RELEASE.fullmatch(version.version):
        remedy = f"bring {version.source or standard} back or move {version.directory} away"
        sentence = f"{name} was added to DKMS manually and has {lacks}, so `dkms status` fails; {remedy}."
        return Damage("by hand", sentence, version.version)
    sentence = (
        f"{name} is in the DKMS tree with {lacks} and its package is gone; `dkms status` fails on it and `dkms remove` "
        f"does not remove it: {version.directory} is moved to /{ASIDE}, and its modules are taken from /lib/modules."
    )
    return Damage("without package", sentence, version.version, remove=_links(version), set_aside=(version.directory,))


def _orphan(path: str) -> Damage:
    kernel = path.partition("/lib/modules/")[2].partition("/")[0]
    sentence = (
        f"{path} is of no version that dkms knows; it is left alone, and building the driver for kernel {kernel} "
        "replaces it."
    )
    return Damage("orphan module", sentence, kernel=kernel)


def repair(damage: Damage, run: Run, root: str = "/") -> list[str]:
    """Do what the damage says; returns what was removed or moved, and is empty where it is only told."""
    touched: list[str] = []
    kernels: list[str] = []
    for directory in damage.set_aside:
        kernels += _take_back(Path(directory), root, touched)
        touched.append(_move_aside(Path(directory), root))
    for path in map(Path, damage.remove):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
            _remove_empty(path.parent, damage)
        elif path.is_symlink() or path.exists():
            path.unlink()
        else:
            continue
        touched.append(str(path))
    for kernel in dict.fromkeys(kernels):
        run_depmod(kernel, run)
    return touched


def _remove_empty(directory: Path, damage: Damage) -> None:
    """The directory of a kernel that has nothing left; dkms would take it for a build that it must not touch."""
    if damage.kernel is not None and directory.name == damage.kernel and not any(directory.iterdir()):
        directory.rmdir()


def _take_back(version: Path, root: str, touched: list[str]) -> list[str]:
    """Delete installed modules that are byte for byte those of this tree; returns the kernels that lost some."""
    kernels = []
    for build in sorted(version.glob("[0-9]*/*/module")):
        kernel = build.parent.parent.name
        for path in module_files(kernel, root):
            if (build / path.name).is_file() and filecmp.cmp(build / path.name, path, shallow=False):
                path.unlink()
                touched.append(str(path))
                kernels.append(kernel)
    return kernels


def _move_aside(directory: Path, root: str) -> str:
    target = Path(root, ASIDE, f"{directory.name}.{time.strftime('%Y%m%dT%H%M%S')}")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(str(directory), str(target))
    return str(target)


def repair_all(found: Sequence[Damage], run: Run, root: str = "/") -> list[str]:
    """Repair whatever can be; returns what was removed or moved."""
    return [path for damage in found if damage.repairable for path in repair(damage, run, root)]
