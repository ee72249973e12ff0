# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a study found: a row for each trial and node, the best as variables, and Optuna's plots as one page."""

from __future__ import annotations

import statistics
import warnings
from html import escape
from typing import Any, Mapping, Sequence

import optuna
from optuna import visualization
from optuna.trial import FrozenTrial, TrialState
from plotly.graph_objects import Figure
from plotly.offline import get_plotlyjs

from gaudi3_scale.core.batch_size.search import CRASH, HANG, OK
from gaudi3_scale.core.monitoring.share import FAILED
from gaudi3_scale.core.report.page import report_page
from gaudi3_scale.core.tuning.space import THROUGHPUT
from gaudi3_scale.core.tuning.study import Study, launch_variables
from gaudi3_scale.tune.presence import GAVE_UP, WORKING, nodes_of
from gaudi3_scale.tune.queue import LOST, MADE_AGAIN, SKIPPED, counted, outcome_of

UNITS = {THROUGHPUT: "tokens/s", "loss": "loss"}
# What a plot needs: some are drawn only where there is enough to draw.
LEAST_COMPLETE = 2
LONGEST_WHY = 200
NODE_COLUMNS = ("node", "state", "trials", "broken", "why")


def report(
    study: Study, found: optuna.Study, fixed: Mapping[str, Any], absent: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Title, rows, columns, notes, sections and data, as the action ``gaudi3.scale.report`` takes and keeps them.

    ``fixed`` are launch variables that were not tuned; ``absent`` are nodes that never worked, each with the reason.
    """
    trials = [trial for trial in found.get_trials(deepcopy=False) if trial.state.is_finished()]
    nodes = node_rows(trials, nodes_of(found), absent or {})
    best = best_trial(found)
    return {
        "title": f"Study {study.name}: {counted(trials)} of {study.trials} trials",
        "columns": columns(study),
        "rows": [row(study, trial) for trial in trials],
        "notes": notes(study, trials, best, nodes),
        "charts": [],
        "sections": [{"title": "Nodes", "columns": list(NODE_COLUMNS), "rows": nodes, "notes": []}],
        "data": {"objective": study.objective, "best": _best(study, best, fixed), "done": counted(trials)},
    }


def columns(study: Study) -> list[str]:
    names = [one.name for one in (*study.space, *study.flags)]
    measured = ["tokens/s", "loss"] if study.objective == THROUGHPUT else ["loss", "tokens/s"]
    return ["trial", "outcome", *measured, *names, "node", "seconds", "why"]


def row(study: Study, trial: FrozenTrial) -> dict[str, Any]:
    """One line of the table; a flag that was not set has no value."""
    attributes = trial.user_attrs
    outcome = outcome_of(trial)
    rate, loss = attributes.get("tokens_per_second"), attributes.get("loss")
    values = {one.name: trial.params.get(one.name) for one in (*study.space, *study.flags)}
    return {
        "trial": trial.number,
        "outcome": outcome,
        "tokens/s": None if rate is None else round(rate),
        "loss": loss,
        **values,
        "node": attributes.get("node"),
        "seconds": None if trial.duration is None else round(trial.duration.total_seconds()),
        "why": _short(_why(trial, outcome)),
    }


def _why(trial: FrozenTrial, outcome: str) -> str:
    if outcome == LOST:
        return "put back into the queue"
    again = "; made again" if trial.user_attrs.get(MADE_AGAIN) else ""
    first = f"trial {trial.user_attrs['again_of']} again; " if "again_of" in trial.user_attrs else ""
    return f"{first}{trial.user_attrs.get('message') or ''}{again}".strip("; ")


def best_trial(found: optuna.Study) -> FrozenTrial | None:
    try:
        return found.best_trial
    except ValueError:
        return None


def notes(
    study: Study, trials: Sequence[FrozenTrial], best: FrozenTrial | None, nodes: Sequence[Mapping[str, Any]]
) -> list[str]:
    complete = [trial.value for trial in trials if trial.state == TrialState.COMPLETE]
    outcomes = [outcome_of(trial) for trial in trials]
    told = []
    if best is None:
        told.append("No trial came to its end, so there is no best configuration; the table says why.")
    else:
        told.append(f"Trial {best.number} is the best: {_value(study, best.value)}{_against(best.value, complete)}.")
        told.append("Each was measured once; hold the best against today's settings with compare_settings.yml.")
    counts = {outcome: outcomes.count(outcome) for outcome in dict.fromkeys(outcomes)}
    if counts:
        told.append("Outcomes: " + ", ".join(f"{count} {outcome}" for outcome, count in counts.items()) + ".")
    if SKIPPED in counts:
        told.append("What was skipped could not fit or could not be set, and took no time on a card.")
    told += [f"{node['node']} is sick: {node['why']}" for node in nodes if node["state"] == FAILED]
    return told


def _against(best: float, complete: Sequence[float]) -> str:
    middle = statistics.median(complete)
    if len(complete) < LEAST_COMPLETE or not middle:
        return ""
    return f", {best / middle - 1:+.1%} against the median of {len(complete)} complete trials"


def _value(study: Study, value: float) -> str:
    number = f"{value:,.0f}" if study.objective == THROUGHPUT else f"{value:.4f}"
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
                "why": _short(absent.get(host) or str(node.get("why", ""))),
            }
        )
    return rows


def _short(text: str) -> str:
    """The whole of it is in the trial's log."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_WHY else f"{line[: LONGEST_WHY - 3]}..."


def _best(study: Study, best: FrozenTrial | None, fixed: Mapping[str, Any]) -> dict[str, Any] | None:
    if best is None:
        return None
    params = {one.name: best.params[one.name] for one in study.space}
    chosen = {flag.name: best.params[flag.name] for flag in study.flags}
    flags = {name: value for name, value in chosen.items() if value is not None}
    return {
        "trial": best.number,
        "value": best.value,
        "params": params,
        "flags": flags,
        "variables": launch_variables(study, params, fixed, flags),
    }


def page(told: Mapping[str, Any], study: Study, found: optuna.Study) -> str:
    """One HTML file that needs nothing beside it: the table, and Optuna's plots with one copy of plotly.js."""
    last = max((trial.datetime_complete for trial in found.trials if trial.datetime_complete), default=None)
    return report_page(
        told["title"],
        subtitle="" if last is None else last.strftime("%Y-%m-%d %H:%M:%S"),
        rows=told["rows"],
        columns=told["columns"],
        notes=told["notes"],
        sections=told["sections"],
        fragments=_fragments(figures(study, found)),
    )


def _fragments(drawn: Sequence[tuple[str, Figure]]) -> list[str]:
    """plotly.js once, then the figures; nothing where there is none."""
    script = [f"<script>{get_plotlyjs()}</script>"] if drawn else []
    return script + [
        f'<section class="wide"><h2>{escape(title)}</h2>{_div(figure, number)}</section>'
        for number, (title, figure) in enumerate(drawn)
    ]


def _div(figure: Figure, number: int) -> str:
    """As wide as the page, and without a random name, so that the page of the same study is the same text."""
    figure.update_layout(template="plotly_white", title=None, margin={"t": 20}, width=None, autosize=True)
    return figure.to_html(full_html=False, include_plotlyjs=False, div_id=f"figure-{number}")


def figures(study: Study, found: optuna.Study) -> list[tuple[str, Figure]]:
    """Optuna's plots with their headings, as many as the trials allow."""
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    names = [one.name for one in (*study.space, *study.flags)]
    complete = found.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    varied = [name for name in names if len({repr(trial.params.get(name)) for trial in complete}) > 1]
    if len(complete) < LEAST_COMPLETE:
        return []
    unit = UNITS[study.objective]
    course = visualization.plot_intermediate_values(found)
    course.update_layout(xaxis_title="tenths of the budget", yaxis_title=unit)
    drawn = [
        ("What was reached over the trials", visualization.plot_optimization_history(found, target_name=unit)),
        ("Trials over time, by outcome", visualization.plot_timeline(found)),
        ("Each trial while it ran", course),
    ]
    if varied:
        drawn += [
            ("Each value against the objective", visualization.plot_slice(found, params=varied, target_name=unit)),
            (
                "Which value decided, in a model of these trials",
                visualization.plot_param_importances(found, params=varied, target_name=unit),
            ),
        ]
    if len(varied) > 1:
        drawn.append(
            (
                "All values of each trial",
                visualization.plot_parallel_coordinate(found, params=varied, target_name=unit),
            )
        )
    return drawn
