# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The directory into which the ranks of a job write their profiles."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Sequence

from .._errors import GaudiError
from .._node.regular_file import read_bounded
from .records import LARGEST_RECORD, MOST_RANKS, RankRecord, parse_record
from .trace_summary import TraceSummary, summarize

# In a job's directory.
FOLDER = "profile"
_RECORD = re.compile(r"profile-rank-(\d{1,5})\.json")


def record_name(rank: int) -> str:
    return f"profile-rank-{rank}.json"


def trace_name(rank: int) -> str:
    """Never as a record's name is."""
    return f"trace-rank-{rank}.json"


def profile_directory(path: str) -> str:
    """``path``, or its folder where it is a job's directory."""
    inside = Path(path, FOLDER)
    return str(inside) if inside.is_dir() else path


def read_records(directory: str) -> list[RankRecord]:
    """In the order of the ranks, from one run. Raises GaudiError where there are none, or of several runs."""
    try:
        names = [path.name for path in Path(directory).iterdir()]
    except OSError as error:
        raise GaudiError(
            f"{directory} cannot be read: {error.strerror}; name a job's directory, or its folder {FOLDER}."
        ) from None
    found = sorted((int(match[1]), name) for name in names if (match := _RECORD.fullmatch(name)))
    if not found:
        raise GaudiError(
            f"{directory} has no profile-rank-N.json; start the training with --profile, and wait for its last step."
        )
    return of_one_run([_read(str(Path(directory, name))) for _rank, name in found[:MOST_RANKS]], directory)


def of_one_run(records: Sequence[RankRecord], place: str) -> list[RankRecord]:
    """By rank. Raises GaudiError where a rank is there twice, or the ranks are of trainings of different sizes."""
    sizes = sorted({record.world_size for record in records})
    if len(sizes) > 1:
        raise GaudiError(
            f"{place} has profiles of trainings with {' and '.join(map(str, sizes[:3]))} ranks; remove the older ones."
        )
    by_rank = {record.rank: record for record in records}
    if len(by_rank) < len(records):
        raise GaudiError(f"{place} has two profiles of one rank; remove the older ones.")
    return [by_rank[rank] for rank in sorted(by_rank)]


def read_traces(directory: str, records: Sequence[RankRecord]) -> tuple[dict[int, TraceSummary], list[str]]:
    """Summaries of the traces that are there, by rank, and a sentence for each that is no whole one."""
    found, wrong = {}, []
    for record in records:
        path = Path(directory, record.trace)
        if not record.trace or not path.exists():
            continue
        try:
            found[record.rank] = summarize(str(path))
        except GaudiError as error:
            wrong.append(str(error))
    return found, wrong


def _read(path: str) -> RankRecord:
    try:
        return parse_record(read_bounded(path, LARGEST_RECORD), path)
    except OSError as error:
        raise GaudiError(f"{path} cannot be read: {error.strerror or error}; read it as who may.") from None
