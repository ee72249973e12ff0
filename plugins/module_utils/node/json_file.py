# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""JSON objects in files that others write."""

from __future__ import annotations

import json

from .regular_file import open_regular

# More than a program of ours writes into one; what is larger is none of them.
LARGEST = 1 << 24


def read_json(path: str) -> dict[str, object] | None:
    """The JSON object in ``path``; None where there is no such regular file or it is no object."""
    try:
        with open_regular(path) as stream:
            data = json.loads(stream.read(LARGEST).decode("utf-8", "replace"))
    except (OSError, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None
