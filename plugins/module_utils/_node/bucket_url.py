# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A place in S3-compatible storage, as an operator writes it."""

from __future__ import annotations

import re

_URL = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/(.*?))?/*")


def bucket_and_prefix(url: str) -> tuple[str, str] | None:
    """Of ``s3://bucket/prefix`` the bucket, and what every key begins with: nothing, or ``prefix/``.

    None where ``url`` is no such place.
    """
    found = _URL.fullmatch(url)
    if found is None:
        return None
    return found[1], f"{found[2]}/" if found[2] else ""
