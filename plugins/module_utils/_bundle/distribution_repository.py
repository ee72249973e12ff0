# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The distribution's packages of a bundle as an apt repository of a node whose repository is that bundle."""

from __future__ import annotations

from dataclasses import dataclass

from .._errors import GaudiError
from .._node.commands import Run
from .._node.rendered_files import FileChange, WantedFile, differences, pending, read_text, write
from .._packages import apt_sources
from .._packages.apt_repository import AptRepository
from .bundle_site import Site
from .layout import DISTRIBUTION, KEY

NAME = "gaudi3_scale-bundle"
# Above what a node's other sources have (500), below what is installed and newer: never a downgrade.
_PRIORITY = 990


@dataclass(frozen=True)
class Place:
    """Where on the node it belongs, and for which distribution (``suite``); ``lock_timeout`` is in seconds."""

    suite: str
    architectures: tuple[str, ...] = ("amd64",)
    etc: str = "/etc"
    lock_timeout: float = 300.0


def repository(place: Place, site: Site) -> AptRepository | None:
    """The bundle's repository for the node's distribution; None where the bundle has no packages of it."""
    if site.manifest is None or not site.has_distribution(place.suite):
        return None
    return AptRepository(
        uri=f"{site.packages_url}/{DISTRIBUTION}",
        suite=place.suite,
        components=("main",),
        architectures=place.architectures,
        key_url=site.url(KEY),
        key_path=f"{place.etc}/apt/keyrings/{NAME}.asc",
        sources_path=f"{place.etc}/apt/sources.list.d/{NAME}.sources",
        key_fingerprint=site.manifest.fingerprint,
        signed_files=site.signed_files,
    )


def render_preferences() -> str:
    """apt_preferences(5): the node's own sources may be out of reach, and offer something newer all the same."""
    head = "# Written by gaudi3.scale.\nPackage: *\nPin: release o=gaudi3.scale bundle\n"
    return f"{head}Pin-Priority: {_PRIORITY}\n"


def converge(place: Place, site: Site, asked: bool, run: Run, check_mode: bool) -> dict[str, object]:
    """Register the distribution's packages of the bundle; where the repository is none, remove what is left of one.

    ``asked``: the repository was, so its lists are read anew. Nothing of ``site`` is believed that was not signed.
    """
    wanted = repository(place, site)
    files = _wanted_files(wanted, place, check_mode)
    others = wanted.others() if wanted else apt_sources.given_back(files[1].path)
    changes = [*pending(files), *others]
    if not check_mode:
        _apply(changes, wanted if changes or asked else None, place, run)
    return {
        "changed": bool(changes),
        "diff": differences(changes),
        "bundle": site.is_bundle,
        "release": site.release,
        "repository": str(wanted) if wanted else "",
        "files": [file.path for file in files if file.content is not None],
    }


def places(etc: str) -> list[str]:
    """The files of it: key, sources and preferences."""
    return [file.path for file in _wanted_files(None, Place("", etc=etc), check_mode=True)]


def _wanted_files(wanted: AptRepository | None, place: Place, check_mode: bool) -> list[WantedFile]:
    apt = f"{place.etc}/apt"
    paths = [f"{apt}/keyrings/{NAME}.asc", f"{apt}/sources.list.d/{NAME}.sources", f"{apt}/preferences.d/{NAME}"]
    if wanted is None:
        return [WantedFile(path, None) for path in paths]
    key = wanted.signing_keys()[0]
    missing = key.placeholder if check_mode else key.text
    text = (read_text(key.path) or "") if key.is_there() else missing()
    return [WantedFile(path, content) for path, content in zip(paths, (text, wanted.render(), render_preferences()))]


def _apply(changes: list[FileChange], wanted: AptRepository | None, place: Place, run: Run) -> None:
    """Write the files and read the lists; on any failure put the files back as they were."""
    done: list[FileChange] = []
    try:
        for change in changes:
            done.append(change)
            write(change)
        if wanted:
            wanted.refresh(run, place.lock_timeout)
    except BaseException:
        for change in done:
            for undo in pending([WantedFile(change.wanted.path, change.before, change.before_mode or 0o644)]):
                write(undo)
        raise


def refuse_lacking(site: Site, release: str) -> None:
    """The vendor's lists, which a bundle carries as signed, name releases that it has no packages of."""
    if site.lacks(release):
        raise GaudiError(
            f"The bundle {site.packages_url} has the packages of {', '.join(site.releases)}, but none of {release}; "
            "build it for that release (gaudi_bundle_release or gaudi_bundle_rollback_releases), or correct release.",
            releases=site.releases,
        )
