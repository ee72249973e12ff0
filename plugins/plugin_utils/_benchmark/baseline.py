# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""An earlier benchmark that one is held against: whether it is of the same kind, and what is slower since; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.json_file import parse_json
from ansible_collections.gaudi3.scale.plugins.plugin_utils._benchmark.figures import identity
from ansible_collections.gaudi3.scale.plugins.plugin_utils._benchmark.plan import FEWEST_REPEATS, Plan

# What a row is found by; all else of its identity has to be the same then.
_FOUND_BY = ("workload", "batch_size", "nodes")
_LARGEST = 1 << 26


@dataclass(frozen=True)
class Baseline:
    """``figures`` as a benchmark's page has them in its JSON. What is slower by less than ``tolerance`` is the same."""

    file: str
    figures: Sequence[Mapping[str, Any]]
    tolerance: float


def read_baseline(content: object, file: str, tolerance: float) -> Baseline:
    """Raises GaudiError where it is none, or has figures of a single run."""
    if not 0 <= tolerance < 1:
        raise GaudiError(f"tolerance is {tolerance:g}; give a fraction from 0 to below 1.")
    try:
        data: Any = parse_json(content, _LARGEST) if isinstance(content, (str, bytes)) else content
        found = [
            {**one, "case": dict(one["case"]), "rates": list(map(float, one["rates"])), "unit": str(one["unit"])}
            for one in data["data"]["benchmark_training"]
            if one["rates"]
        ]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise GaudiError(
            f"baseline: {file} is of another kind ({type(error).__name__}); use a benchmark_training.json of this "
            "playbook."
        ) from error
    for one in found:
        if len(one["rates"]) < FEWEST_REPEATS or min(one["rates"]) <= 0:
            raise GaudiError(
                f"baseline: {file} has a figure of {len(one['rates'])} run of {one['case'].get('workload')}; use one "
                "with repeats."
            )
    return Baseline(file, found, tolerance)


def check_same(baseline: Baseline, plan: Plan) -> None:
    """Raises GaudiError naming the first thing that a row of the baseline was measured with, and that is another now,
    or where it has none of these rows."""
    cases = [identity(case, plan) for case in plan.cases]
    known = 0
    for case in cases:
        alike = [
            one["case"] for one in baseline.figures if all(one["case"].get(name) == case[name] for name in _FOUND_BY)
        ]
        known += bool(alike)
        if alike and case not in alike:
            name = next(name for name in case if alike[0].get(name) != case[name])
            raise GaudiError(
                f"baseline: {baseline.file} has {case['workload']} with {name} {alike[0].get(name)}, and this "
                f"benchmark with {case[name]}; measure a new baseline, or make them the same."
            )
    if not known:
        raise GaudiError(f"baseline: {baseline.file} has none of these workloads; use one that has.")


def regressions(baseline: Baseline, changes: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sentence for each figure that is slower beyond noise and beyond the tolerance."""
    sentences = []
    for one in changes:
        speed = one["speed"]
        if speed["high"] < 1 and speed["estimate"] < 1 - baseline.tolerance:
            sentences.append(
                f"{one['label']} is {1 - speed['estimate']:.1%} slower than in {baseline.file} "
                f"({speed['level']:.1%} interval {1 - speed['high']:.1%} to {1 - speed['low']:.1%})."
            )
    return sentences
