# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The last profile of a job on a node, read as the job's account: root follows nothing that this may have put there."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Mapping

from .._errors import GaudiError
from .._job.paths import JobPaths
from .._node.account_directory import acting_as_owner
from .._node.json_file import read_json
from .directory import FOLDER, read_records, read_traces
from .lines import trace_data
from .records import RankRecord, as_data


def read_profile(paths: JobPaths, directory: str = "", node: str = "") -> dict[str, Any]:
    """Records and summaries of traces as data, of the ranks of ``node`` alone where the records name it. Raises
    GaudiError where there is no profile."""
    job = read_json(paths.description)
    if job is None and not directory:
        raise GaudiError(f"This node knows no job {paths.name}; launch it, or give directory.")
    kept = directory or _kept(job or {}, paths)
    place = directory or f"{kept}/{FOLDER}"
    # Of the directory above: the folder itself may be a link that the account has made.
    with acting_as_owner(kept):
        if not Path(place).is_dir():
            raise GaudiError(
                f"The job {paths.name} has no profile in {place} on this node; launch it with --profile in "
                "gaudi_training_arguments, and wait for the last step of its window."
            )
        records = _of_node(read_records(place), node)
        traces, wrong = read_traces(place, records)
    return {
        "changed": False,
        "directory": place,
        "records": [as_data(record) for record in records],
        "traces": [{"rank": rank, **trace_data(summary)} for rank, summary in traces.items()],
        "warnings": wrong,
    }


def _kept(job: Mapping[str, Any], paths: JobPaths) -> str:
    """Where the job keeps its checkpoints, and so its profile."""
    shared = job.get("checkpoint_directory")
    return shared if isinstance(shared, str) and shared.startswith("/") else paths.directory


def _of_node(records: list[RankRecord], node: str) -> list[RankRecord]:
    """All where none names the node: it goes by another name."""
    return [record for record in records if record.node == node] or records
