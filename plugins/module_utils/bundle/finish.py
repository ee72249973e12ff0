# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The end of a bundle: pages of the pip index, the document for nodes, the key, and the signed manifest of it all."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Iterable, Mapping

from ..errors import GaudiError
from ..node.commands import Run
from ..node.rendered_files import read_text
from ..packages import gnupg
from ..packages.openpgp import binary, fingerprints
from . import distribution as bundle_distribution
from . import manifest as bundle_manifest
from . import pip_index
from .fetch import is_there, local_entry
from .manifest import Entry, Manifest
from .plan import DISTRIBUTION, KEY, MANIFEST, SIGNATURE, SIMPLE, SITE, SUMS, WHEELS, BundleOptions


def finish(options: BundleOptions, records: Mapping[str, Mapping[str, Entry]], run: Run) -> list[Entry]:
    """Make it from the ``records`` of all parts; raises :class:`GaudiError` where a file of theirs is not there."""
    parts = {name: record for name, record in records.items() if name != "manifest"}
    listed = {path: entry for record in parts.values() for path, entry in record.items()}
    lost = [entry for entry in listed.values() if not is_there(options, entry)]
    if lost or not listed:
        what = f"{lost[0].path} of the part {lost[0].part} is not there" if lost else "no part is built yet"
        raise GaudiError(f"The bundle {options.path} cannot be finished: {what}; run build_bundle again.")
    own = _pages(options, listed)
    with gnupg.home(run) as directory:
        gnupg.ensure_key(directory, options.signing_key, bundle_distribution.OWNER, run)
        public = gnupg.public_key(directory, run)
        _require_one_key(options, public, listed, run)
        Path(options.path, KEY).write_text(public, encoding="ascii")
        fingerprint = fingerprints(binary(public))[0]
        own += [KEY, _site(options, parts, fingerprint)]
        entries = [
            replace(local_entry(options, path, "built here", "the bundle's signature"), part="manifest") for path in own
        ]
        files = sorted([*listed.values(), *entries], key=lambda entry: entry.path)
        names = {name: sorted(record) for name, record in parts.items()}
        manifest = Manifest(options.rows()[0].package_version, fingerprint, options.vault, files, {"parts": names})
        _sign(options, manifest, directory, run)
    _remove_unlisted(options, {entry.path for entry in files})
    return entries


def _require_one_key(options: BundleOptions, public: str, listed: Iterable[str], run: Run) -> None:
    """Nodes get one key for all distributions, and each may have been built on a host of its own."""
    keys = f"{options.work}/bundle-key.gpg"
    gnupg.keyring(public.encode("ascii"), keys)
    for path in listed:
        own = path.startswith(f"{DISTRIBUTION}/") and path.endswith("/InRelease")
        if own and gnupg.inline_text(keys, f"{options.path}/{path}", run) is None:
            raise GaudiError(
                f"{options.path}/{path} is signed by another key than {options.signing_key}; bring the signing key of "
                "the host that built it, or build the part distribution of it with this one."
            )


def _pages(options: BundleOptions, listed: Mapping[str, Entry]) -> list[str]:
    """The pip index over all wheels of all parts."""
    names = {path for path in listed if path.startswith(f"{WHEELS}/")}
    if not names:
        return []
    for path in Path(options.path, WHEELS).iterdir():
        if f"{WHEELS}/{path.name}" not in names:
            path.unlink()
    written = pip_index.write_simple_pages(f"{options.path}/{SIMPLE}", f"{options.path}/{WHEELS}")
    return [Path(path).relative_to(options.path).as_posix() for path in written]


def _site(options: BundleOptions, parts: Mapping[str, Mapping[str, Entry]], fingerprint: str) -> str:
    """What a node asks for, to learn that this vault is a bundle and what it has beside the vendor's packages."""
    suites = {name.partition("-")[2]: record for name, record in parts.items() if name.startswith("distribution-")}
    releases = {
        suite: next((entry.sha256 for path, entry in record.items() if path.endswith("/InRelease")), "")
        for suite, record in suites.items()
    }
    entries = [entry for record in parts.values() for entry in record.values()]
    document = {
        "format": 1,
        "release": options.rows()[0].package_version,
        "releases": [row.package_version for row in options.rows()],
        "fingerprint": fingerprint,
        "key": KEY,
        # Suite to the checksum of its index: another one tells a node to read the lists again.
        "distribution": DISTRIBUTION,
        "suites": {suite: digest for suite, digest in sorted(releases.items()) if digest},
        "index": SIMPLE if any(entry.path.startswith(f"{WHEELS}/") for entry in entries) else "",
        "pytorch": {entry.path: entry.sha256 for entry in entries if entry.part == "pytorch"},
    }
    Path(options.path, SITE).write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return SITE


def _sign(options: BundleOptions, manifest: Manifest, directory: str, run: Run) -> None:
    """Write manifest, sums and signature where they differ: a second run leaves the very same files."""
    text = bundle_manifest.render(manifest)
    target, signature = Path(options.path, MANIFEST), f"{options.path}/{SIGNATURE}"
    keys = f"{options.work}/bundle-key.gpg"
    gnupg.keyring(Path(options.path, KEY).read_bytes(), keys)
    signed = Path(signature).exists() and gnupg.detached_is_good(keys, signature, str(target), run)
    if read_text(str(target)) == text and signed:
        return
    Path(options.path, SUMS).write_text(bundle_manifest.render_sums(manifest.files), encoding="utf-8")
    target.write_text(text, encoding="utf-8")
    gnupg.sign_detached(directory, str(target), signature, run)


def _remove_unlisted(options: BundleOptions, listed: set[str]) -> None:
    """Pages of projects and files of parts that are gone."""
    for path in bundle_manifest.present(options.path):
        if path not in listed and path not in bundle_manifest.UNLISTED:
            Path(options.path, path).unlink()
