# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the collection says of a scripted failure, by the functions that a node and the controller call."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ansible_collections.gaudi3.scale.plugins.module_utils._follow.worker_group import FAILED, WorkerGroup
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.worker_group_failure import failure_of, rank_failures
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._job.rank_logs import attempt_directory, torchrun_failures
from ansible_collections.gaudi3.scale.plugins.module_utils._job.reported_failure import first_failure_of

from tests.scripted_failures.model import SUPERVISED, Case
from tests.scripted_failures.raised import BEGUN
from tests.scripted_failures.written import gone


def answer(case: Case, places: Mapping[str, JobPaths]) -> tuple[str, Mapping[str, object]] | None:
    """The node and its failure that is told first."""
    found = {node: _of_node(case, node, paths) for node, paths in places.items()}
    return first_failure_of({node: failure for node, failure in found.items() if failure})


def _of_node(case: Case, node: str, paths: JobPaths) -> Mapping[str, object] | None:
    if case.engine != SUPERVISED and (case.launcher and node != "node1"):
        # The launcher's own node has the worker group; of the others the logs are read.
        return next((failure.as_dict() for failure in rank_failures(paths)), None)
    if case.engine != SUPERVISED:
        group = WorkerGroup(FAILED, {}, BEGUN - 60, BEGUN + 1, "exit-code", 1)
        failure = failure_of(paths, group)
        return None if failure is None else failure.as_dict()
    attempt = attempt_directory(paths.ranks) or paths.ranks
    first = (int(node.removeprefix("node")) - 1) * case.per_node
    failures = torchrun_failures(Path(paths.agent_log).read_text(encoding="utf-8"), attempt, first, gone(case, node))
    skew = case.skew.get(node, 0.0)
    # Supervisors compare ages.
    return {**failures[0].as_dict(), "time": failures[0].time - skew} if failures else None
