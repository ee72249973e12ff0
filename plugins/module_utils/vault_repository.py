# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The vendor's package vault (or a site's mirror of it) as a package repository of the node.

A run that finds everything as wanted uses no network: the files say where the packages come from, and the package
lists on the node say whether the wanted version is among them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Mapping, Sequence

from .apt_repository import AptRepository, offered_versions, refresh, render_sources
from .commands import Run
from .debian_packages import query_packages
from .downloads import fetch
from .errors import GaudiError
from .kernel_modules import running_kernel
from .openpgp import ARMOUR, armoured
from .releases import Release, find_release
from .rendered_files import FileChange, WantedFile, differences, pending, read_text, write

NAME = "gaudi3_scale-vault"


@dataclass(frozen=True)
class VaultOptions:
    """What the operator asks for. Empty URLs are derived from ``vault_url``, empty ``kernels`` is the running kernel.

    ``packages`` come from the vault, all at the release's version; ``os_packages`` from the distribution, and
    ``{kernel}`` in such a name stands for each of ``kernels``.
    """

    vault_url: str
    release: str
    suite: str
    release_overrides: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    key_url: str = ""
    repository_url: str = ""
    components: Sequence[str] = ("main",)
    architectures: Sequence[str] = ("amd64",)
    packages: Sequence[str] = ()
    os_packages: Sequence[str] = ()
    kernels: Sequence[str] = ()
    kernel_root: str = "/"
    lock_timeout: float = 300.0


def plan(options: VaultOptions, etc: str = "/etc") -> AptRepository:
    """The repository that the options describe; URL shapes as on vault.habana.ai."""
    vault = _url("vault_url", options.vault_url)
    if not options.suite or not options.components:
        raise GaudiError("suite and components must name a part of the package repository, for example jammy and main.")
    return AptRepository(
        uri=_url("repository_url", options.repository_url or f"{vault}/debian"),
        suite=options.suite,
        components=tuple(options.components),
        architectures=tuple(options.architectures),
        key_url=_url("key_url", options.key_url or f"{vault}/api/gpg/key/public"),
        key_path=f"{etc}/apt/keyrings/{NAME}.asc",
        sources_path=f"{etc}/apt/sources.list.d/{NAME}.sources",
    )


def _url(option: str, url: str) -> str:
    scheme, separator, rest = url.partition("://")
    if not separator or scheme not in ("https", "http", "file") or not rest or any(c.isspace() for c in url):
        raise GaudiError(f"{option} must be a URL of https://, http:// or file://, not '{url}'.", option=option)
    return url.rstrip("/")


def transaction(options: VaultOptions, release: Release, kernels: Sequence[str]) -> list[str]:
    """Everything for the package manager's one transaction: the distribution's packages, then ours, each pinned."""
    named = [name.replace("{kernel}", kernel) for name in options.os_packages for kernel in kernels]
    return [*dict.fromkeys(named), *(f"{name}={release.package_version}" for name in options.packages)]


def converge(options: VaultOptions, run: Run, check_mode: bool, etc: str = "/etc") -> dict[str, object]:
    """Register the repository where it is not, and read its lists where they do not offer the wanted packages."""
    release = find_release(options.release, options.release_overrides)
    repository = plan(options, etc)
    kernels = options.kernels or [running_kernel(options.kernel_root)]
    wanted = transaction(options, release, kernels)
    installed = _installed(wanted, run)
    sources = pending([WantedFile(repository.sources_path, render_sources(repository))])
    key_missing = not (read_text(repository.key_path) or "").startswith(ARMOUR)
    registered = not sources and not key_missing
    offered = offered_versions(repository, run) if registered else {}
    missing = _not_offered(options, release, offered)
    changes, refreshed = sources, False
    if not registered:
        key = _key_placeholder(repository) if check_mode else _fetch_key(repository)
        changes = pending([WantedFile(repository.key_path, key)]) + sources
    if not check_mode and (not registered or (missing and not installed)):
        missing = _apply(options, release, repository, changes, run)
        refreshed = True
    expected = [_transaction_difference(wanted)] if check_mode and missing and not installed else []
    return {
        "changed": bool(changes),
        "diff": differences(changes) + expected,
        "release": release.version,
        "package_version": release.package_version,
        "repository": str(repository),
        "key_url": repository.key_url,
        "files": [repository.key_path, repository.sources_path],
        "kernels": list(kernels),
        "packages": wanted,
        "installed": installed,
        "available": not missing,
        "refreshed": refreshed,
    }


def _installed(wanted: Sequence[str], run: Run) -> bool:
    """Whether dpkg has every package, configured, and the pinned ones at their version."""
    pins = {name: version for name, _equals, version in (entry.partition("=") for entry in wanted)}
    found = query_packages(list(pins), run)
    return all(
        name in found and found[name].installed and version in ("", found[name].version)
        for name, version in pins.items()
    )


def _not_offered(options: VaultOptions, release: Release, offered: Mapping[str, set[str]]) -> list[str]:
    return [name for name in options.packages if release.package_version not in offered.get(name, ())]


def _fetch_key(repository: AptRepository) -> str:
    answer = fetch(repository.key_url, "The vault's public key", "vault_url or key_url")
    try:
        return armoured(answer)
    except ValueError as error:
        raise GaudiError(
            f"{repository.key_url} does not answer an OpenPGP public key but {error}; correct vault_url or key_url.",
            url=repository.key_url,
        ) from error


def _key_placeholder(repository: AptRepository) -> str:
    """What check mode shows for the key: it promises not to touch the network."""
    return f"(the public key that {repository.key_url} answers)\n"


def _transaction_difference(wanted: Sequence[str]) -> dict[str, str]:
    """What check mode shows of packages that the package manager cannot be asked about before the lists are read."""
    text = "".join(f"{name}\n" for name in wanted)
    return {"before_header": "packages", "after_header": "packages of the transaction", "before": "", "after": text}


def _apply(
    options: VaultOptions, release: Release, repository: AptRepository, changes: Sequence[FileChange], run: Run
) -> list[str]:
    """Write the files and read the lists; on any failure put the files back as they were."""
    done: list[FileChange] = []
    try:
        for change in changes:
            done.append(change)
            write(change)
        refresh(repository, run, options.lock_timeout)
        offered = offered_versions(repository, run)
        missing = _not_offered(options, release, offered)
        if missing:
            raise GaudiError(_absent(repository, release, missing[0], offered), packages=missing)
        return missing
    except BaseException:
        for change in done:
            _put_back(change)
        raise


def _absent(repository: AptRepository, release: Release, name: str, offered: Mapping[str, set[str]]) -> str:
    versions = ", ".join(sorted(offered.get(name, ()))) or "no version of it"
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
