# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The distribution's packages of a bundle as an apt repository of a node whose vault is that bundle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping

from ..errors import GaudiError
from ..node.commands import Run
from ..node.downloads import fetch
from ..node.os_release import DNF, os_release
from ..node.rendered_files import FileChange, WantedFile, differences, pending, read_text, write
from ..packages.apt_repository import AptRepository, refresh, render_sources
from ..packages.openpgp import armoured, is_key, plain_fingerprint, with_fingerprint
from ..packages.vault_repository import VaultOptions, kind
from .bundle_site import RECORD, Site, ask, keep, recorded

NAME = "gaudi3_scale-bundle"
# Above what a node's other sources have (500), below what is installed and newer: never a downgrade.
_PRIORITY = 990


@dataclass(frozen=True)
class SiteOptions:
    """``fingerprint`` is the key's that the operator trusts, empty for the bundle's own. ``ask`` the vault anew.

    ``release`` is a package version; a bundle that is not known to have it is asked anew, too.
    """

    vault_url: str
    suite: str = ""
    release: str = ""
    architectures: tuple[str, ...] = ("amd64",)
    fingerprint: str = ""
    ask: bool = False
    lock_timeout: float = 300.0


def repository(options: SiteOptions, site: Site, etc: str = "/etc") -> AptRepository | None:
    """The bundle's repository for the node's distribution; None where the bundle has no packages of it."""
    if options.suite not in site.suites:
        return None
    return AptRepository(
        uri=f"{site.vault_url}/{site.document['distribution']}",
        suite=options.suite,
        components=("main",),
        architectures=options.architectures,
        key_url=f"{site.vault_url}/{site.document['key']}",
        key_path=f"{etc}/apt/keyrings/{NAME}.asc",
        sources_path=f"{etc}/apt/sources.list.d/{NAME}.sources",
    )


def render_preferences() -> str:
    """apt_preferences(5): the node's own sources may be out of reach, and offer something newer all the same."""
    head = "# Written by gaudi3.scale.\nPackage: *\nPin: release o=gaudi3.scale bundle\n"
    return f"{head}Pin-Priority: {_PRIORITY}\n"


def converge(
    options: SiteOptions, run: Run, check_mode: bool, etc: str = "/etc", record: str = RECORD
) -> dict[str, object]:
    """Register the distribution's packages of the bundle that the vault is; where it is none, remove what is left."""
    known = recorded(options.vault_url, record)
    asked = not check_mode and (known is None or options.ask or known.lacks(options.release))
    site = (ask(options.vault_url) if asked else known) or Site(options.vault_url.rstrip("/"))
    if asked and site.lacks(options.release):
        # The vendor's lists, which a bundle carries as signed, name releases that it has no packages of.
        raise GaudiError(
            f"The bundle {site.vault_url} has the packages of {', '.join(site.releases)}, and none of "
            f"{options.release}; build it for that release (bundle_release or bundle_rollback_releases), or correct "
            "release.",
            releases=site.releases,
        )
    wanted = repository(options, site, etc)
    key = (read_text(_files(etc)[0]) or "") if wanted else None
    if wanted and not check_mode and (site != known or not _is_trusted(key or "", options)):
        key = _key(options, wanted)
    files = _wanted_files(wanted, key, etc)
    # In check mode nothing was asked, so nothing is known that could be taken away.
    changes = [] if check_mode and known is None else pending(files)
    if not check_mode:
        _apply(changes, wanted if changes or asked else None, options, run)
        keep(site, record)
    return {
        "changed": bool(changes),
        "diff": differences(changes),
        "bundle": site.is_bundle,
        "release": str(site.document.get("release", "")),
        "repository": str(wanted) if wanted else "",
        "index_url": site.index_url,
        "files": [file.path for file in files if file.content is not None],
    }


def _files(etc: str) -> list[str]:
    apt = f"{etc}/apt"
    return [f"{apt}/keyrings/{NAME}.asc", f"{apt}/sources.list.d/{NAME}.sources", f"{apt}/preferences.d/{NAME}"]


def _wanted_files(wanted: AptRepository | None, key: str | None, etc: str) -> list[WantedFile]:
    contents = (key, render_sources(wanted), render_preferences()) if wanted else (None, None, None)
    return [WantedFile(path, content) for path, content in zip(_files(etc), contents)]


def _key(options: SiteOptions, wanted: AptRepository) -> str:
    """The bundle's key, if it is the one that the operator trusts."""
    try:
        key = armoured(fetch(wanted.key_url, "The bundle's public key", "vault_url"))
    except ValueError as error:
        raise GaudiError(
            f"{wanted.key_url} does not answer an OpenPGP public key but {error}; copy the bundle again.",
            url=wanted.key_url,
        ) from error
    trusted = with_fingerprint(key, options.fingerprint)
    if not trusted:
        raise GaudiError(
            f"{wanted.key_url} is not the key {plain_fingerprint(options.fingerprint)}; this is not the bundle you "
            "mean, or somebody changed it: nothing was taken from it.",
            url=wanted.key_url,
        )
    return trusted


def _is_trusted(key: str, options: SiteOptions) -> bool:
    """Whether this is a key, and nothing but the operator's where one was named."""
    return is_key(key) and with_fingerprint(key, options.fingerprint) == key


def _apply(changes: list[FileChange], wanted: AptRepository | None, options: SiteOptions, run: Run) -> None:
    """Write the files and read the lists; on any failure put the files back as they were."""
    done: list[FileChange] = []
    try:
        for change in changes:
            done.append(change)
            write(change)
        if wanted:
            refresh(wanted, run, options.lock_timeout)
    except BaseException:
        for change in done:
            for undo in pending([WantedFile(change.wanted.path, change.before, change.before_mode or 0o644)]):
                write(undo)
        raise


def with_bundle(
    vault: VaultOptions,
    fingerprint: str,
    registered: Mapping[str, object],
    run: Run,
    check_mode: bool,
    record: str = RECORD,
) -> dict[str, object]:
    """The result ``registered`` of a vault's repository, and what the node takes besides where the vault is a bundle.

    A repository with a URL of its own is not the vault's, so there the vault is not asked. Nor is it on a node that has
    everything and never heard of a bundle: such a run needs no network.
    """
    settled = registered["installed"] and not registered["refreshed"] and recorded(vault.vault_url, record) is None
    if vault.repository_url or settled:
        return {**registered, "bundle": False, "index_url": ""}
    options = SiteOptions(
        vault.vault_url,
        # The operator's suite is the vendor's word; the distribution's packages have to be the node's own.
        "" if kind(vault) == DNF else os_release().get("VERSION_CODENAME", ""),
        # What is installed needs nothing of the vault.
        "" if registered["installed"] else str(registered["package_version"]),
        tuple(vault.architectures),
        fingerprint,
        bool(registered["refreshed"]),
        vault.lock_timeout,
    )
    return _merged(registered, converge(options, run, check_mode, record=record))


def _merged(registered: Mapping[str, object], site: Mapping[str, object]) -> dict[str, object]:
    both = {name: [*_list(registered[name]), *_list(site[name])] for name in ("diff", "files")}
    changed = bool(registered["changed"] or site["changed"])
    return {**registered, **both, "changed": changed, "bundle": site["bundle"], "index_url": site["index_url"]}


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else []
