# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What an exported directory says of itself: of which checkpoint it is, the digest of each file, what was compared."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gaudi3_scale.checkpoints.files import record_of
from gaudi3_scale.checkpoints.manifest import FileRecord
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._node.json_file import parse_object
from gaudi3_scale.core._node.regular_file import read_bounded

RECORD = "gaudi3_scale_export.json"
FORMAT = 1
_MOST_BYTES = 1 << 26


def write_text(path: Path, text: str) -> None:
    """It is on the disk when this returns, or not there at all."""
    unfinished = path.with_name(f".{path.name}")
    with unfinished.open("w", encoding="utf-8") as stream:
        stream.write(f"{text}\n")
        stream.flush()
        os.fsync(stream.fileno())
    unfinished.replace(path)


def write_record(directory: Path, about: Mapping[str, Any], files: Mapping[str, FileRecord]) -> None:
    listed = {name: asdict(record) for name, record in sorted(files.items())}
    write_text(directory / RECORD, json.dumps({"format": FORMAT, **about, "files": listed}, indent=1))


def read_record(directory: Path) -> dict[str, Any] | None:
    """None where there is none that can be read."""
    try:
        found = parse_object(read_bounded(str(directory / RECORD), _MOST_BYTES, follow=True), _MOST_BYTES)
    except (OSError, ValueError):
        return None
    return found if found.get("format") == FORMAT else None


def files_of(record: Mapping[str, Any]) -> dict[str, FileRecord]:
    """Raises ValueError where it has none."""
    try:
        return {str(name): FileRecord(int(one["bytes"]), str(one["sha256"])) for name, one in record["files"].items()}
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("it lists no files") from error


def require_as_recorded(directory: Path) -> None:
    """Raises GaudiError where a directory that was exported has other bytes than it had then; others pass."""
    record = read_record(directory)
    if record is None:
        return
    try:
        for name, wanted in files_of(record).items():
            if record_of(directory / name) != wanted:
                raise ValueError(f"{name} has other bytes than were exported")
    except (OSError, ValueError) as error:
        reason = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else error
        raise GaudiError(f"{directory} is not as {RECORD} says: {reason}; export the model again.") from error
