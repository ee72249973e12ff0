# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Everything that one node tells about its worker group, and about the whole job where a supervisor knows that."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Callable, Mapping

from .._job.job_secrets import masked_description
from .._job.paths import JobPaths, known_jobs
from .._job.rank_logs import TAIL_BYTES, tail
from .._job.reached import Reached, read_reached
from .._node.account_directory import acting_as_owner
from .._node.commands import Run
from .metrics import read_metrics, step_losses
from .rank_log import rank_log
from .state import read_worker_group
from .status import Status, read_status
from .usage import last_usage
from .watch import witness_of
from .worker_group import ABSENT, RUNNING, SUCCEEDED, WorkerGroup
from .worker_group_failure import failure_of, newest_agent_log, rank_failures

POLL_S = 0.5
# Of a node; more cores than any has.
MOST_RANKS = 4096


def exit_codes(paths: JobPaths, worker_group: WorkerGroup, status: Status) -> dict[str, int]:
    """Exit code by rank, negative for a signal: all ranks after success, those that torchrun named after failure."""
    if worker_group.state != SUCCEEDED or worker_group.description is None:
        return {str(failure.rank): failure.exit_code for failure in rank_failures(paths)}
    processes, place = worker_group.description.get("processes_per_node"), _node_rank(worker_group.description, status)
    if place is None or not isinstance(processes, int) or not 0 < processes <= MOST_RANKS:
        return {}
    return {str(rank): 0 for rank in range(place * processes, (place + 1) * processes)}


def _node_rank(description: Mapping[str, object], status: Status) -> int | None:
    """This node's place among those that ran last; None for one that only stood by."""
    host = description.get("host")
    hosts = list(status.members) if status.time else description.get("hosts")
    return hosts.index(host) if isinstance(hosts, list) and isinstance(host, str) and host in hosts else None


def _is_witness(description: Mapping[str, object]) -> bool:
    """Whether this node only votes."""
    witness = witness_of(description)
    return bool(witness) and description.get("host") == witness


def failure_to_tell(paths: JobPaths, worker_group: WorkerGroup, status: Status) -> dict[str, object] | None:
    """The first failure: of the whole job where a supervisor knows it, else of this node."""
    if status.outcome:
        return dict(status.failure) or None
    failure = failure_of(paths, worker_group)
    return None if failure is None else failure.as_dict()


def report(
    paths: JobPaths,
    run: Run,
    *,
    metrics_after: int = 0,
    events_after: int = 0,
    log_lines: int = 20,
    failure_in_logs: bool = False,
) -> dict[str, object]:
    """Everything about this node's worker group, always with the same keys.

    ``failure_in_logs``: tell what the logs show of a failure also where no worker group is known.
    """
    worker_group = read_worker_group(paths, run)
    present = worker_group.state != ABSENT
    status = read_status(paths) if present else Status()
    agent_lines = (tail(newest_agent_log(paths)[0]) or "").splitlines()
    with acting_as_owner(paths.logs):
        events = read_metrics(paths.events, events_after) if present else read_metrics("")
        metrics = read_metrics(paths.metrics, metrics_after) if present else read_metrics("")
        first = step_losses(read_metrics(paths.metrics).lines) if present else []
        latest = read_metrics(paths.metrics, -TAIL_BYTES).lines if present else ()
        usage = last_usage(paths) if present else {}
        said = rank_log(paths) if present else {}
        reached = _reached(paths, worker_group) if present else Reached()
    failure = failure_to_tell(paths, worker_group, status)
    if failure is None and failure_in_logs and not present:
        failure = next((found.as_dict() for found in rank_failures(paths)), None)
    return {
        "state": worker_group.state,
        "description": masked_description(worker_group.description or {}),
        "is_witness": _is_witness(worker_group.description or {}),
        "unit": paths.unit,
        "started": worker_group.started,
        "ended": worker_group.ended,
        "result": worker_group.result,
        "nodes": list(worker_group.nodes),
        "binding": [dict(one) for one in worker_group.binding],
        "modules": list(worker_group.modules),
        "node_cards": worker_group.node_cards,
        "exit_codes": exit_codes(paths, worker_group, status) if present and worker_group.state != RUNNING else {},
        "failure": failure,
        "supervision": status.as_dict(),
        "events": [dict(line) for line in events.lines],
        "events_offset": events.offset,
        "metrics": [dict(line) for line in metrics.lines],
        "metrics_offset": metrics.offset,
        "last_metrics": dict(latest[-1]) if latest else {},
        "last_step": next((dict(line) for line in reversed(latest) if line.get("kind") == "step"), {}),
        "first_loss": next(iter(first), None),
        "last_loss": next(reversed(step_losses(latest)), None),
        "usage": usage,
        "rank_log": said,
        "reached": reached.as_dict(),
        "log": agent_lines[-log_lines:] if present and log_lines else [],
        "log_directory": paths.logs,
        "job_directory": paths.directory,
        "jobs": [] if present else known_jobs(paths),
    }


def wait_until_ended(
    paths: JobPaths,
    run: Run,
    timeout: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    start_timeout: float | None = None,
) -> bool:
    """Wait until the worker group runs no more; False when it still does after ``timeout`` seconds.

    With ``start_timeout`` the ranks have so many seconds to start, and ``timeout`` begins once all of this node run.
    """
    end = clock() + (timeout if start_timeout is None else start_timeout)
    starting = start_timeout is not None
    while (group := read_worker_group(paths, run)).state == RUNNING:
        if starting and _run(paths, group):
            starting, end = False, clock() + timeout
        left = end - clock()
        if left <= 0:
            return False
        sleep(min(POLL_S, left))
    return True


def wait_for_event(
    paths: JobPaths,
    run: Run,
    timeout: float,
    after: int,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> bool:
    """Wait until the job's events go beyond the offset ``after``, or the worker group runs no more; False when neither
    is so after ``timeout`` seconds.
    """
    end = clock() + timeout
    while not _is_longer(paths, after) and read_worker_group(paths, run).state == RUNNING:
        left = end - clock()
        if left <= 0:
            return False
        sleep(min(POLL_S, left))
    return True


def _is_longer(paths: JobPaths, after: int) -> bool:
    try:
        with acting_as_owner(paths.logs):
            return Path(paths.events).stat().st_size > after
    except OSError:
        return False


def _run(paths: JobPaths, group: WorkerGroup) -> bool:
    """Whether all ranks of this node run, be it for others that they wait."""
    with acting_as_owner(paths.logs):
        return _reached(paths, group).since is not None


def _reached(paths: JobPaths, group: WorkerGroup) -> Reached:
    return read_reached(paths.ranks, (group.description or {}).get("processes_per_node"))
