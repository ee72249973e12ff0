# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Fingerprints of OpenPGP keys as people copy them, and as they are in options and manifests."""

from __future__ import annotations

import re

from .._errors import GaudiError

# Of keys of version 4, and of version 6.
_FINGERPRINT = re.compile(r"[0-9A-F]{40}|[0-9A-F]{64}")


def plain_fingerprint(text: str) -> str:
    """A fingerprint as gpg prints it without spaces, from what a person may have copied."""
    return "".join(text.split()).upper()


def is_fingerprint(text: str) -> bool:
    """Whether it is a whole fingerprint, as gpg prints it without spaces."""
    return _FINGERPRINT.fullmatch(text) is not None


def checked_fingerprint(option: str, text: str) -> str:
    """The fingerprint without spaces, empty where none was given; a part of one names no key."""
    fingerprint = plain_fingerprint(text)
    if fingerprint and not is_fingerprint(fingerprint):
        raise GaudiError(
            f"{option} must be a whole fingerprint, 40 hex digits (64 for a key of version 6), not {text[:200]!r}.",
            option=option,
        )
    return fingerprint
