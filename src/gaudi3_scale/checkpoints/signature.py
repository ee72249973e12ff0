# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A manifest, and a fence, as it lies in a bucket: in an envelope with its HMAC-SHA256 by the job's key.

The manifest has the SHA-256 of every file, so whoever may write the bucket and has no key can change none of them.
"""

from __future__ import annotations

import hmac
import json

from gaudi3_scale.checkpoints.manifest import Manifest, manifest_text, read_manifest
from gaudi3_scale.core._node.json_file import parse_object

# The key signs nothing else by accident, whatever else a site gives it to.
_PURPOSE = b"gaudi3.scale checkpoint manifest 1\n"
_PURPOSE_OF_FENCE = b"gaudi3.scale checkpoint fence 1\n"


class ForeignError(ValueError):
    """A checkpoint that may be whole, and that is not known to be this job's."""


def signed(manifest: Manifest, key: bytes) -> bytes:
    text = manifest_text(manifest)
    return json.dumps({"manifest": text, "hmac_sha256": _hmac(text, key)}, indent=1).encode()


def opened(content: bytes, key: bytes | None, accept_unsigned: bool = False) -> Manifest:
    """The manifest in an envelope, or a bare one where ``accept_unsigned``.

    Raises ForeignError where its signature is missing or is not by ``key``, ValueError where it is not a manifest.
    """
    text, signature = _parts(content)
    if not accept_unsigned:
        if signature is None:
            raise ForeignError("it is not signed")
        if key is None:
            raise ForeignError("it is signed, and this job has no key")
        # Before anything in it is read.
        if not hmac.compare_digest(signature, _hmac(text, key)):
            raise ForeignError("it is not signed with this job's key")
    return read_manifest(text)


def signed_fence(text: str, key: bytes) -> bytes:
    return json.dumps({"fence": text, "hmac_sha256": _hmac(text, key, _PURPOSE_OF_FENCE)}, indent=1).encode()


def opened_fence(content: bytes, key: bytes) -> str:
    """The text of a fence in its envelope; ForeignError where that is none, or its signature is not by ``key``."""
    try:
        reported = parse_object(content)
    except ValueError as error:
        raise ForeignError(str(error)) from error
    text, signature = reported.get("fence"), reported.get("hmac_sha256")
    if not (isinstance(text, str) and isinstance(signature, str) and signature.isascii()):
        raise ForeignError("it is not signed")
    if not hmac.compare_digest(signature, _hmac(text, key, _PURPOSE_OF_FENCE)):
        raise ForeignError("it is not signed with this job's key")
    return text


def _parts(content: bytes) -> tuple[str, str | None]:
    try:
        text = content.decode("utf-8")
        reported = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError("it is not a manifest") from error
    if not isinstance(reported, dict) or "hmac_sha256" not in reported:
        return text, None
    inner, signature = reported.get("manifest"), reported["hmac_sha256"]
    if not (isinstance(inner, str) and isinstance(signature, str) and signature.isascii()):
        raise ValueError("it is not a manifest")
    return inner, signature


def _hmac(text: str, key: bytes, purpose: bytes = _PURPOSE) -> str:
    # A lone surrogate, which JSON can spell, has no UTF-8 of its own.
    return hmac.new(key, purpose + text.encode("utf-8", "surrogatepass"), "sha256").hexdigest()
