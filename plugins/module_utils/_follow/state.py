# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""How one node's worker group of a job stands: from systemd or Slurm, and from what was recorded at its end."""

from __future__ import annotations

from dataclasses import replace
from typing import Mapping

from .._job.description import MPIRUN, SLURM, allotment_from, whole_numbers
from .._job.paths import JobPaths
from .._node.account_directory import acting_as_owner
from .._node.commands import Run
from .._node.json_file import read_json
from .._node.systemd_units import end_of_unit, has_processes
from .status import read_status
from .sweep import arguments_of
from .worker_group import (
    ABSENT,
    FAILED,
    RUNNING,
    STOPPED,
    WorkerGroup,
    ended_state,
    exit_code_of,
    stop_requested,
    time_of,
)
from .worker_group_slurm import chosen_nodes, slurm_jobs_of, slurm_worker_group


def read_worker_group(paths: JobPaths, run: Run) -> WorkerGroup:
    """The worker group as it stands now."""
    description = read_json(paths.description)
    if description is None:
        return WorkerGroup(ABSENT)
    if description.get("engine") == SLURM:
        known = slurm_jobs_of(paths, str(description.get("user")), run)
        if known:
            worker_group = slurm_worker_group(known, description, stop_requested(paths))
            return replace(worker_group, nodes=chosen_nodes(known, description, run))
    begun = read_json(paths.started) or {}
    launch, library = str(begun.get("launch", "")), str(begun.get("library", ""))
    group = WorkerGroup(
        RUNNING,
        description,
        time_of(begun),
        launch=launch,
        library=library,
        binding=_binding(begun),
        modules=whole_numbers(begun.get("modules")),
        node_cards=next(iter(whole_numbers([begun.get("node_cards")])), 0),
        allotted=allotment_from(begun.get("allotted")),
    )
    if description.get("engine") != SLURM and has_processes(run, paths.unit):
        return group
    stopped = stop_requested(paths)
    ended = _recorded_end(paths, description) or _end_of_unit(paths, description, run)
    if ended is None:
        return replace(group, state=STOPPED if stopped else FAILED)
    return replace(
        group,
        state=_state_of_end(paths, description, ended, stopped),
        ended=time_of(ended),
        result=str(ended.get("result")),
        exit_code=exit_code_of(ended),
    )


def _binding(begun: Mapping[str, object]) -> tuple[Mapping[str, object], ...]:
    reported = begun.get("binding")
    return tuple(one for one in reported if isinstance(one, dict)) if isinstance(reported, list) else ()


def _state_of_end(
    paths: JobPaths, description: Mapping[str, object], ended: Mapping[str, object], stopped: bool
) -> str:
    # mpirun has status 0 also where its ranks ended well because they were told to.
    if stopped and description.get("engine") == MPIRUN:
        return STOPPED
    # A supervisor knows how the whole job ended, which this node may have left before.
    return read_status(paths).outcome or ended_state(ended, stopped)


def _end_of_unit(paths: JobPaths, description: Mapping[str, object], run: Run) -> Mapping[str, object] | None:
    """What systemd still knows of a unit that could not even record its end, as one whose account is gone."""
    return None if description.get("engine") == SLURM else end_of_unit(run, paths.unit)


def _recorded_end(paths: JobPaths, description: Mapping[str, object]) -> Mapping[str, object] | None:
    """What was recorded at the end; of a sweep's points one that failed, else the last. None where one is missing."""
    points = [paths.of_point(number) for number in range(len(arguments_of(description)))]
    with acting_as_owner(paths.directory):
        records = [read_json(place.ended) for place in points or [paths]]
    known = [record for record in records if record is not None]
    if len(known) < len(records):
        return None
    return max(known, key=lambda record: (ended_state(record, False) == FAILED, time_of(record) or 0.0))
