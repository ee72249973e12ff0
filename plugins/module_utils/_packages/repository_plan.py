# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What the operator says of the package repository, and the repository of the node that this comes to: values only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping, Protocol, Sequence

from .._errors import GaudiError
from .._node.commands import Run
from .._node.kernel_tree import kernel_tree
from .._node.os_release import APT, DNF, os_release, package_manager
from .._node.rendered_files import FileChange
from .._node.urls import checked_url
from .._releases.lookup import find_release
from .apt_repository import AptRepository
from .dnf_repository import DnfRepository
from .fingerprints import checked_fingerprint, plain_fingerprint
from .repository_keys import RepositoryKey
from .repository_words import checked_words

NAME = "gaudi3_scale-repository"
# Where the vendor's package repository has its keys; that of dnf's metadata lies in each repository.
APT_KEY = "api/gpg/key/public"
RPM_KEY = "gaudi-general/keyPairs/primary/public"
METADATA_KEY = "repodata/repomd.xml.key"
AUTO = "auto"
PACKAGE_MANAGERS = (AUTO, APT, DNF)


class Repository(Protocol):
    """What apt's repository and dnf's have in common."""

    @property
    def key_url(self) -> str:
        """Where the key of its signatures is."""

    @property
    def sources_path(self) -> str:
        """The file that makes the package manager know it."""

    def render(self) -> str:
        """What that file says."""

    def signing_keys(self) -> list[RepositoryKey]:
        """The keys that the package manager takes for its own."""

    def others(self) -> list[FileChange]:
        """What other files of the node say of the same repository, switched off in them."""

    def refresh(self, run: Run, lock_timeout_s: float) -> None:
        """Fetch its index again."""

    def offered_versions(self, run: Run) -> dict[str, set[str]]:
        """Package -> versions that the index has."""

    def pinned(self, name: str, version: str) -> str:
        """How the package manager is asked for exactly this version."""

    def installed(self, pins: Mapping[str, str], run: Run) -> bool:
        """Whether the node has exactly these."""


@dataclass(frozen=True)
class RepositoryOptions:
    """What the operator asks for. Empty URLs derive from ``packages_url``, empty ``kernels`` is the running kernel.

    ``suite`` is apt's, or for dnf the directory of the distribution's minor release; empty: this node's own.
    ``packages`` come from the repository, all at the release's version; ``os_packages`` from the distribution, and
    ``{kernel}`` in such a name stands for each of ``kernels``.

    Empty fingerprints are those that the release table has; with none any key is taken. ``signed_files`` is
    what a signed manifest says of the package repository's files, URL to SHA-256.
    """

    packages_url: str
    release: str
    suite: str = ""
    release_overrides: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    package_manager: str = AUTO
    key_url: str = ""
    package_key_url: str = ""
    key_fingerprint: str = ""
    package_key_fingerprint: str = ""
    plain_http_hosts: Sequence[str] = ()
    repository_url: str = ""
    components: Sequence[str] = ("main",)
    architectures: Sequence[str] = ("amd64",)
    packages: Sequence[str] = ()
    os_packages: Sequence[str] = ()
    kernels: Sequence[str] = ()
    kernel_root: str = field(default_factory=kernel_tree)
    lock_timeout: float = 300.0
    signed_files: Mapping[str, str] = field(default_factory=dict)


def check(options: RepositoryOptions) -> None:
    """Refuse what cannot be in a package manager's file, before anything is touched."""
    checked_words("suite", [options.suite.strip("/")] if options.suite else [])
    for option in ("components", "architectures", "packages", "os_packages", "kernels"):
        checked_words(option, getattr(options, option))
    for option in ("components", "architectures"):
        if not getattr(options, option):
            raise GaudiError(f"{option} must not be empty; leave it out for its default.", option=option)
    for option in ("packages_url", "repository_url", "key_url", "package_key_url"):
        if option == "packages_url" or getattr(options, option):
            checked_url(option, getattr(options, option), options.plain_http_hosts)
    for option in ("key_fingerprint", "package_key_fingerprint"):
        checked_fingerprint(option, getattr(options, option))


def kind(options: RepositoryOptions, etc: str = "/etc") -> str:
    """``apt`` or ``dnf``: as asked for, or the distribution's own."""
    return package_manager(etc) if options.package_manager == AUTO else options.package_manager


def repository_of(options: RepositoryOptions, etc: str = "/etc") -> Repository:
    """The repository that the options describe, for the package manager of the node."""
    return plan_dnf(options, etc) if kind(options, etc) == DNF else plan(options, etc)


def places(etc: str) -> tuple[str, str]:
    """The files that make apt and dnf know the repository."""
    return f"{etc}/apt/sources.list.d/{NAME}.sources", f"{etc}/yum.repos.d/{NAME}.repo"


def key_places(etc: str) -> tuple[str, str, str]:
    """The files of its keys: apt's, and for dnf that of the metadata and that of the packages."""
    rpm = f"{etc}/pki/rpm-gpg/RPM-GPG-KEY-{NAME}"
    return f"{etc}/apt/keyrings/{NAME}.asc", f"{rpm}-metadata", f"{rpm}-packages"


def plan(options: RepositoryOptions, etc: str = "/etc") -> AptRepository:
    """The apt repository that the options describe; URL shapes as on vault.habana.ai."""
    check(options)
    repository = options.packages_url.rstrip("/")
    suite = options.suite or os_release(etc).get("VERSION_CODENAME", "")
    if not suite:
        raise GaudiError(f"{etc}/os-release names no suite; set suite to the distribution's code name, such as jammy.")
    return AptRepository(
        uri=(options.repository_url or f"{repository}/debian").rstrip("/"),
        suite=suite,
        components=tuple(options.components),
        architectures=tuple(options.architectures),
        key_url=(options.key_url or f"{repository}/{APT_KEY}").rstrip("/"),
        key_path=key_places(etc)[0],
        sources_path=places(etc)[0],
        key_fingerprint=_fingerprint(options, "key_fingerprint", "" if options.key_url else "apt"),
        signed_files=options.signed_files,
    )


def plan_dnf(options: RepositoryOptions, etc: str = "/etc") -> DnfRepository:
    """The dnf repository that the options describe; URL shapes as on vault.habana.ai."""
    check(options)
    repository = options.packages_url.rstrip("/")
    base = (options.repository_url or f"{repository}/{directory(options, etc)}").rstrip("/")
    return DnfRepository(
        identifier=NAME,
        uri=base,
        key_url=(options.key_url or f"{base}/{METADATA_KEY}").rstrip("/"),
        key_path=key_places(etc)[1],
        package_key_url=(options.package_key_url or f"{repository}/{RPM_KEY}").rstrip("/"),
        package_key_path=key_places(etc)[2],
        sources_path=places(etc)[1],
        key_fingerprint=_fingerprint(options, "key_fingerprint", "" if options.key_url else "rpm_metadata"),
        package_key_fingerprint=_fingerprint(
            options, "package_key_fingerprint", "" if options.package_key_url else "rpm_packages"
        ),
        signed_files=options.signed_files,
    )


def _fingerprint(options: RepositoryOptions, option: str, vendors: str) -> str:
    """The operator's fingerprint, else the one that the release table has of the vendor's key, where it is that key."""
    own = plain_fingerprint(getattr(options, option))
    known = find_release(options.release, options.release_overrides).keys.get(vendors, "") if vendors else ""
    return own or checked_fingerprint(f"gaudi_release_overrides[{options.release}].keys.{vendors}", known)


def directory(options: RepositoryOptions, etc: str) -> str:
    """``rhel/9/9.6``: the vendor has a directory for each minor release that it supports.

    The rebuilds of RHEL take RHEL's packages.
    """
    if options.suite or options.repository_url:
        return options.suite.strip("/")
    version = os_release(etc).get("VERSION_ID", "")
    major, dot, _minor = version.partition(".")
    if not dot:
        raise GaudiError(
            f"{etc}/os-release names no minor release of RHEL (VERSION_ID is '{version}'); set suite to the "
            "repository's directory for this node, for example rhel/9/9.6."
        )
    return f"rhel/{major}/{version}"
