# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A repository asked whether it is a bundle, and what its manifest says: believed only as the operator's key signed it.

It is asked when its package lists are read, and before anything is installed from it.
"""

from __future__ import annotations

import json
import urllib.error
from pathlib import Path

from .._errors import GaudiError
from .._node.commands import Run
from .._node.downloads import fetch
from .._node.rendered_files import WantedFile, pending, write
from . import bundle_age
from .bundle_site import RECORD, SEEN, Site, Trust, recorded
from .layout import KEY, MANIFEST, SIGNATURE
from .manifest_schema import LARGEST
from .signed_manifest import verified

# The vendor's own package repository is no bundle, and need not be asked.
VENDOR = "https://vault.habana.ai/"


def keep(site: Site, record: str = RECORD, seen: str = SEEN) -> None:
    """Write down what was verified, and that the node has seen this bundle."""
    document = {"packages_url": site.packages_url, "manifest": site.text, "allow_expired": site.allow_expired}
    for change in pending([WantedFile(record, json.dumps(document, indent=1, sort_keys=True) + "\n")]):
        write(change)
    if site.manifest:
        bundle_age.remember(site.manifest, seen)


def ask(packages_url: str, trust: Trust, run: Run, seen: str = SEEN) -> Site:
    """Ask the repository, and believe what the operator's key signed. Raises :class:`GaudiError` with one sentence."""
    repository = packages_url.rstrip("/")
    if not trust.fingerprint:
        _refuse_unnamed(repository)
        return Site(repository)
    key, signature, content = (_file(repository, name) for name in (KEY, SIGNATURE, MANIFEST))
    manifest = verified(key, signature, content, trust.fingerprint, repository, run)
    before = bundle_age.seen_until_now(manifest.fingerprint, seen)
    faults = [
        "" if trust.allow_expired else bundle_age.expired(manifest, repository, bundle_age.now()),
        "" if trust.allow_older else bundle_age.older(manifest, repository, before),
    ]
    for fault in filter(None, faults):
        raise GaudiError(fault, repository=repository)
    return Site(repository, content.decode("ascii"), manifest, trust.allow_expired)


def fresh(packages_url: str, run: Run, record: str = RECORD) -> Site | None:
    """What is known of the repository, asked anew where it is a bundle, by the key and the word of the last run."""
    known = recorded(packages_url, record)
    if known is None or known.manifest is None:
        return known
    seen = str(Path(record).with_name(Path(SEEN).name))
    site = ask(packages_url, Trust(known.manifest.fingerprint, allow_expired=known.allow_expired), run, seen)
    if site != known:
        keep(site, record, seen)
    return site


def _file(repository: str, name: str) -> bytes:
    try:
        return fetch(f"{repository}/{name}", "The bundle's signed manifest", "packages_url", LARGEST)
    except GaudiError as error:
        if not _is_absent(error):
            raise
        raise GaudiError(
            f"The repository {repository} has no {name}, but bundle_fingerprint says that it is a bundle; copy the "
            "whole bundle, or correct packages_url or bundle_fingerprint (gaudi_bundle_fingerprint).",
            repository=repository,
        ) from error


def _refuse_unnamed(repository: str) -> None:
    """Without a fingerprint nothing of a bundle can be believed, and its packages would be taken for the vendor's."""
    if f"{repository}/".startswith(VENDOR):
        return
    try:
        answer = fetch(f"{repository}/{MANIFEST}", "What the package repository has", "packages_url", LARGEST)
    except GaudiError as error:
        if _is_absent(error):
            return
        raise
    if answer.lstrip().startswith(b"{"):  # Some servers answer everything with a page.
        raise GaudiError(
            f"The repository {repository} is a bundle of an unknown signer; set bundle_fingerprint "
            "(gaudi_bundle_fingerprint) to the fingerprint that build_bundle.yml showed.",
            repository=repository,
        )


def _is_absent(error: GaudiError) -> bool:
    cause = error.__cause__
    absent = isinstance(cause, urllib.error.HTTPError) and cause.code < 500
    return absent or isinstance(getattr(cause, "reason", None), FileNotFoundError)
