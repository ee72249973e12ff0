# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""JSON objects in files that others write."""

from __future__ import annotations

import json
from pathlib import Path


def read_json(path: str) -> dict[str, object] | None:
    """The JSON object in ``path``; None where there is no such file or it is no object."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError):
        return None
    return data if isinstance(data, dict) else None
