# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Simulation: a base image of a node's own Python, pip and apt, with a stand-in for PyTorch; run on the node, by root.

    python3 base_image_on_node.py FILES NAME DIGEST_FILE

FILES goes beside the image's Python packages (tests/image_base.py). The image gets NAME, the vendor's, and is pushed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PACKAGES = ("apt", "bash", "ca-certificates", "mawk", "python3", "python3-pip")
# Of a running system, and of no package.
ALSO = ("ca-certificates.conf", "group", "gshadow", "ld.so.cache", "ld.so.conf", "passwd", "resolv.conf", "shadow")
TREES = ("etc/alternatives", "etc/apt", "etc/ld.so.conf.d", "etc/ssl", "usr/share/keyrings", "var/lib/dpkg/info")
EMPTY = ("dev", "proc", "root", "run", "sys", "tmp", "var/cache/apt/archives/partial", "var/lib/apt/lists/partial")
EMPTY_ALSO = ("var/lib/dpkg/updates", "var/lib/dpkg/triggers", "var/log", "var/tmp")
LEFT_OUT = re.compile(r"/usr/share/(?:doc|info|lintian|locale|man)/.")
TOP_LINKS = ("bin", "lib", "lib32", "lib64", "sbin")


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def installed_packages() -> dict[str, dict[str, str]]:
    """Name of each package that is installed -> its fields, without those that go on over several lines."""
    found = {}
    for paragraph in Path("/var/lib/dpkg/status").read_text().split("\n\n"):
        lines = [line.partition(": ") for line in paragraph.splitlines() if line[:1].strip()]
        fields = {name: value for name, _colon, value in lines}
        if fields.get("Status", "").endswith(" installed"):
            found[fields["Package"]] = fields
    return found


def named(relations: str) -> list[list[str]]:
    """Alternatives of each relation, by name: ``a (>= 1) | b, c:any`` as [[a, b], [c]]."""
    groups = [group.split("|") for group in relations.split(",") if group.strip()]
    return [[re.split(r"[\s:(]", one.strip(), maxsplit=1)[0] for one in group] for group in groups]


def wanted_packages() -> set[str]:
    """Those that every system has, and what ``PACKAGES`` need, also by the name of what another one provides."""
    packages = installed_packages()
    providers: dict[str, str] = {}
    for name, fields in packages.items():
        for (provided,) in named(fields.get("Provides", "")):
            providers.setdefault(provided, name)
    providers.update((name, name) for name in packages)
    left = [*PACKAGES, *(name for name, fields in packages.items() if fields.get("Essential") == "yes")]
    found: set[str] = set()
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            fields = packages[name]
            for group in named(f"{fields.get('Pre-Depends', '')},{fields.get('Depends', '')}"):
                left += [providers[one] for one in group if one in providers][:1]
    return found


def copy(path: Path, root: Path) -> None:
    """A file, or an empty directory, to where it lies behind the links of the system's own top."""
    target = root / path.parent.resolve().relative_to("/") / path.name
    if target.exists() or target.is_symlink():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir() and not path.is_symlink():
        target.mkdir()
    elif path.is_symlink() or path.is_file():
        shutil.copy2(path, target, follow_symlinks=False)


def copy_tree(tree: str, root: Path) -> None:
    if Path("/", tree).is_dir():
        shutil.copytree(Path("/", tree), root / tree, symlinks=True, dirs_exist_ok=True)


def make_root(root: Path, files: Path) -> None:
    """The image's files below ``root``."""
    packages = wanted_packages()
    for link in filter(Path.is_symlink, (Path("/", name) for name in TOP_LINKS)):
        (root / link.name).symlink_to(link.readlink())
    for package in sorted(packages):
        for line in output("dpkg-query", "--listfiles", package).splitlines():
            if line.startswith("/") and line != "/." and not LEFT_OUT.match(line):
                copy(Path(line), root)
    for name in ALSO:
        copy(Path("/etc", name), root)
    for tree in TREES:
        copy_tree(tree, root)
    # The node's own repositories, which a base image knows nothing of.
    for source in (root / "etc/apt/sources.list.d").glob("gaudi3_scale*"):
        source.unlink()
    for name in (*EMPTY, *EMPTY_ALSO):
        (root / name).mkdir(parents=True, exist_ok=True)
    for name in ("tmp", "var/tmp"):
        (root / name).chmod(0o1777)
    paragraphs = Path("/var/lib/dpkg/status").read_text().split("\n\n")
    kept = [one for one in paragraphs if one.partition("\n")[0].removeprefix("Package: ") in packages]
    (root / "var/lib/dpkg/status").write_text("\n\n".join(kept) + "\n")
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    shutil.copytree(files, root / "usr/local/lib" / version / "dist-packages", dirs_exist_ok=True)


def main(files: str, name: str, digest_file: str) -> None:
    """Make the image and push it."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as scratch:
        root, archive = Path(scratch, "root"), Path(scratch, "root.tar")
        root.mkdir()
        make_root(root, Path(files))
        with tarfile.open(archive, "w") as tar:
            tar.add(root, ".")
        output("podman", "import", "--quiet", str(archive), name)
    output("podman", "push", "--quiet", "--tls-verify=false", "--digestfile", digest_file, name)
    output("podman", "rmi", "--force", name)


if __name__ == "__main__":
    main(*sys.argv[1:])
