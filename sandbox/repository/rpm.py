# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The packages of one release as RPMs: the same descriptions that become Debian packages, and rpmbuild to write them.

Names, the ``.el9`` of the release tag and the driver's own name are the vendor's for RHEL. Its scriptlets are not
public; here they are those that ``dkms mkrpm`` writes.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..commands import run
from .deb import DebPackage

DIST = ".el9"
NAMES = {"habanalabs-dkms": "habanalabs"}
_DEPENDENCY = re.compile(r"(?P<name>\S+)(?: \((?P<relation>[<>=]+) (?P<version>\S+)\))?")
# Our files are text but for one library: there is nothing to strip, to compile or to find the needs of.
_MACROS = {
    "debug_package": "%{nil}",
    "__os_install_post": "%{nil}",
    "_binary_payload": "w6.gzdio",
    "_build_name_fmt": "%%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm",
    "_buildhost": "localhost",
}


def write_all(packages: Sequence[DebPackage], directory: Path) -> None:
    """Write one file for each of ``packages``, which have one version, into ``directory``."""
    with tempfile.TemporaryDirectory(prefix="rpm-") as scratch:
        root = Path(scratch, "root")
        for package in packages:
            _stage(package, root)
        recipe = Path(scratch, "packages.spec")
        recipe.write_text(spec(packages, root), encoding="utf-8")
        macros = {**_MACROS, "_topdir": f"{scratch}/build", "_rpmdir": str(directory)}
        options = [part for name, value in macros.items() for part in ("--define", f"{name} {value}")]
        run(["rpmbuild", "-bb", "--quiet", "--target", "x86_64", *options, recipe])


def spec(packages: Sequence[DebPackage], root: Path) -> str:
    """One recipe for all packages, whose files lie below ``root``."""
    version, _dash, release = packages[0].version.partition("-")
    head = [
        "Name: simulated-gaudi",
        f"Version: {version}",
        f"Release: {release}{DIST}",
        "Summary: Simulated Gaudi packages",
        "License: Apache-2.0",
        "%description",
        "Made by the sandbox of gaudi3.scale.",
        "%install",
        f"cp -a {root}/. %{{buildroot}}/",
    ]
    return "\n".join([*head, *(line for package in packages for line in _section(package)), ""])


def _section(package: DebPackage) -> Iterable[str]:
    name = rpm_name(package.name)
    yield f"%package -n {name}"
    yield f"Summary: {package.description} (simulated)"
    if package.architecture == "all":
        yield "BuildArch: noarch"
    yield "AutoReqProv: no"
    yield from (f"Requires: {dependency(text)}" for text in package.depends)
    yield f"%description -n {name}"
    yield "Made by the sandbox of gaudi3.scale."
    if name == "habanalabs":
        yield from _driver_scriptlets(package.version)
    yield f"%files -n {name}"
    for path, packaged in package.files.items():
        configuration = "%config(noreplace) " if path in package.configuration_files else ""
        yield f"{configuration}%attr({packaged.mode:04o}, root, root) {path}"


def _driver_scriptlets(version: str) -> Iterable[str]:
    yield "%post -n habanalabs"
    yield f"/usr/lib/dkms/common.postinst habanalabs {version} /usr/share/habanalabs-dkms"
    yield "%preun -n habanalabs"
    yield f"dkms remove -m habanalabs -v {version} --all --rpm_safe_upgrade || true"


def rpm_name(name: str) -> str:
    """The vendor's name of a package on RHEL."""
    return NAMES.get(name, name)


def dependency(text: str) -> str:
    """A Debian relation such as ``habanalabs-thunk (= 1.24.1-482)`` in RPM's words."""
    found = _DEPENDENCY.fullmatch(text)
    if found is None:
        raise ValueError(text)
    name, relation, version = found.group("name", "relation", "version")
    if not relation:
        return rpm_name(name)
    ours = DIST if name.startswith("habanalabs") else ""
    return f"{rpm_name(name)} {relation} {version}{ours}"


def _stage(package: DebPackage, root: Path) -> None:
    for path, packaged in package.files.items():
        target = root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(packaged.data)
        target.chmod(packaged.mode)
