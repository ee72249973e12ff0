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
from ..packages.openpgp import armoured, binary, fingerprints, plain_fingerprint, with_fingerprint
from . import manifest as bundle_manifest
from .plan import KEY, MANIFEST, SIGNATURE


def examine(path: str, fingerprint: str, run: Run) -> dict[str, object]:
    """The state of the bundle at ``path``; ``fingerprint`` is the key's that has to sign it, empty for its own."""
    where = f"{path.rstrip('/')}/{MANIFEST}"
    text = read_text(where)
    if text is None:
        raise GaudiError(f"{path} is no finished bundle: it has no {MANIFEST}; correct path, or run build_bundle.")
    manifest = bundle_manifest.parse(text, where)
    unsigned = _unsigned(path, plain_fingerprint(fingerprint), run)
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
            text = armoured(key.read_bytes())
        except ValueError as error:
            return f"{key} is no public key but {error}; copy the bundle again."
        trusted = with_fingerprint(text, fingerprint)
        if not trusted:
            return (
                f"The bundle {path} is signed by the key {fingerprints(binary(text))[0]}, not by {fingerprint}; "
                "it is not the one you mean, or somebody changed it."
            )
        Path(keys).write_bytes(binary(trusted))
        good = gnupg.detached_is_good(keys, f"{path}/{SIGNATURE}", f"{path}/{MANIFEST}", run)
    return "" if good else f"{path}/{MANIFEST} does not fit its signature; somebody changed it, or copy it again."
