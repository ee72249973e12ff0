# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Optuna's plots of a study as one page that needs nothing beside it."""

from __future__ import annotations

import warnings
from html import escape
from typing import Sequence

import optuna
from optuna import visualization
from optuna.trial import TrialState
from plotly.graph_objects import Figure
from plotly.offline import get_plotlyjs

from gaudi3_scale.core._tune.space import THROUGHPUT
from gaudi3_scale.core._tune.study import Study
from gaudi3_scale.tune.trials import of_the_study

UNITS = {THROUGHPUT: "tokens/s", "loss": "loss"}
# What a plot needs: some are drawn only where there is enough to draw.
LEAST_COMPLETE = 2


def figures_page(study: Study, found: optuna.Study) -> str:
    """Optuna's plots as one page of HTML with one copy of plotly.js; empty where there is none to draw."""
    fragments = _fragments(figures(study, _without_strangers(study, found)))
    return "\n".join(['<!doctype html><html lang="en"><meta charset="utf-8"><body>', *fragments]) if fragments else ""


def _without_strangers(study: Study, found: optuna.Study) -> optuna.Study:
    """The study itself where all of its trials are its own, else one of those that are."""
    trials, left_out = of_the_study(study, found)
    if not left_out:
        return found
    own = optuna.create_study(direction=found.direction)
    own.add_trials(trials)
    return own


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
    text: str = figure.to_html(full_html=False, include_plotlyjs=False, div_id=f"figure-{number}")
    return text


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
        ("Best value over the trials", visualization.plot_optimization_history(found, target_name=unit)),
        ("Trials over time, by outcome", visualization.plot_timeline(found)),
        ("Each trial while it ran", course),
    ]
    if varied:
        drawn += [
            ("Each parameter against the objective", visualization.plot_slice(found, params=varied, target_name=unit)),
            (
                "Importance of each parameter, by a model of these trials",
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
