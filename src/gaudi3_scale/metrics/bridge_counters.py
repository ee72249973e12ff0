# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Graphs that were compiled and found compiled, as the bridge of a Gaudi counts them; the standard library alone.

Where PT_HPU_METRICS_FILE is set, the bridge appends to that file, named by the rank, what the triggers in
PT_HPU_METRICS_DUMP_TRIGGERS ask for (hpu/metrics of its source, 1.19). Never run on a card.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Iterator, Mapping

FILE = "PT_HPU_METRICS_FILE"
OLD_FILE = "HABANA_PT_METRICS_FILE"
# The end of the file, in which the newest of each kind is: one has some hundred bytes, or, with the list of recipes,
# some hundred thousand.
_END_BYTES = 1 << 18
# Of each kind, the statistic and what a metric line calls it.
_TOLD = {
    "graph_compilation": {"TotalNumber": "graph_compilations"},
    "recipe_cache": {"TotalHit": "recipe_cache_hits", "TotalMiss": "recipe_cache_misses"},
}


def counters_file(environment: Mapping[str, str]) -> Path | None:
    """Of this process; None where the bridge was not asked for one."""
    named = environment.get(FILE) or environment.get(OLD_FILE)
    if not named:
        return None
    rank = environment.get("RANK") or environment.get("OMPI_COMM_WORLD_RANK")
    path = Path(named)
    return path.with_name(f"{path.stem}-rank{rank}{path.suffix}") if rank else path


def bridge_counters(path: Path | None) -> dict[str, int]:
    """The newest of each counter since the process began, by the names of the metric lines; empty where none is told.

    A file that is written right now, or was cut off, counts as far as it is whole.
    """
    found: dict[str, int] = {}
    for entry in _entries(_end_of(path) if path else ""):
        statistics = entry.get("statistics")
        for statistic, name in _TOLD.get(str(entry.get("metric_name")), {}).items():
            value = statistics.get(statistic) if isinstance(statistics, dict) else None
            if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e15:
                found[name] = int(value)
    return found


def _end_of(path: Path) -> str:
    try:
        # A rank of ours writes it: what is no regular file is nobody's counters, and may be waited for without end.
        if not path.is_file():
            return ""
        with path.open("rb") as stream:
            stream.seek(max(0, os.fstat(stream.fileno()).st_size - _END_BYTES))
            return stream.read(_END_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _entries(text: str) -> Iterator[Mapping[str, Any]]:
    """The objects of an array that may lack its beginning and its end."""
    decoder, place = json.JSONDecoder(), 0
    while (place := text.find("{", place)) >= 0:
        try:
            entry, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            place += 1
            continue
        if isinstance(entry, dict):
            yield entry
