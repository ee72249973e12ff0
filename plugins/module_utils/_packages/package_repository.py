# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The vendor's package repository (or a site's mirror of it) as a package repository of the node.

A run that finds everything as wanted uses no network: the files say where the packages come from, and the package
lists on the node say whether the wanted version is among them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Mapping, Sequence

from .._errors import GaudiError
from .._node.commands import Run
from .._node.kernel_modules import running_kernel
from .._node.rendered_files import FileChange, WantedFile, differences, pending, write
from .._releases.lookup import Release, find_release
from .repository_keys import RepositoryKey, import_into_rpm, unknown_to_rpm
from .repository_plan import PACKAGE_MANAGERS, Repository, RepositoryOptions, kind, plan, plan_dnf, repository_of
from .rpm_database import rpm_name
from .switched_off import Marks

__all__ = [
    "PACKAGE_MANAGERS",
    "RepositoryOptions",
    "RepositoryState",
    "converge",
    "kind",
    "plan",
    "plan_dnf",
    "read",
    "settle",
]


def transaction(
    options: RepositoryOptions, release: Release, kernels: Sequence[str], repository: Repository | None = None
) -> list[str]:
    """Everything for the package manager's one transaction: the distribution's packages, then ours, each pinned."""
    words = repository or plan(options)
    named = [name.replace("{kernel}", kernel) for name in options.os_packages for kernel in kernels]
    return [*dict.fromkeys(named), *(words.pinned(name, release.package_version) for name in options.packages)]


def _pins(options: RepositoryOptions, release: Release, kernels: Sequence[str]) -> dict[str, str]:
    """The same as names with their version, empty for any."""
    named = {name.replace("{kernel}", kernel): "" for name in options.os_packages for kernel in kernels}
    return {**named, **dict.fromkeys(options.packages, release.package_version)}


@dataclass(frozen=True)
class RepositoryState:
    """What is wanted, and what the node has of it, read without the network.

    ``sources`` are the repository's own files that differ, ``others`` those of others that have the same repository,
    ``stale`` the keys that have to be fetched, ``unknown``
    those that rpm does not know, ``missing`` the wanted packages that the lists on the node do not offer.
    """

    options: RepositoryOptions
    release: Release
    repository: Repository
    kernels: Sequence[str]
    sources: Sequence[FileChange]
    others: Sequence[FileChange]
    stale: Sequence[RepositoryKey]
    unknown: Sequence[RepositoryKey]
    missing: Sequence[str]
    installed: bool

    @property
    def registered(self) -> bool:
        return not (self.sources or self.others or self.stale or self.unknown)

    @property
    def needs_network(self) -> bool:
        """Whether the package repository has to be asked for anything."""
        return not self.registered or (bool(self.missing) and not self.installed)


def read(options: RepositoryOptions, run: Run, etc: str = "/etc") -> RepositoryState:
    """Compare the node with the options."""
    release = find_release(options.release, options.release_overrides)
    repository = repository_of(options, etc)
    kernels = options.kernels or [running_kernel(options.kernel_root)]
    sources = pending([WantedFile(repository.sources_path, repository.render())])
    # With another repository every key is another one; on its own a key that is lost is fetched again.
    stale = [key for key in repository.signing_keys() if sources or not key.is_there()]
    unknown = unknown_to_rpm([key for key in repository.signing_keys() if key not in stale], run)
    offered = {} if sources or stale or unknown else repository.offered_versions(run)
    return RepositoryState(
        options,
        release,
        repository,
        kernels,
        sources,
        repository.others(),
        stale,
        unknown,
        _not_offered(options, release, offered),
        repository.installed(_pins(options, release, kernels), run),
    )


def converge(options: RepositoryOptions, run: Run, check_mode: bool, etc: str = "/etc") -> dict[str, object]:
    """Register the repository where it is not, and read its lists where they do not offer the wanted packages."""
    return settle(read(options, run, etc), run, check_mode)


def settle(state: RepositoryState, run: Run, check_mode: bool) -> dict[str, object]:
    """Bring the node from ``state`` to what its options say; the result's keys are always the same."""
    repository, missing, changes = state.repository, state.missing, [*state.sources, *state.others]
    if state.stale:
        texts = {key.path: key.placeholder() if check_mode else key.text() for key in state.stale}
        changes = pending([WantedFile(path, text) for path, text in texts.items()]) + changes
    refreshed = not check_mode and state.needs_network
    if refreshed:
        missing = _apply(state.options, state.release, repository, changes, run)
    wanted = transaction(state.options, state.release, state.kernels, repository)
    expected = [_transaction_difference(wanted)] if check_mode and missing and not state.installed else []
    return {
        "changed": bool(changes or state.unknown),
        "diff": differences(changes) + [_import_difference(key) for key in state.unknown] + expected,
        "release": state.release.version,
        "package_version": state.release.package_version,
        "repository": str(repository),
        "key_url": repository.key_url,
        "taken_over": [change.wanted.path for change in state.others if _takes(change, repository)],
        "files": [*(key.path for key in repository.signing_keys()), repository.sources_path],
        "kernels": list(state.kernels),
        "packages": wanted,
        "installed": state.installed,
        "available": not missing,
        "refreshed": refreshed,
    }


def _takes(change: FileChange, repository: Repository) -> bool:
    """Whether something is switched off, and not only given back."""
    return Marks(Path(repository.sources_path).stem).was in (change.wanted.content or "")


def _not_offered(options: RepositoryOptions, release: Release, offered: Mapping[str, set[str]]) -> list[str]:
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
    options: RepositoryOptions, release: Release, repository: Repository, changes: Sequence[FileChange], run: Run
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
            put_back(change)
        raise


def _absent(repository: Repository, release: Release, name: str, offered: Mapping[str, set[str]]) -> str:
    versions = ", ".join(sorted(offered.get(name) or offered.get(rpm_name(name)) or ())) or "no version of it"
    return (
        f"The package repository {repository} does not offer {name} {release.package_version} (it has {versions}); "
        "correct release or packages_url, or have the mirror synchronized."
    )


def put_back(change: FileChange) -> None:
    """The file as it was before the change."""
    path = change.wanted.path
    if change.before is not None:
        write(FileChange(WantedFile(path, change.before, change.before_mode or 0o644), None, None))
    else:
        Path(path).unlink(missing_ok=True)
