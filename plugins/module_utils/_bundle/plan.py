# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a bundle for an air-gapped site consists of, as its operator asks for it: values only."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from typing import Mapping, Sequence

from .._errors import GaudiError
from .._node.kernel_tree import kernel_tree
from .._node.urls import checked_url
from .._packages.repository_plan import APT_KEY, RPM_KEY
from .._packages.repository_words import checked_words
from .._releases.lookup import Release, find_release
from .._venv.node_library import refuse_extras, refuse_own_name
from .._venv.pin_table import PINS
from .._venv.pins import BASE
from .layout import COLLECTIONS, IMAGES, PARTS, WHEELS

__all__ = ["APT_KEY", "PARTS", "RPM_KEY"]

LONGEST_VALID_DAYS = 3650


@dataclass(frozen=True)
class BundleOptions:
    """What the operator asks for; the module ``package_bundle`` documents each.

    ``kernels`` stand for ``{kernel}`` in ``os_packages``. ``jobs`` files are fetched at the same time.
    After ``valid_days`` nodes refuse the bundle until it is signed anew.
    """

    path: str
    packages_url: str
    release: str
    part: str
    work_path: str = ""
    release_overrides: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    rollback_releases: Sequence[str] = ()
    key_url: str = ""
    key_fingerprint: str = ""
    suite: str = ""
    components: Sequence[str] = ("main",)
    architectures: Sequence[str] = ("amd64",)
    packages: Sequence[str] = ()
    rpm_repositories: Sequence[str] = ()
    rpm_packages: Sequence[str] = ()
    os_packages: Sequence[str] = ()
    kernels: Sequence[str] = ()
    distribution_sources: str = ""
    distribution_base: bool = True
    os_directory: str = ""
    pytorch: str = ""
    pytorch_checksum: str = ""
    python: str = "/usr/bin/python3"
    requirements: Sequence[str] = ()
    extras: Sequence[str] = ()
    pins: Sequence[str] = ()
    index_url: str = ""
    files: Sequence[str] = ()
    signing_key: str = "/var/lib/gaudi3_scale/bundle-signing-key.asc"
    valid_days: int = 365
    plain_http_hosts: Sequence[str] = ()
    kernel_root: str = field(default_factory=kernel_tree)
    jobs: int = 4
    timeout: int = 3600

    @property
    def work(self) -> str:
        """Beside the bundle, on the same file system: parts of files, and what an earlier run knows."""
        return (self.work_path or f"{self.path.rstrip('/')}.work").rstrip("/")

    @property
    def own_wheels(self) -> str:
        """The operator's wheels for pip to choose from, apart from those that an index has."""
        return f"{self.work}/own-wheels"

    @property
    def repository(self) -> str:
        """The package repository without a slash at its end."""
        return self.packages_url.rstrip("/")

    def rows(self) -> list[Release]:
        """The release, and those that a node may have to go back to."""
        names = [self.release, *self.rollback_releases]
        return [find_release(name, self.release_overrides) for name in names]


@dataclass(frozen=True)
class RemoteFile:
    """A file to fetch. ``path`` is below the bundle; ``size`` (bytes) and ``sha256`` are 0 and empty where no index

    tells them. ``vouched`` says in words who does.
    """

    url: str
    path: str
    size: int = 0
    sha256: str = ""
    vouched: str = "no checksum of it is published"


def check(options: BundleOptions) -> None:
    """Refuse what cannot be meant, before anything is touched."""
    for option, path in (("path", options.path), ("work_path", options.work)):
        # apt's sources and the unit of the server take no blanks.
        if not path.startswith("/") or path.rstrip("/").count("/") < 2 or any(c.isspace() for c in path):
            raise GaudiError(
                f"{option} must be an absolute path of a dedicated directory, without blanks, not '{path}'.",
                option=option,
            )
    if options.work == options.path.rstrip("/") or options.work.startswith(options.path.rstrip("/") + "/"):
        raise GaudiError(f"work_path '{options.work}' must be outside of path '{options.path}', which is served.")
    if options.part not in PARTS:
        raise GaudiError(f"part '{options.part}' is not known; use one of {', '.join(PARTS)}.", option="part")
    if options.part in ("packages", "distribution") and options.packages and not options.suite:
        raise GaudiError("suite is empty; give the code name of the nodes' distribution, for example jammy.")
    if not 0 < options.valid_days <= LONGEST_VALID_DAYS:
        raise GaudiError(
            f"valid_days must be between 1 and {LONGEST_VALID_DAYS}, not {options.valid_days}.", option="valid_days"
        )
    _check_words(options)
    for repository in options.rpm_repositories:
        safe_path(repository, "rpm_repositories")
    refuse_own_name(options.requirements)
    refuse_extras(options.extras, sorted({extra for pin in PINS for extra in pin.needed_by} - {BASE}))
    options.rows()


def _check_words(options: BundleOptions) -> None:
    """What goes into apt's and pip's settings."""
    for option in ("packages_url", "key_url", "index_url"):
        if option == "packages_url" or getattr(options, option):
            checked_url(option, getattr(options, option), options.plain_http_hosts)
    checked_words("suite", [options.suite] if options.suite else [])
    for option in ("components", "architectures", "kernels"):
        checked_words(option, getattr(options, option))


def part_name(options: BundleOptions) -> str:
    """The record of this part: parts of several distributions can stand beside each other in one bundle."""
    of_system = {
        "packages": options.suite,
        "distribution": options.suite,
        "pytorch": options.os_directory,
        "wheels": options.os_directory,
    }
    return "-".join(filter(None, (options.part, of_system.get(options.part, ""))))


def safe_path(path: str, source: str) -> str:
    """``path`` if it stays below the bundle. Raises :class:`GaudiError` for one that an index made up."""
    clean = posixpath.normpath(path)
    if path.startswith("/") or clean.split("/")[0] in ("..", ".", "") or "\\" in path or "\n" in path:
        raise GaudiError(f"{source} names the file '{path}', which is outside of the bundle; do not trust this source.")
    return clean


def pins(options: BundleOptions, release: Release) -> list[str]:
    """The vendor's packages as apt takes them on a node."""
    return [f"{name}={release.package_version}" for name in options.packages]


def os_packages(options: BundleOptions, kernels: Sequence[str]) -> list[str]:
    """The distribution's packages with ``{kernel}`` replaced, each once."""
    named = [name.replace("{kernel}", kernel) for name in options.os_packages for kernel in kernels]
    return list(dict.fromkeys(named))


def pytorch_path(options: BundleOptions, release: Release) -> str:
    """The PyTorch bundle of the release below the package repository."""
    file = f"pytorch_modules-v{options.pytorch or release.pytorch}_{release.version}_{release.build}.tgz"
    return f"gaudi-pt-modules/{release.version}/{release.build}/pytorch/{options.os_directory}/{file}"


def installer_path(release: Release) -> str:
    """The vendor's installer script below the package repository."""
    return f"gaudi-installer/{release.version}/habanalabs-installer.sh"


def local_path(file: str) -> str:
    """Where a file of the operator's goes in the bundle, by what it is."""
    name = file.rpartition("/")[2]
    if name.endswith(".whl"):
        return f"{WHEELS}/{name}"
    if name.endswith((".tar.gz", ".yml")):
        return f"{COLLECTIONS}/{name}"
    if name.endswith(".tar"):
        return f"{IMAGES}/{name}"
    raise GaudiError(
        f"files has '{file}', which is not a wheel (.whl), collection (.tar.gz), image archive (.tar) or requirements "
        "file (.yml)."
    )
