# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a bundle is what its manifest says, and the manifest by whom the operator trusts. Changes nothing."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ..errors import GaudiError
from ..node.commands import Run
from ..node.rendered_files import read_text
from ..packages import gnupg
from ..packages.openpgp import fingerprints
from . import manifest as bundle_manifest
from .plan import KEY, MANIFEST, SIGNATURE


def examine(path: str, fingerprint: str, run: Run) -> dict[str, object]:
    """The state of the bundle at ``path``; ``fingerprint`` is the key's that has to sign it, empty for its own."""
    where = f"{path.rstrip('/')}/{MANIFEST}"
    text = read_text(where)
    if text is None:
        raise GaudiError(f"{path} is no finished bundle: it has no {MANIFEST}; correct path, or run build_bundle.")
    manifest = bundle_manifest.parse(text, where)
    unsigned = _unsigned(path, fingerprint.replace(" ", "").upper(), run)
    findings = bundle_manifest.examine(path, manifest)
    damaged = bundle_manifest.sentence(path, findings) if findings else ""
    return {
        "changed": False,
        "path": path,
        "sound": not unsigned and not findings,
        "verdict": unsigned or damaged,
        "release": manifest.release,
        "fingerprint": manifest.fingerprint,
        "vault_url": manifest.vault_url,
        "files": len(manifest.files),
        "bytes": sum(entry.size for entry in manifest.files),
        "missing": list(findings.missing),
        "wrong": list(findings.wrong),
        "extra": list(findings.extra),
    }


def _unsigned(path: str, fingerprint: str, run: Run) -> str:
    """Why the manifest is not to be trusted; empty when its signature is good."""
    key = Path(path, KEY)
    if not key.is_file():
        return f"The bundle {path} has no {KEY}, so its manifest cannot be checked; copy it again."
    with tempfile.TemporaryDirectory() as scratch:
        keys = f"{scratch}/key.gpg"
        try:
            gnupg.keyring(key.read_bytes(), keys)
            found = fingerprints(Path(keys).read_bytes())
        except (ValueError, IndexError):
            return f"{key} is no public key; copy the bundle again."
        if fingerprint and fingerprint not in found:
            return (
                f"The bundle {path} is signed by the key {found[0] if found else 'of nobody'}, not by {fingerprint}; "
                "it is not the one you mean, or somebody changed it."
            )
        good = gnupg.detached_is_good(keys, f"{path}/{SIGNATURE}", f"{path}/{MANIFEST}", run)
    return "" if good else f"{path}/{MANIFEST} does not fit its signature; somebody changed it, or copy it again."
