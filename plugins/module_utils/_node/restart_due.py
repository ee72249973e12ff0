# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Why a node has to be started again, kept by the layer that wants it until that has happened."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from .json_file import read_json
from .rendered_files import WantedFile, pending, write
from .screen_text import one_line

DIRECTORY = "restart_due"
_BOOT_ID = "proc/sys/kernel/random/boot_id"


def keep(layer: str, reasons: Sequence[str], state: str, kernel_root: str) -> None:
    """Note ``reasons`` of ``layer`` in the state directory ``state``; none take the note away."""
    note = {"boot_id": _boot_id(kernel_root), "reasons": list(reasons)}
    text = json.dumps(note, indent=2) + "\n" if reasons else None
    for change in pending([WantedFile(str(Path(state, DIRECTORY, f"{layer}.json")), text)]):
        write(change)


def due(state: str, kernel_root: str) -> list[str]:
    """The reasons of all layers that are older than no start of the node."""
    notes = [read_json(str(path)) or {} for path in sorted(Path(state, DIRECTORY).glob("*.json"))]
    now = _boot_id(kernel_root)
    return [
        one_line(reason)
        for note in notes
        if note.get("boot_id") == now and isinstance(note.get("reasons"), list)
        for reason in note["reasons"]
        if isinstance(reason, str)
    ]


def _boot_id(kernel_root: str) -> str:
    try:
        return Path(kernel_root, _BOOT_ID).read_text(encoding="utf-8").strip()
    except OSError:
        return ""
