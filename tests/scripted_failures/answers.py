# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the collection says of a scripted failure, by the functions that a node and the controller call."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._follow.worker_group import FAILED, WorkerGroup
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.worker_group_failure import failure_of, rank_failures
from ansible_collections.gaudi3.scale.plugins.module_utils._job.followers import first_with_others
from ansible_collections.gaudi3.scale.plugins.module_utils._job.kernel_reason import with_kernel_reason
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._job.rank_logs import attempt_directory, torchrun_failures

from tests.scripted_failures.model import SUPERVISED, Case
from tests.scripted_failures.raised import BEGUN
from tests.scripted_failures.written import gone


def answer(case: Case, places: Mapping[str, JobPaths]) -> tuple[str, dict[str, Any]] | None:
    """The node and its failure that is told first."""
    found = {node: _of_node(case, node, paths) for node, paths in places.items()}
    return first_with_others({node: failure for node, failure in found.items() if failure})


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
    if case.kernel and failures and node == case.node_of(case.expected.rank):
        failures[0] = with_kernel_reason(failures[0], True, paths.logs, lambda: case.kernel)
    skew = case.skew.get(node, 0.0)
    # Supervisors compare ages.
    return {**failures[0].as_dict(), "time": failures[0].time - skew} if failures else None


def is_right(case: Case, host: str, failure: Mapping[str, Any]) -> list[str]:
    """What is not as it should be; empty where all is."""
    expected = case.expected
    node = failure["host"] or host
    said = f"{failure['exception']}: {failure['message']}" if failure["exception"] else str(failure["message"])
    wanted = expected.node or (case.node_of(expected.rank) if expected.rank >= 0 else "node1")
    found = {
        "rank": (failure["rank"], expected.rank),
        "node": (node, wanted),
        "kind": (failure["kind"], expected.kind),
        "frame": (failure["at"], expected.frame),
        "row": (failure["row"], expected.row),
        "says": (said[: len(expected.says)], expected.says),
        "also": (expected.also if expected.also in said else said, expected.also),
    }
    return [f"{name}: {is_} instead of {should}" for name, (is_, should) in found.items() if is_ != should]
