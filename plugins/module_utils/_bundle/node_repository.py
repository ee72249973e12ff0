# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A node's package repository, which may be a bundle: first the signatures are checked, then it is registered."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Mapping

from .._errors import GaudiError
from .._node.commands import Run
from .._node.lock import alone
from .._node.os_release import DNF, os_release
from .._node.rendered_files import WantedFile, differences, pending, write
from .._packages import apt_sources, dnf_sources, package_repository
from .._packages.fingerprints import checked_fingerprint
from .._packages.repository_plan import (
    APT_KEY,
    METADATA_KEY,
    RPM_KEY,
    RepositoryOptions,
    directory,
    key_places,
    kind,
    places,
)
from . import distribution_repository
from .bundle_site import RECORD, SEEN, Site, Trust, recorded
from .distribution_repository import Place
from .layout import DISTRIBUTION, KEY


@dataclass(frozen=True)
class Node:
    """Where a node keeps its configuration, what it knows of its package repository, and which bundles it has seen."""

    etc: str = "/etc"
    record: str = RECORD
    seen: str = SEEN


NODE = Node()


def converge(
    options: RepositoryOptions, trust: Trust, run: Run, check_mode: bool, node: Node = NODE
) -> dict[str, object]:
    """Register the vendor's repository, and where the package repository is a bundle what that has of the distribution.

    With a ``repository_url`` the server at ``packages_url`` is not asked. Nor is it on a node that has
    everything and never heard of a bundle: such a run needs no network.
    """
    trust = replace(trust, fingerprint=checked_fingerprint("bundle_fingerprint", trust.fingerprint))
    if options.repository_url and trust.fingerprint:
        raise GaudiError(
            f"repository_url '{options.repository_url}' is not part of the bundle that bundle_fingerprint names, so "
            "it would not be verified; leave one of the two empty.",
            option="repository_url",
        )
    with alone("repository repository", str(Path(node.record).parent), check_mode=check_mode):
        return _converge(options, trust, run, check_mode, node)


def _converge(options: RepositoryOptions, trust: Trust, run: Run, check_mode: bool, node: Node) -> dict[str, object]:
    known = _known(options, trust, node)
    state = package_repository.read(trusting(options, known, node.etc), run, node.etc)
    if options.repository_url or (state.installed and not state.needs_network and known is None):
        return {**package_repository.settle(state, run, check_mode), "bundle": False, "index_url": ""}
    # What is installed needs nothing of the package repository.
    release = "" if state.installed else state.release.package_version
    asked = not check_mode and (known is None or state.needs_network or known.lacks(release))
    site = replace(known or Site(options.packages_url.rstrip("/")), allow_expired=trust.allow_expired)
    place = Place(_own_suite(options, node.etc), tuple(options.architectures), node.etc, options.lock_timeout)
    if asked:
        # Most runs ask nothing: they need not compile what verifies a manifest.
        from .asking import ask
        from .served import check_served

        site = ask(options.packages_url, trust, run, node.seen)
        distribution_repository.refuse_lacking(site, release)
        if site.is_bundle:
            check_served(site, _places(state.options, site, place))
        state = package_repository.read(trusting(options, site, node.etc), run, node.etc)
    registered = package_repository.settle(state, run, check_mode)
    if check_mode and known is None:
        # Nothing was asked, so nothing is known that could be taken away.
        return {**registered, "bundle": False, "index_url": ""}
    result = distribution_repository.converge(place, site, asked, run, check_mode)
    if not check_mode and (site.is_bundle or site != known):
        from .asking import keep  # As above.

        keep(site, node.record, node.seen)
    return _merged(registered, result, site)


def remove(check_mode: bool, node: Node = NODE) -> dict[str, object]:
    """Take the repository from the node again, and give back what of others' files is switched off for it.

    What is installed stays, and so does a key that rpm knows: others may rely on it.
    """
    with alone("repository repository", str(Path(node.record).parent), check_mode=check_mode):
        apt, dnf = places(node.etc)
        of_bundle = distribution_repository.places(node.etc)
        paths = (apt, dnf, *key_places(node.etc), *of_bundle, node.record)
        changes = pending([WantedFile(path, None) for path in paths])
        changes += [*apt_sources.given_back(apt, of_bundle[1]), *dnf_sources.given_back(dnf)]
        if not check_mode:
            for change in changes:
                write(change)
    return {"changed": bool(changes), "diff": differences(changes), "files": [], "taken_over": []}


def _known(options: RepositoryOptions, trust: Trust, node: Node) -> Site | None:
    """What was verified earlier, unless another key is trusted now."""
    site = recorded(options.packages_url, node.record)
    own = site.manifest.fingerprint if site and site.manifest else ""
    return site if own == trust.fingerprint else None


def trusting(options: RepositoryOptions, site: Site | None, etc: str) -> RepositoryOptions:
    """The options with what the signed manifest says of the vendor's keys and files; the operator's word goes first."""
    if site is None or site.manifest is None:
        return options
    of_dnf = kind(options, etc) == DNF
    key = f"{directory(options, etc)}/{METADATA_KEY}" if of_dnf else APT_KEY
    keys = site.manifest.keys
    return replace(
        options,
        key_fingerprint=options.key_fingerprint or ("" if options.key_url else keys.get(key, "")),
        package_key_fingerprint=options.package_key_fingerprint
        or ("" if options.package_key_url else keys.get(RPM_KEY, "")),
        signed_files=site.signed_files,
    )


def _places(options: RepositoryOptions, site: Site, place: Place) -> list[str]:
    """The indices and keys that the node is about to take from the bundle."""
    if kind(options, place.etc) == DNF:
        own = directory(options, place.etc)
        return [f"{own}/repodata", *([] if options.package_key_url else [RPM_KEY])]
    suite = options.suite or place.suite
    places = [f"debian/dists/{suite}", *([] if options.key_url else [APT_KEY])]
    if site.has_distribution(place.suite):
        places += [f"{DISTRIBUTION}/dists/{place.suite}", KEY]
    return places


def _own_suite(options: RepositoryOptions, etc: str) -> str:
    """The operator's suite is the vendor's word; the distribution's packages have to be the node's own."""
    return "" if kind(options, etc) == DNF else os_release(etc).get("VERSION_CODENAME", "")


def _merged(registered: Mapping[str, object], of_bundle: Mapping[str, object], site: Site) -> dict[str, object]:
    both = {name: [*_list(registered[name]), *_list(of_bundle[name])] for name in ("diff", "files")}
    changed = bool(registered["changed"] or of_bundle["changed"])
    return {**registered, **both, "changed": changed, "bundle": site.is_bundle, "index_url": site.index_url}


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else []
