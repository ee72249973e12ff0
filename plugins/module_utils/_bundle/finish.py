# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The end of a bundle: pages of the pip index, the key, and the signed manifest of it all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Iterable, Mapping

from .._errors import GaudiError
from .._node.commands import Run
from .._node.rendered_files import read_text
from .._packages import gnupg
from .._packages.openpgp import binary, fingerprints
from . import distribution as bundle_distribution
from . import examination, pip_index
from . import manifest as bundle_manifest
from .bundle_age import end_of, is_past_middle, later
from .fetch import is_there, local_entry
from .layout import DISTRIBUTION, KEY, MANIFEST, SIGNATURE, SIMPLE, SUMS, WHEELS
from .manifest import Entry, Manifest
from .manifest_schema import parse
from .plan import BundleOptions


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
        entries = [
            replace(local_entry(options, path, "built here", "the bundle's signature"), part="manifest")
            for path in [*own, KEY]
        ]
        files = sorted([*listed.values(), *entries], key=lambda entry: entry.path)
        manifest = Manifest(
            created="",
            expires="",
            releases=[row.package_version for row in options.rows()],
            fingerprint=fingerprints(binary(public))[0],
            packages_url=options.repository,
            keys=_vendors_keys(options, files),
            parts={name: sorted(record) for name, record in parts.items()},
            files=files,
        )
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
                f"{options.path}/{path} is signed by another key than {options.signing_key}; copy the signing key of "
                "the host that built it here, or build its part distribution with this key."
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


def _vendors_keys(options: BundleOptions, files: Iterable[Entry]) -> dict[str, str]:
    """Path to fingerprint of the files with one key of the vendor's; of several nobody says here which one signs."""
    paths = [entry.path for entry in files if entry.part == "keys"]
    found = {path: fingerprints(binary(Path(options.path, path).read_text(encoding="ascii"))) for path in paths}
    return {path: those[0] for path, those in found.items() if len(those) == 1}


def _sign(options: BundleOptions, manifest: Manifest, directory: str, run: Run) -> None:
    """Write manifest, sums and signature where they differ: a second run leaves the very same files.

    What is unchanged is signed anew when half of its time is over.
    """
    target, signature = Path(options.path, MANIFEST), f"{options.path}/{SIGNATURE}"
    keys = f"{options.work}/bundle-key.gpg"
    gnupg.keyring(Path(options.path, KEY).read_bytes(), keys)
    text = read_text(str(target))
    before = parse(text, str(target)) if text else None
    signed = Path(signature).exists() and gnupg.detached_is_good(keys, signature, str(target), run)
    if before and signed and _at(manifest, before.created, options) == before and not is_past_middle(before):
        return
    after = _at(manifest, later(before.created if before else ""), options)
    # Whatever nodes would refuse is refused here, where it can be mended.
    new = bundle_manifest.render(after)
    parse(new, str(target))
    Path(options.path, SUMS).write_text(bundle_manifest.render_sums(manifest.files), encoding="utf-8")
    target.write_text(new, encoding="utf-8")
    gnupg.sign_detached(directory, str(target), signature, run)


def _at(manifest: Manifest, created: str, options: BundleOptions) -> Manifest:
    return replace(manifest, created=created, expires=end_of(created, options.valid_days))


def _remove_unlisted(options: BundleOptions, listed: set[str]) -> None:
    """Pages of projects and files of parts that are gone."""
    for path in examination.present(options.path):
        if path not in listed and path not in examination.UNLISTED:
            Path(options.path, path).unlink()
