# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A log of a line a minute, a file a day, kept for five weeks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from .._follow.json_lines import read_lines

EVERY_SECONDS = 60.0
# A line of eight cards has some 300 bytes, so this is about 15 MB.
KEPT_DAYS = 35
_DAY = 86400.0
# The end of the year 9999, after which a date has no name.
_LAST = 253402300799.0


def append(directory: Path, line: Mapping[str, Any], now: float) -> None:
    """Write it where the last is a minute old; days that are long ago go."""
    today = _file(directory, now)
    if today.exists() and now - today.stat().st_mtime < EVERY_SECONDS:
        return
    directory.mkdir(parents=True, exist_ok=True)
    for path in directory.glob("*.jsonl"):
        if path.name < _file(directory, now - KEPT_DAYS * _DAY).name:
            path.unlink()
    with today.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps({"time": round(now, 3), **line}) + "\n")


def lines(directory: Path, begin: float, end: float) -> Iterator[Mapping[str, Any]]:
    """Of the period, and of the days beside it: the line before it, and the one after it, may be there."""
    first, last = _file(directory, begin - _DAY).name, _file(directory, end + _DAY).name
    for path in sorted(directory.glob("*.jsonl")):
        if first <= path.name <= last:
            yield from read_lines(str(path))


def _file(directory: Path, time: float) -> Path:
    seconds = min(max(time, 0.0), _LAST)
    return directory / f"{(datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=seconds)):%Y-%m-%d}.jsonl"
