# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Whether a bundle is what its manifest says, and the manifest by whom the operator trusts. Changes nothing."""

from __future__ import annotations

from pathlib import Path

from .._errors import GaudiError
from .._node.commands import Run
from .._node.rendered_files import read_text
from .._packages.fingerprints import checked_fingerprint
from . import examination
from .bundle_age import expired, now
from .layout import KEY, MANIFEST, SIGNATURE
from .manifest_schema import parse
from .signed_manifest import signature_fault


def examine(path: str, fingerprint: str, run: Run) -> dict[str, object]:
    """The state of the bundle at ``path``; ``fingerprint`` is the key's that has to sign it, empty for its own."""
    place = path.rstrip("/")
    wanted = checked_fingerprint("fingerprint", fingerprint)
    text = read_text(f"{place}/{MANIFEST}")
    if text is None:
        raise GaudiError(f"{path} is not a finished bundle: it has no {MANIFEST}; correct path, or run build_bundle.")
    manifest = parse(text, f"{place}/{MANIFEST}")
    findings = examination.examine(path, manifest)
    damaged = examination.sentence(path, findings) if findings else ""
    verdict = _unsigned(place, wanted, run) or damaged or expired(manifest, place, now())
    return {
        "changed": False,
        "path": path,
        "sound": not verdict,
        "verdict": verdict,
        "release": manifest.release,
        "created": manifest.created,
        "expires": manifest.expires,
        "fingerprint": manifest.fingerprint,
        "packages_url": manifest.packages_url,
        "files": len(manifest.files),
        "bytes": sum(entry.size for entry in manifest.files),
        "missing": list(findings.missing),
        "wrong": list(findings.wrong),
        "extra": list(findings.extra),
    }


def _unsigned(place: str, fingerprint: str, run: Run) -> str:
    """Why the manifest is not to be trusted; empty when its signature is good."""
    contents = {name: Path(place, name) for name in (KEY, SIGNATURE, MANIFEST)}
    lost = [name for name, path in contents.items() if not path.is_file()]
    if lost:
        return f"The bundle {place} has no {lost[0]}, so its manifest cannot be checked; copy it again."
    key, signature, manifest = (path.read_bytes() for path in contents.values())
    return signature_fault(key, signature, manifest, fingerprint, place, run)
