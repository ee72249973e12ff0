# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""How a node was found by a qualification of several nodes, kept on the node: who gives it back asks for it there."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from .._node.json_file import read_json
from .._node.rendered_files import WantedFile, differences, pending, write
from .files import DIRECTORY, rendered

PATH = f"{DIRECTORY}/outcome.json"
# Sorts as the times do.
UTC = "%Y-%m-%dT%H:%M:%SZ"


def read_outcome(path: str = PATH) -> dict[str, Any]:
    """The last one; empty where there is none or it cannot be read."""
    try:
        return read_json(path) or {}
    except ValueError:
        return {}


def keep(found: Mapping[str, Any], check_mode: bool, path: str = PATH, now: datetime | None = None) -> dict[str, Any]:
    """Keep ``found`` (state, level, stages that were passed, reasons) with the time by the node's own clock."""
    outcome = {**found, "time": (now or datetime.now(timezone.utc)).strftime(UTC)}
    changes = pending([WantedFile(path, rendered(outcome))])
    shown = differences(changes)
    for change in [] if check_mode else changes:
        write(change)
    return {"changed": bool(changes), "diff": shown, "outcome": outcome}
