# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The manifest of a checkpoint: what its files have to be. It may come from elsewhere: all of it is held to a form."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from typing import Any

MANIFEST = "manifest.json"
_FORMAT = 1
# What torch.distributed.checkpoint names files: nothing in it leads out of the checkpoint's own folder.
_BASE_NAME = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,255}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MOST_BYTES = 1 << 50
_MOST_STEPS = 10**12 - 1
_MOST_RUNS = 1 << 31


@dataclass(frozen=True)
class FileRecord:
    """What a file has to be."""

    bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """``run`` is a number of the run that wrote the checkpoint: copies of one save have the same step and run."""

    step: int
    run: int
    files: dict[str, FileRecord]

    @property
    def bytes(self) -> int:
        return sum(record.bytes for record in self.files.values())


def manifest_text(manifest: Manifest) -> str:
    return json.dumps({"format": _FORMAT, **asdict(manifest)}, indent=1)


def read_manifest(text: str | bytes) -> Manifest:
    """Raises ValueError with the reason where it is none, or where a name in it is no plain name of a file."""
    try:
        reported = json.loads(text, object_pairs_hook=_without_repetition)
    except _RepetitionError:
        raise
    except (ValueError, RecursionError) as error:
        raise ValueError("it is not a manifest") from error
    if not isinstance(reported, dict) or "format" not in reported:
        raise ValueError("it is not a manifest")
    if reported["format"] != _FORMAT:
        raise ValueError(f"it has format {str(reported['format'])[:80]!r}, and this release reads {_FORMAT}")
    if set(reported) != {"format", "step", "run", "files"} or not isinstance(reported["files"], dict):
        raise ValueError("it is not a manifest")
    records = {name: _record(name, about) for name, about in reported["files"].items()}
    return Manifest(
        _number("its step", reported["step"], _MOST_STEPS), _number("its run", reported["run"], _MOST_RUNS), records
    )


class _RepetitionError(ValueError):
    """Two readers of one text could take another one of the two each."""


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise _RepetitionError(f"it lists {name[:80]!r} twice")
        found[name] = value
    return found


def _record(name: str, about: Any) -> FileRecord:
    if not _BASE_NAME.fullmatch(name) or name == MANIFEST:
        raise ValueError(f"it lists {name[:80]!r}, which is not the name of a checkpoint file")
    if not isinstance(about, dict) or set(about) != {"bytes", "sha256"}:
        raise ValueError(f"it must have bytes and sha256 of {name}, and nothing else")
    if not isinstance(about["sha256"], str) or not _SHA256.fullmatch(about["sha256"]):
        raise ValueError(f"the sha256 of {name} is not 64 hexadecimal digits")
    return FileRecord(_number(f"the size of {name}", about["bytes"], _MOST_BYTES), about["sha256"])


def _number(what: str, value: Any, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise ValueError(f"{what} is not a whole number from 0 to {most}")
    return value
