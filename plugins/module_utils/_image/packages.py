# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What is installed in an image, by its own package databases: read from its files, without starting anything in it."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, replace
from email.parser import HeaderParser
from pathlib import Path
from typing import Iterator, Mapping

from .._errors import GaudiError
from .._releases.lookup import Release, version_key
from .._venv.wheel_bundle import normalized
from .image_files import names_in, text_of
from .replacing_wheels import is_protected, why_not

# Directories with python3.X in them, in the order in which the first one wins.
_PYTHONS = ("usr/local/lib", "usr/local/lib64", "usr/lib", "usr/lib64")
_SITES = ("site-packages", "dist-packages")
# Environments below these, each with its own lib.
_ENVIRONMENTS = ("opt", "root", "home", "opt/habanalabs")
_PYTHON = re.compile(r"python3(?:\.\d+)?")
_METADATA = re.compile(r"\.(?:dist|egg)-info$")
# rpm's database is of a form of its own, so rpm itself is asked, in a container of the image.
RPM_PLACES = ("var/lib/rpm", "usr/lib/sysimage/rpm")
RPM_QUERY = ("-qa", "--queryformat", r"%{NAME}\t%{VERSION}-%{RELEASE}\t%{ARCH}\t%{LICENSE}\n")
# habana-torch-plugin 1.24.1.482; habanalabs-graph 1.24.1-482.
_OF_RELEASE = re.compile(r"(\d+\.\d+\.\d+)[.-](\d+)")


@dataclass(frozen=True, order=True)
class Package:
    """``kind`` is ``deb``, ``rpm`` or ``pypi``; ``place`` is the directory of a Python package."""

    kind: str
    name: str
    version: str
    license: str = ""
    place: str = ""
    architecture: str = ""


@dataclass(frozen=True)
class Contents:
    """``system`` has the fields of os-release, ``packages`` are sorted."""

    system: Mapping[str, str]
    packages: tuple[Package, ...]

    def python(self, name: str) -> list[Package]:
        """The Python packages of that name, that which is imported first at the beginning."""
        return [package for package in self.packages if package.kind == "pypi" and package.name == name]

    @property
    def torch(self) -> str:
        """PyTorch's version; empty where there is none."""
        found = self.python("torch")
        return found[0].version if found else ""

    @property
    def protected(self) -> dict[str, tuple[str, ...]]:
        """Name to all versions of what may not change."""
        found: dict[str, tuple[str, ...]] = {}
        for package in self.packages:
            if package.kind == "pypi" and is_protected(package.name):
                found[package.name] = (*found.get(package.name, ()), package.version)
        return found

    @property
    def releases(self) -> set[str]:
        """The vendor's releases, with their builds, that its packages in the image are of."""
        vendors = ("habanalabs-", "habana-torch-")
        versions = (package.version for package in self.packages if package.name.startswith(vendors))
        matches = filter(None, map(_OF_RELEASE.match, versions))
        return {f"{match[1]}-{match[2]}" for match in matches}


def read_contents(root: Path) -> Contents:
    """What is installed in the image whose files are below ``root``."""
    system = dict(_os_release(text_of(root, "etc/os-release") or text_of(root, "usr/lib/os-release")))
    debs = sorted(_debs(text_of(root, "var/lib/dpkg/status")))
    return Contents(system, (*debs, *_python_packages(root)))


def has_rpms(root: Path) -> bool:
    """Whether the image whose files are below ``root`` has a database of rpm."""
    return any(names_in(root, place) for place in RPM_PLACES)


def with_rpms(contents: Contents, said: str) -> Contents:
    """The same with what ``rpm`` in the image answered to ``RPM_QUERY``."""
    rows = [line.split("\t") for line in said.splitlines()]
    # Keys are packages to rpm.
    found = [Package("rpm", row[0], row[1], row[3], architecture=row[2]) for row in rows if len(row) == 4]
    rpms = sorted(package for package in found if package.name != "gpg-pubkey")
    return replace(contents, packages=(*rpms, *contents.packages))


def _os_release(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if equals and not name.startswith("#"):
            yield name.strip(), value.strip().strip("\"'")


def _debs(status: str) -> Iterator[Package]:
    for paragraph in status.split("\n\n"):
        fields = HeaderParser().parsestr(paragraph.strip("\n"))
        if "installed" in str(fields.get("Status", "")).split():
            name, version = str(fields.get("Package", "")), str(fields.get("Version", ""))
            if name and version:
                yield Package("deb", name, version, architecture=str(fields.get("Architecture", "")))


def _python_packages(root: Path) -> list[Package]:
    found = (package for place in _places(root) for package in _in_place(root, place))
    unique = {(package.name, package.place): package for package in found}
    order = {place: number for number, place in enumerate(dict.fromkeys(package.place for package in unique.values()))}
    return sorted(unique.values(), key=lambda package: (package.name, order[package.place]))


def _places(root: Path) -> Iterator[str]:
    """Directories that Python imports from, relative to the image's root; environments first, as their PATH is."""
    environments = (f"{top}/{name}/lib" for top in _ENVIRONMENTS for name in names_in(root, top))
    for library in (*environments, *_PYTHONS):
        for python in names_in(root, library):
            if _PYTHON.fullmatch(python):
                yield from (f"{library}/{python}/{site}" for site in _SITES)


def _in_place(root: Path, place: str) -> Iterator[Package]:
    for entry in names_in(root, place):
        if not _METADATA.search(entry):
            continue
        # An egg-info may be a file itself.
        texts = (text_of(root, f"{place}/{entry}/{name}") for name in ("METADATA", "PKG-INFO"))
        fields = HeaderParser().parsestr(next(filter(None, texts), "") or text_of(root, f"{place}/{entry}"))
        name, version = str(fields.get("Name", "")).strip(), str(fields.get("Version", "")).strip()
        if name and version:
            license_ = str(fields.get("License-Expression", "")).strip()
            yield Package("pypi", normalized(name), version, license_, place)


def refuse_unfit_base(contents: Contents, base: str, release: Release) -> None:
    """Raise :class:`GaudiError` where the image is none of the vendor's of this release."""
    if not contents.torch:
        raise GaudiError(
            f"The base image {base} has no PyTorch; take the vendor's pytorch-installer image, or one made from it.",
            option="base_image",
        )
    if not contents.releases:
        raise GaudiError(
            f"The base image {base} has none of the vendor's packages, so its release is unknown; take the vendor's "
            "pytorch-installer image, or one made from it.",
            option="base_image",
        )
    if contents.releases != {release.package_version}:
        raise GaudiError(
            f"The base image {base} is of release {', '.join(sorted(contents.releases))}, and the nodes' driver is of "
            f"{release.package_version}; take the image of {release.version}, or set release (gaudi_release).",
            option="base_image",
            image_release=sorted(contents.releases),
            release=release.package_version,
        )
    wanted = version_key(release.pytorch)
    if version_key(contents.torch)[: len(wanted)] != wanted:
        raise GaudiError(
            f"The base image {base} has PyTorch {contents.torch}, and release {release.package_version} has "
            f"{release.pytorch}; correct base_image (gaudi_image_base), or the row in gaudi_release_overrides.",
            option="base_image",
        )


def refuse_changes(before: Contents, after: Contents) -> None:
    """Raise :class:`GaudiError`, with both versions, where the build changed what the vendor made for the cards."""
    changed = {
        name: (versions, after.protected.get(name, ()))
        for name, versions in before.protected.items()
        if after.protected.get(name, ()) != versions
    }
    # Dependencies bring what a requirements file would be refused for: torchvision of an index, CUDA's libraries.
    known = {package.name for package in before.packages if package.kind == "pypi"}
    brought = {package.name for package in after.packages if package.kind == "pypi"} - known
    changed.update({name: ((), tuple(one.version for one in after.python(name))) for name in brought if why_not(name)})
    if not changed:
        return
    said = ", ".join(
        f"{name} was {_versions(old)} and is {_versions(new)}" for name, (old, new) in sorted(changed.items())
    )
    raise GaudiError(
        f"The build replaced the vendor's PyTorch: {said}; remove the requirement or package that brings another one. "
        "The image was removed.",
        changed={name: {"before": list(old), "after": list(new)} for name, (old, new) in changed.items()},
    )


def _versions(versions: tuple[str, ...]) -> str:
    return " and ".join(versions) or "not there"


def constraints(contents: Contents) -> str:
    """pip's constraints that keep what the base has for the cards."""
    head = f"# Written by gaudi3.scale: the vendor's PyTorch {contents.torch} and what belongs to it.\n"
    first = {name: versions[0] for name, versions in contents.protected.items()}
    return head + "".join(f"{name}=={version}\n" for name, version in sorted(first.items()))


def day_of(epoch: int) -> str:
    """Seconds since 1970 as labels and documents have them (RFC 3339)."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch))
