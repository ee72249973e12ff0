# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Why one node's share of a job did not end well, from its logs."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from ..engines.mpirun_failure import mpirun_failure
from ..job.failure import NO_MEMORY, RankFailure, agent_failure, lost_node
from ..job.paths import JobPaths
from ..job.rank_logs import attempt_directory, tail, torchrun_failures
from ..node.json_file import read_json
from .share import FAILED, STOPPED, Share
from .sweep import logged_points


def rank_failures(paths: JobPaths) -> list[RankFailure]:
    """The ranks of this node that did not end well, the cause first.

    Of a sweep those of the point that failed last, since the logs of a sweep before it may be there, too.
    """
    found = [_rank_failures(place) for place in (paths, *logged_points(paths).values())]
    return max(found, key=lambda failures: failures[0].time if failures else 0.0)


def _rank_failures(paths: JobPaths) -> list[RankFailure]:
    log = tail(paths.agent_log) or ""
    failures = torchrun_failures(log, attempt_directory(paths.ranks) or paths.ranks)
    if failures or not log:
        return failures
    # One log for the ranks of all nodes: mpirun has brought their output to the first one.
    written = Path(paths.agent_log).stat().st_mtime
    told = mpirun_failure(log, paths.agent_log, written, read_json(paths.description) or {})
    return [] if told is None else [told]


def failure_of(paths: JobPaths, share: Share) -> RankFailure | None:
    """Why this node's share did not end well; None where it did, runs, or was only told to stop."""
    failures = rank_failures(paths) if share.state in (FAILED, STOPPED) else []
    if failures and (share.state == FAILED or failures[0].echo == 0):
        return _with_cause(failures[0], share)
    return _with_cause(_agent_failure(paths, share), share) if share.state == FAILED else None


def _agent_failure(paths: JobPaths, share: Share) -> RankFailure:
    if share.result is None:
        return lost_node(share.started or 0.0, paths.agent_log)
    log = last_log(paths)
    return agent_failure(share.exit_code or 0, share.ended or 0.0, tail(log) or "", log)


def last_log(paths: JobPaths) -> str:
    """The agent's log; where Slurm came to none, what it says itself."""
    slurms = sorted(map(str, Path(paths.logs).glob("slurm-*.log")), key=os.path.getmtime)
    return slurms[-1] if slurms and not Path(paths.agent_log).exists() else paths.agent_log


def _with_cause(failure: RankFailure, share: Share) -> RankFailure:
    if share.result != "oom-kill":
        return failure
    return replace(failure, message=f"{failure.message}; {NO_MEMORY}")
