# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A bundle's manifest, believed: signed by the one key that the operator trusts, and then read."""

from __future__ import annotations

import tempfile
from pathlib import Path

from .._errors import GaudiError
from .._node.commands import Run
from .._packages import gnupg
from .._packages.openpgp import armored, binary, fingerprints, with_fingerprint
from .layout import KEY, MANIFEST
from .manifest import Manifest
from .manifest_schema import parse


def signature_fault(key: bytes, signature: bytes, manifest: bytes, fingerprint: str, place: str, run: Run) -> str:
    """Why the manifest of the bundle at ``place`` is not to be trusted; empty when it is signed as it has to be.

    ``fingerprint`` is of the operator's key, as :func:`plain_fingerprint` returns it; empty for any key.
    """
    try:
        text = armored(key)
    except ValueError as error:
        return f"{place}/{KEY} is not a valid public key ({error}); copy the bundle again."
    trusted = with_fingerprint(text, fingerprint)
    if not trusted:
        return (
            f"The bundle {place} is signed by the key {fingerprints(binary(text))[0]}, not by {fingerprint}; "
            "it is a different bundle, or it was changed."
        )
    with tempfile.TemporaryDirectory() as scratch:
        paths = {name: f"{scratch}/{name}" for name in ("key.gpg", "signature", "manifest")}
        for name, content in (("key.gpg", binary(trusted)), ("signature", signature), ("manifest", manifest)):
            Path(paths[name]).write_bytes(content)
        signers = gnupg.detached_signers(paths["key.gpg"], paths["signature"], paths["manifest"], run)
    if signers and (not fingerprint or fingerprint in signers):
        return ""
    return f"{place}/{MANIFEST} does not match its signature, so it was changed or is damaged; copy it again."


def verified(key: bytes, signature: bytes, manifest: bytes, fingerprint: str, place: str, run: Run) -> Manifest:
    """The manifest, whose values may be used. Raises :class:`GaudiError` with one sentence where they may not."""
    fault = signature_fault(key, signature, manifest, fingerprint, place, run)
    if fault:
        raise GaudiError(f"{fault} Nothing was installed from it.", repository=place)
    where = f"{place}/{MANIFEST}"
    try:
        read = parse(manifest.decode("ascii"), where)
    except UnicodeDecodeError as error:
        raise GaudiError(f"{where} is not a bundle's manifest (it is not ASCII); copy the bundle again.") from error
    if read.fingerprint != fingerprint:
        raise GaudiError(
            f"{where} names the key {read.fingerprint}, not {fingerprint}, which signed it; build it again."
        )
    return read
