# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The runs of a benchmark, one after the other, and what each was; pure but for who is asked.

Each run is a job of its own, so that none has what another left in its processes. A case that fails once is left out
from then on, and the others go on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import quantity
from ansible_collections.gaudi3.scale.plugins.plugin_utils._benchmark.metric_lines import RunLines, lines_of
from ansible_collections.gaudi3.scale.plugins.plugin_utils._benchmark.plan import Case, Plan
from ansible_collections.gaudi3.scale.plugins.plugin_utils._benchmark.steady import Steady, steady_state
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_jobs import Group, Ranks, run_jobs
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import several, taken
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_questions import Ask

JOB = "benchmark"
# Far more lines than a run of a benchmark has, and less than a controller minds.
_TOLD = several(lambda value, _field: value, 10_000)


@dataclass(frozen=True)
class Where:
    """The hosts in the order of their ranks, how each is reached by the others, and its ranks' own variables."""

    hosts: Sequence[str]
    addresses: Mapping[str, str]
    ranks: Ranks
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """``why`` it has no figure; else its lines and the part of them that counts."""

    case: Case
    repeat: int
    lines: RunLines = field(default_factory=RunLines)
    steady: Steady = field(default_factory=Steady)
    why: str = ""


def make_runs(plan: Plan, where: Where, ask: Ask, show: Callable[[str], None]) -> list[Run]:
    """All repetitions of all cases, in turns, with a line on the screen for each run."""
    made: list[Run] = []
    broken: set[Case] = set()
    total = plan.repeats * len(plan.cases)
    number = 0
    for repeat in range(1, plan.repeats + 1):
        for case in plan.order(repeat):
            number += 1
            if case in broken:
                continue
            run = _run(case, repeat, plan, where, ask)
            made.append(run)
            if run.why:
                broken.add(case)
            show(f"run {number} of {total}: {case.label}: {_said(run)}")
    return made


def _run(case: Case, repeat: int, plan: Plan, where: Where, ask: Ask) -> Run:
    nodes = tuple(where.hosts[: case.nodes])
    group = Group(JOB, nodes, dict.fromkeys(nodes, where.environment))
    command = case.workload.command(plan.steps, case.batch_size, plan.line_every)
    (ended,) = run_jobs([group], command, where.ranks, where.addresses, ask)
    if ended.why:
        return Run(case, repeat, why=ended.why)
    try:
        told = taken(nodes[0], "training_job_info", _TOLD, ended.first.get("metrics") or [])
        lines = lines_of(nodes[0], told)
    except GaudiError as error:
        return Run(case, repeat, why=str(error))
    if why := _other_than_asked(lines, case, plan):
        return Run(case, repeat, lines, why=why)
    steady = steady_state(lines.lines, plan.warm_up, plan.spread)
    return Run(case, repeat, lines, steady, steady.why)


def _other_than_asked(lines: RunLines, case: Case, plan: Plan) -> str:
    """Why the run is not of this row; else empty."""
    ranks, wanted = lines.start["world_size"], case.nodes * plan.processes
    if ranks != wanted:
        return f"it ran with {ranks} ranks instead of {wanted}; start them as torchrun says (WORLD_SIZE)."
    precision = lines.start.get("precision") or case.workload.precision
    if _same(precision) != _same(case.workload.precision):
        return (
            f"it ran in {precision}, and the row is of {case.workload.precision}; mixed precisions are in no row, so "
            "correct the workload's precision."
        )
    return ""


def _same(precision: str) -> str:
    """Lightning's and PyTorch's names for one precision."""
    word = precision.lower().replace("-mixed", "").replace("-true", "")
    return {"32": "fp32", "float32": "fp32", "bfloat16": "bf16", "16": "fp16", "float16": "fp16"}.get(word, word)


def _said(run: Run) -> str:
    if run.why:
        return run.why
    unit = run.lines.unit.replace("_per_second", "/s")
    return f"{quantity(run.steady.rate)} {unit} over steps {run.steady.steps}"
