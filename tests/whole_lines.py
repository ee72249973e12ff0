# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""JSON lines of a file that somebody is writing."""

from __future__ import annotations

import json
from typing import Any


def whole_lines(text: str) -> list[dict[str, Any]]:
    """Each line that is there to its end; the last may be one that is just being written."""
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]
