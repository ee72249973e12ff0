# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The signature of an image as podman, skopeo and CRI-O check it: containers-signature(5), made by GnuPG.

It lies in a directory of the build host in the form of a lookaside (containers-registries.d(5)): any web server, or a
copy of it on each node, lets their policy.json demand the key.
"""

from __future__ import annotations

import json
from pathlib import Path

from .._node.commands import Run
from .._packages import gnupg
from .._packages.openpgp import binary, fingerprints

OWNER = "gaudi3.scale images"


def payload(reference: str, digest: str, epoch: int, sbom_sha256: str) -> str:
    """What is signed: that the image of this digest is the one of this name; also the bill of materials is named.

    A policy accepts no name without a tag or digest (containers/image, policy_reference_match.go).
    """
    is_tagged = ":" in reference.rpartition("/")[2]
    claim = {
        "critical": {
            "identity": {"docker-reference": reference if is_tagged else f"{reference}@{digest}"},
            "image": {"docker-manifest-digest": digest},
            "type": "atomic container signature",
        },
        "optional": {"creator": "gaudi3.scale", "sbom-sha256": sbom_sha256, "timestamp": epoch},
    }
    return json.dumps(claim, sort_keys=True)


def place(directory: str, reference: str, digest: str) -> Path:
    """Where a lookaside has it: the repository without its host and tag, and the digest."""
    repository = reference.partition("/")[2].partition(":")[0]
    return Path(directory, "signatures", f"{repository}@{digest.replace(':', '=')}", "signature-1")


def sign(text: str, target: Path, key: str, public: Path, run: Run) -> str:
    """Write the signature, and the public key beside; makes the key where there is none. Returns its fingerprint."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with gnupg.home(run) as home:
        gnupg.ensure_key(home, key, OWNER, run)
        scratch = Path(home, "payload")
        scratch.write_text(text, encoding="ascii")
        # Neither armored nor detached: the signed text is within (containers-signature(5)).
        gnupg.gpg(home, run, "--output", str(target), "--sign", str(scratch))
        armored = gnupg.public_key(home, run)
    public.write_text(armored, encoding="ascii")
    return fingerprints(binary(armored))[0]
