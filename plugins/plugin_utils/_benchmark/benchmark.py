# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A benchmark from its options to its result: read, measured, kept in the history, held against what was before."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._benchmark import history
from ansible_collections.gaudi3.scale.plugins.plugin_utils._benchmark.baseline import (
    Baseline,
    check_same,
    read_baseline,
    regressions,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._benchmark.figures import (
    Figure,
    changes_since,
    figures,
    identity,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._benchmark.plan import Plan, cases_of, check
from ansible_collections.gaudi3.scale.plugins.plugin_utils._benchmark.runs import Run, Where, make_runs
from ansible_collections.gaudi3.scale.plugins.plugin_utils._benchmark.workloads import Site, read_workloads
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import taken
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_questions import Ask

INFO = "gaudi3.scale.hpu_info"


@dataclass(frozen=True)
class Benchmark:
    """What is asked for. ``history``: the file, or empty."""

    plan: Plan
    history: str = ""
    baseline: Baseline | None = None


def read(options: Mapping[str, Any]) -> Benchmark:
    """From the module's options; raises GaudiError before any node is asked."""
    site = Site(*(options[name] for name in ("device", "text", "data", "precision", "batch_sizes")))
    workloads = read_workloads(options["workloads"], site)
    same = ("repeats", "steps", "warm_up", "spread", "confidence", "device")
    plan = Plan(
        cases_of(workloads, options["nodes"], len(options["hosts"])),
        processes=options["processes_per_node"],
        **{name: options[name] for name in same},
    )
    check(plan)
    history.check_place(options["history"])
    if options["baseline"] in (None, ""):
        return Benchmark(plan, options["history"])
    baseline = read_baseline(options["baseline"], options["baseline_file"], options["tolerance"])
    check_same(baseline, plan)
    return Benchmark(plan, options["history"], baseline)


def planned(benchmark: Benchmark) -> dict[str, Any]:
    """The result before anything ran."""
    plan = benchmark.plan
    method = {name: getattr(plan, name) for name in ("repeats", "steps", "warm_up", "spread", "confidence")}
    return {
        "method": method,
        "figures": [Figure(case, why="not measured yet").as_dict(plan) for case in plan.cases],
        "history": [],
        "history_file": benchmark.history,
        "changes": [],
        "regressions": [],
        "remarks": [],
    }


def measured(benchmark: Benchmark, where: Where, ask: Ask, show: Callable[[str], None]) -> dict[str, Any]:
    """Make all runs; what was measured is in the history even where another case failed."""
    plan = benchmark.plan
    infos = _infos(ask(INFO, {host: {} for host in where.hosts[: max(case.nodes for case in plan.cases)]}))
    runs = make_runs(plan, where, ask, show)
    found = figures(runs, plan)
    now = [one.as_dict(plan) for one in found]
    # A row without a figure has no line.
    lines = {at: _line(one, runs, infos, where, plan) for at, one in enumerate(found) if one.rates}
    then = benchmark.baseline.figures if benchmark.baseline else []
    changes = changes_since(now, then, plan)
    return {
        **planned(benchmark),
        "figures": [{**one, "key": lines[at]["key"]} if at in lines else one for at, one in enumerate(now)],
        **_kept(benchmark, list(lines.values())),
        "changes": changes,
        "regressions": regressions(benchmark.baseline, changes) if benchmark.baseline else [],
    }


def _infos(answers: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    infos = {}
    for host, answer in answers.items():
        if answer.get("failed") or answer.get("unreachable"):
            raise GaudiError(f"{host} did not say what it has: {answer.get('msg') or 'no reason given'}")
        infos[host] = taken(host, "hpu_info", history.INFO, answer)
    return infos


def _line(figure: Figure, runs: Sequence[Run], infos: Mapping[str, Any], where: Where, plan: Plan) -> dict[str, Any]:
    last = next(run for run in reversed(runs) if run.case == figure.case)
    hosts = where.hosts[: figure.case.nodes]
    return {
        "time": round(time.time()),
        "case": identity(figure.case, plan),
        "key": history.key_of({host: infos[host] for host in hosts}, last.lines.start),
        "unit": figure.unit,
        "rates": list((figure.rates or {}).values()),
        "steps": list(figure.steps),
    }


def _kept(benchmark: Benchmark, lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The history with the new lines. Hours of runs are not lost where the file cannot be written: it is a remark."""
    if not benchmark.history or not lines:
        return {"history": []}
    remarks = []
    try:
        history.append(benchmark.history, lines)
        known: Sequence[Mapping[str, Any]] = history.read_lines(benchmark.history)
    except GaudiError as error:
        remarks, known = [str(error)], lines
    return {"history": history.steps_in(known, [line["case"] for line in lines]), "remarks": remarks}
