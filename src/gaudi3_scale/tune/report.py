# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a study found: a row for each trial and node, and the best."""

from __future__ import annotations

import statistics
from typing import Any, Mapping, Sequence

import optuna
from optuna.trial import FrozenTrial, TrialState

from gaudi3_scale.core._batch.search import CRASH, HANG, OK
from gaudi3_scale.core._follow.worker_group import FAILED
from gaudi3_scale.core._node.quantities import quantity
from gaudi3_scale.core._tune.space import THROUGHPUT
from gaudi3_scale.core._tune.study import Study
from gaudi3_scale.core._tune.values import sorted_out, values_of
from gaudi3_scale.tune.figures import LEAST_COMPLETE, UNITS
from gaudi3_scale.tune.presence import GAVE_UP, WORKING, nodes_of
from gaudi3_scale.tune.queue import LOST, MADE_AGAIN, SKIPPED, counted, outcome_of
from gaudi3_scale.tune.trials import MEASURED, finite, of_the_study, short

NODE_COLUMNS = ("node", "state", "trials", "broken", "why")


def report(study: Study, found: optuna.Study, absent: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Title, rows, columns, notes, sections and data, as the action ``gaudi3.scale.report`` takes and keeps them.

    ``absent`` are nodes that never worked, each with the reason.
    """
    trials, left_out = of_the_study(study, found)
    nodes = node_rows(trials, nodes_of(found), absent or {})
    best = best_trial(study, trials)
    return {
        "title": f"Study {study.name}: {counted(trials)} of {study.trials} trials",
        "columns": columns(study),
        "rows": [row(study, trial) for trial in trials],
        "notes": [*notes(study, trials, best, nodes), *left_out],
        "charts": [],
        "sections": [{"title": "Nodes", "columns": list(NODE_COLUMNS), "rows": nodes, "notes": []}],
        "data": {"objective": study.objective, "best": _best(study, best), "done": counted(trials)},
    }


def columns(study: Study) -> list[str]:
    names = [one.name for one in (*study.space, *study.flags)]
    measured = ["tokens/s", "loss"] if study.objective == THROUGHPUT else ["loss", "tokens/s"]
    return ["trial", "outcome", *measured, *names, "node", "seconds", "why"]


def row(study: Study, trial: FrozenTrial) -> dict[str, Any]:
    """One line of the table; a flag that was not set has no value."""
    attributes = trial.user_attrs
    outcome = outcome_of(trial)
    rate, loss = (finite(attributes.get(name)) for name in MEASURED)
    values = {one.name: trial.params.get(one.name) for one in (*study.space, *study.flags)}
    return {
        "trial": trial.number,
        "outcome": short(outcome),
        "tokens/s": None if rate is None else round(rate),
        "loss": loss,
        **values,
        "node": short(str(attributes.get("node") or "")),
        "seconds": None if trial.duration is None else round(trial.duration.total_seconds()),
        "why": short(_why(trial, outcome)),
    }


def _why(trial: FrozenTrial, outcome: str) -> str:
    if outcome == LOST:
        return "put back into the queue"
    again = "; made again" if trial.user_attrs.get(MADE_AGAIN) else ""
    first = f"trial {trial.user_attrs['again_of']} again; " if "again_of" in trial.user_attrs else ""
    return f"{first}{trial.user_attrs.get('message') or ''}{again}".strip("; ")


def best_trial(study: Study, trials: Sequence[FrozenTrial]) -> FrozenTrial | None:
    """Of several that are as good the first, as Optuna has it."""
    complete = [trial for trial in trials if trial.state == TrialState.COMPLETE]
    if study.objective == THROUGHPUT:
        return max(complete, key=_reached, default=None)
    return min(complete, key=_reached, default=None)


def notes(
    study: Study, trials: Sequence[FrozenTrial], best: FrozenTrial | None, nodes: Sequence[Mapping[str, Any]]
) -> list[str]:
    complete = [_reached(trial) for trial in trials if trial.state == TrialState.COMPLETE]
    outcomes = [outcome_of(trial) for trial in trials]
    reported = []
    if best is None:
        reported.append("No trial finished, so there is no best configuration; the table says why.")
    else:
        value = _reached(best)
        reported.append(f"Trial {best.number} is the best: {_value(study, value)}{_against(value, complete)}.")
        reported.append("Each was measured once; compare the best with today's settings by compare_settings.yml.")
    counts = {outcome: outcomes.count(outcome) for outcome in dict.fromkeys(outcomes)}
    if counts:
        reported.append("Outcomes: " + ", ".join(f"{count} {outcome}" for outcome, count in counts.items()) + ".")
    if SKIPPED in counts:
        reported.append("Skipped trials could not fit or could not be set, and took no time on a card.")
    reported += [f"{node['node']} is unhealthy: {node['why']}" for node in nodes if node["state"] == FAILED]
    return reported


def _reached(trial: FrozenTrial) -> float:
    """Of a trial that is complete, which has one."""
    assert trial.value is not None
    return trial.value


def _against(best: float, complete: Sequence[float]) -> str:
    middle = statistics.median(complete)
    if len(complete) < LEAST_COMPLETE or not middle:
        return ""
    return f", {best / middle - 1:+.1%} against the median of {len(complete)} complete trials"


def _value(study: Study, value: float) -> str:
    number = quantity(value) if study.objective == THROUGHPUT else f"{value:.4f}"
    return f"{number} {UNITS[study.objective]}"


def node_rows(
    trials: Sequence[FrozenTrial], nodes: Mapping[str, Mapping[str, object]], absent: Mapping[str, str]
) -> list[dict[str, Any]]:
    """What each node did, and of those that failed why."""
    rows = []
    for host in sorted({*nodes, *absent}):
        mine = [trial for trial in trials if trial.user_attrs.get("node") == host]
        node = nodes.get(host, {})
        failed = host in absent or node.get("state") == GAVE_UP
        rows.append(
            {
                "node": host,
                "state": FAILED if failed else WORKING if node.get("state") == WORKING else OK,
                "trials": len(mine),
                "broken": sum(trial.user_attrs.get("outcome") in (CRASH, HANG, None) for trial in mine),
                "why": short(absent.get(host) or str(node.get("why", ""))),
            }
        )
    return rows


def _best(study: Study, best: FrozenTrial | None) -> dict[str, Any] | None:
    if best is None:
        return None
    chosen = values_of(study, best.params)
    return {"trial": best.number, "value": best.value, **sorted_out(study, chosen)}
