# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The vendor's package vault (or a site's mirror of it) as a package repository of the node.

A run that finds everything as wanted uses no network: the files say where the packages come from, and the package
lists on the node say whether the wanted version is among them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Mapping, Protocol, Sequence

from ..errors import GaudiError
from ..kernel.modules import running_kernel
from ..node.commands import Run
from ..node.os_release import APT, DNF, os_release, package_manager
from ..node.rendered_files import FileChange, WantedFile, differences, pending, write
from ..releases.lookup import Release, find_release
from .apt_repository import AptRepository
from .dnf_repository import DnfRepository
from .repository_keys import RepositoryKey, import_into_rpm, unknown_to_rpm
from .rpm_database import rpm_name

NAME = "gaudi3_scale-vault"
AUTO = "auto"
PACKAGE_MANAGERS = (AUTO, APT, DNF)


class Repository(Protocol):
    """What apt's repository and dnf's have in common."""

    @property
    def key_url(self) -> str: ...
    @property
    def sources_path(self) -> str: ...
    def render(self) -> str: ...
    def signing_keys(self) -> list[RepositoryKey]: ...
    def refresh(self, run: Run, lock_timeout_s: float) -> None: ...
    def offered_versions(self, run: Run) -> dict[str, set[str]]: ...
    def pinned(self, name: str, version: str) -> str: ...
    def installed(self, pins: Mapping[str, str], run: Run) -> bool: ...


@dataclass(frozen=True)
class VaultOptions:
    """What the operator asks for. Empty URLs are derived from ``vault_url``, empty ``kernels`` is the running kernel.

    ``suite`` is apt's, or for dnf the directory of the distribution's minor release; empty: this node's own.
    ``packages`` come from the vault, all at the release's version; ``os_packages`` from the distribution, and
    ``{kernel}`` in such a name stands for each of ``kernels``.
    """

    vault_url: str
    release: str
    suite: str = ""
    release_overrides: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    package_manager: str = AUTO
    key_url: str = ""
    package_key_url: str = ""
    repository_url: str = ""
    components: Sequence[str] = ("main",)
    architectures: Sequence[str] = ("amd64",)
    packages: Sequence[str] = ()
    os_packages: Sequence[str] = ()
    kernels: Sequence[str] = ()
    kernel_root: str = "/"
    lock_timeout: float = 300.0


def kind(options: VaultOptions, etc: str = "/etc") -> str:
    """``apt`` or ``dnf``: as asked for, or the distribution's own."""
    return package_manager(etc) if options.package_manager == AUTO else options.package_manager


def repository_of(options: VaultOptions, etc: str = "/etc") -> Repository:
    """The repository that the options describe, for the package manager of the node."""
    return plan_dnf(options, etc) if kind(options, etc) == DNF else plan(options, etc)


def plan(options: VaultOptions, etc: str = "/etc") -> AptRepository:
    """The apt repository that the options describe; URL shapes as on vault.habana.ai."""
    vault = _url("vault_url", options.vault_url)
    suite = options.suite or os_release(etc).get("VERSION_CODENAME", "")
    if not suite or not options.components:
        raise GaudiError("suite and components must name a part of the package repository, for example jammy and main.")
    return AptRepository(
        uri=_url("repository_url", options.repository_url or f"{vault}/debian"),
        suite=suite,
        components=tuple(options.components),
        architectures=tuple(options.architectures),
        key_url=_url("key_url", options.key_url or f"{vault}/api/gpg/key/public"),
        key_path=f"{etc}/apt/keyrings/{NAME}.asc",
        sources_path=f"{etc}/apt/sources.list.d/{NAME}.sources",
    )


def plan_dnf(options: VaultOptions, etc: str = "/etc") -> DnfRepository:
    """The dnf repository that the options describe; URL shapes as on vault.habana.ai."""
    vault = _url("vault_url", options.vault_url)
    base = _url("repository_url", options.repository_url or f"{vault}/{_directory(options, etc)}")
    package_key = options.package_key_url or f"{vault}/gaudi-general/keyPairs/primary/public"
    return DnfRepository(
        identifier=NAME,
        uri=base,
        key_url=_url("key_url", options.key_url or f"{base}/repodata/repomd.xml.key"),
        key_path=f"{etc}/pki/rpm-gpg/RPM-GPG-KEY-{NAME}-metadata",
        package_key_url=_url("package_key_url", package_key),
        package_key_path=f"{etc}/pki/rpm-gpg/RPM-GPG-KEY-{NAME}-packages",
        sources_path=f"{etc}/yum.repos.d/{NAME}.repo",
    )


def _directory(options: VaultOptions, etc: str) -> str:
    """``rhel/9/9.6``: the vendor has a directory for each minor release that it supports.

    The rebuilds of RHEL take RHEL's packages.
    """
    if options.suite or options.repository_url:
        return options.suite.strip("/")
    version = os_release(etc).get("VERSION_ID", "")
    major, dot, _minor = version.partition(".")
    if not dot:
        raise GaudiError(
            f"{etc}/os-release names no minor release of RHEL (VERSION_ID is '{version}'); set suite to the vault's "
            "directory for this node, for example rhel/9/9.6."
        )
    return f"rhel/{major}/{version}"


def _url(option: str, url: str) -> str:
    scheme, separator, rest = url.partition("://")
    if not separator or scheme not in ("https", "http", "file") or not rest or any(c.isspace() for c in url):
        raise GaudiError(f"{option} must be a URL of https://, http:// or file://, not '{url}'.", option=option)
    return url.rstrip("/")


def transaction(
    options: VaultOptions, release: Release, kernels: Sequence[str], repository: Repository | None = None
) -> list[str]:
    """Everything for the package manager's one transaction: the distribution's packages, then ours, each pinned."""
    words = repository or plan(options)
    named = [name.replace("{kernel}", kernel) for name in options.os_packages for kernel in kernels]
    return [*dict.fromkeys(named), *(words.pinned(name, release.package_version) for name in options.packages)]


def _pins(options: VaultOptions, release: Release, kernels: Sequence[str]) -> dict[str, str]:
    """The same as names with their version, empty for any."""
    named = {name.replace("{kernel}", kernel): "" for name in options.os_packages for kernel in kernels}
    return {**named, **dict.fromkeys(options.packages, release.package_version)}


def converge(options: VaultOptions, run: Run, check_mode: bool, etc: str = "/etc") -> dict[str, object]:
    """Register the repository where it is not, and read its lists where they do not offer the wanted packages."""
    release = find_release(options.release, options.release_overrides)
    repository = repository_of(options, etc)
    kernels = options.kernels or [running_kernel(options.kernel_root)]
    wanted = transaction(options, release, kernels, repository)
    installed = repository.installed(_pins(options, release, kernels), run)
    sources = pending([WantedFile(repository.sources_path, repository.render())])
    # With another repository every key is another one; on its own a key that is lost is fetched again.
    stale = [key for key in repository.signing_keys() if sources or not key.is_there()]
    unknown = unknown_to_rpm([key for key in repository.signing_keys() if key not in stale], run)
    registered = not (sources or stale or unknown)
    offered = repository.offered_versions(run) if registered else {}
    missing = _not_offered(options, release, offered)
    changes, refreshed = sources, False
    if stale:
        texts = {key.path: key.placeholder() if check_mode else key.text() for key in stale}
        changes = pending([WantedFile(path, text) for path, text in texts.items()]) + sources
    if not check_mode and (not registered or (missing and not installed)):
        missing = _apply(options, release, repository, changes, run)
        refreshed = True
    expected = [_transaction_difference(wanted)] if check_mode and missing and not installed else []
    return {
        "changed": bool(changes or unknown),
        "diff": differences(changes) + [_import_difference(key) for key in unknown] + expected,
        "release": release.version,
        "package_version": release.package_version,
        "repository": str(repository),
        "key_url": repository.key_url,
        "files": [*(key.path for key in repository.signing_keys()), repository.sources_path],
        "kernels": list(kernels),
        "packages": wanted,
        "installed": installed,
        "available": not missing,
        "refreshed": refreshed,
    }


def _not_offered(options: VaultOptions, release: Release, offered: Mapping[str, set[str]]) -> list[str]:
    """Those of the wanted packages that are not offered; dnf lists the driver under the name that RHEL gives it."""
    version = release.package_version
    return [
        name
        for name in options.packages
        if version not in offered.get(name, ()) and version not in offered.get(rpm_name(name), ())
    ]


def _transaction_difference(wanted: Sequence[str]) -> dict[str, str]:
    """What check mode shows of packages that the package manager cannot be asked about before the lists are read."""
    text = "".join(f"{name}\n" for name in wanted)
    return {"before_header": "packages", "after_header": "packages of the transaction", "before": "", "after": text}


def _import_difference(key: RepositoryKey) -> dict[str, str]:
    header = "keys that rpm takes packages from"
    return {"before_header": header, "after_header": header, "before": "", "after": f"{key.path}\n"}


def _apply(
    options: VaultOptions, release: Release, repository: Repository, changes: Sequence[FileChange], run: Run
) -> list[str]:
    """Write the files and read the lists; on any failure put the files back as they were."""
    done: list[FileChange] = []
    try:
        for change in changes:
            done.append(change)
            write(change)
        repository.refresh(run, options.lock_timeout)
        offered = repository.offered_versions(run)
        missing = _not_offered(options, release, offered)
        if missing:
            raise GaudiError(_absent(repository, release, missing[0], offered), packages=missing)
        for key in unknown_to_rpm(repository.signing_keys(), run):
            import_into_rpm(key, run)
        return missing
    except BaseException:
        for change in done:
            _put_back(change)
        raise


def _absent(repository: Repository, release: Release, name: str, offered: Mapping[str, set[str]]) -> str:
    versions = ", ".join(sorted(offered.get(name) or offered.get(rpm_name(name)) or ())) or "no version of it"
    return (
        f"The package repository {repository} does not offer {name} {release.package_version} (it has {versions}); "
        "correct release or vault_url, or have the mirror synchronised."
    )


def _put_back(change: FileChange) -> None:
    path = change.wanted.path
    if change.before is not None:
        write(FileChange(WantedFile(path, change.before, change.before_mode or 0o644), None, None))
    else:
        Path(path).unlink(missing_ok=True)
