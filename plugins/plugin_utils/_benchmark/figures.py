# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a benchmark's runs come to: a rate with its interval for each case, and how it scales with the nodes; pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._compare.intervals import (
    Interval,
    independent_ratio,
    mean_interval,
    paired_ratio,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._benchmark.plan import FEWEST_REPEATS, Case, Plan
from ansible_collections.gaudi3.scale.plugins.plugin_utils._benchmark.runs import Run


@dataclass(frozen=True)
class Figure:
    """One row. ``rates`` in ``unit`` by repetition; ``steps`` are those that counted, by repetition as well.

    ``efficiency``: the rate per node, of that with the fewest nodes; None for that one. ``why`` there is no figure.
    """

    case: Case
    unit: str = ""
    rates: Mapping[int, float] | None = None
    rate: Interval | None = None
    efficiency: Interval | None = None
    steps: tuple[str, ...] = ()
    memory_bytes: int | None = None
    why: str = ""

    def as_dict(self, plan: Plan) -> dict[str, Any]:
        """For programs, and for a later benchmark to be held against."""
        return {
            "case": identity(self.case, plan),
            "label": self.case.label,
            "unit": self.unit,
            "rates": list((self.rates or {}).values()),
            "rate": asdict(self.rate) if self.rate else None,
            "efficiency": asdict(self.efficiency) if self.efficiency else None,
            "steps": list(self.steps),
            "memory_bytes": self.memory_bytes,
            "why": self.why,
        }


def identity(case: Case, plan: Plan) -> dict[str, Any]:
    """What makes two figures ones of the same thing. Steps and repeats are no part: they only make it surer."""
    return {
        "workload": case.workload.name,
        "definition": case.workload.definition,
        "precision": case.workload.precision,
        "batch_size": case.batch_size,
        "nodes": case.nodes,
        "processes": plan.processes,
        "device": plan.device,
    }


def figures(runs: Sequence[Run], plan: Plan) -> list[Figure]:
    """One for each case, in their order."""
    alone = {case: _figure(case, [run for run in runs if run.case == case], plan) for case in plan.cases}
    return [_with_efficiency(alone[case], _base(case, alone), plan) for case in plan.cases]


def _figure(case: Case, runs: Sequence[Run], plan: Plan) -> Figure:
    why = next((run.why for run in runs if run.why), "")
    units = {run.lines.unit for run in runs if not run.why}
    if why or len(units) != 1:
        return Figure(case, why=why or "its runs told different units, or none; let all of them report the same.")
    rates = {run.repeat: run.steady.rate for run in runs}
    memory = [run.lines.memory_bytes for run in runs if run.lines.memory_bytes]
    return Figure(
        case,
        units.pop(),
        rates,
        _geometric(list(rates.values()), plan.confidence),
        steps=tuple(run.steady.steps for run in runs),
        memory_bytes=max(memory, default=None),
    )


def _geometric(rates: Sequence[float], confidence: float) -> Interval | None:
    inner = mean_interval([math.log(rate) for rate in rates], confidence) if len(rates) >= FEWEST_REPEATS else None
    if inner is None:
        return None
    return Interval(math.exp(inner.estimate), math.exp(inner.low), math.exp(inner.high), confidence)


def _base(case: Case, alone: Mapping[Case, Figure]) -> Figure | None:
    """The figure of the same workload and batch size on the fewest nodes that has one."""
    alike = [
        figure
        for other, figure in alone.items()
        if (other.workload.name, other.batch_size) == (case.workload.name, case.batch_size) and figure.rates
    ]
    return min(alike, key=lambda figure: figure.case.nodes, default=None)


def _with_efficiency(figure: Figure, base: Figure | None, plan: Plan) -> Figure:
    if base is None or not figure.rates or not base.rates or figure.case.nodes == base.case.nodes:
        return figure
    both = sorted({*figure.rates} & {*base.rates})
    ours = [figure.rates[repeat] / figure.case.nodes for repeat in both]
    # Of one repetition each, so that what slows all of it down is in no ratio.
    found = paired_ratio(ours, [base.rates[repeat] / base.case.nodes for repeat in both], plan.confidence)
    return Figure(**{**{name: getattr(figure, name) for name in figure.__dataclass_fields__}, "efficiency": found})


def changes_since(
    now: Sequence[Mapping[str, Any]], then: Sequence[Mapping[str, Any]], plan: Plan
) -> list[dict[str, Any]]:
    """Each figure that both have, as a ratio with an interval; all of them hold together (Bonferroni)."""
    earlier = {str(sorted(one["case"].items())): one for one in then}
    pairs = [(one, earlier.get(str(sorted(one["case"].items())))) for one in now]
    both = [(one, other) for one, other in pairs if other and one["rates"] and other["unit"] == one["unit"]]
    level = 1 - (1 - plan.confidence) / max(1, len(both))
    found = [(one, independent_ratio(one["rates"], other["rates"], level)) for one, other in both]
    return [{"label": one["label"], "speed": asdict(speed)} for one, speed in found if speed is not None]
