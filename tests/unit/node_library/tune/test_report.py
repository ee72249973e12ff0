# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re

import optuna
from optuna.trial import TrialState

from gaudi3_scale.tune.report import figures, page, report
from studies import optuna_study, small_study

FLAGS = {"PT_HPU_X": ["1", None]}


def found_by(outcomes):
    """A study with trials of these outcomes, the later the better."""
    found = optuna_study()
    for number, outcome in enumerate(outcomes):
        trial = found.ask()
        trial.suggest_int("batch_size", 8, 64, step=8)
        trial.suggest_categorical("accumulation", [1, 2])
        trial.suggest_categorical("PT_HPU_X", ["1", None])
        trial.report(number, 1)
        for name, value in {
            "node": "n1",
            "outcome": outcome,
            "tokens_per_second": 100.0 * number,
            "message": "<b>",
        }.items():
            trial.set_user_attr(name, value)
        if outcome == "ok":
            found.tell(trial, 100.0 * number)
        else:
            found.tell(trial, state=TrialState.PRUNED if outcome == "pruned" else TrialState.FAIL)
    return found


def test_the_best_is_told_with_what_launches_it():
    study, found = small_study(flags=FLAGS), found_by(["ok", "ok", "pruned", "skipped", "ok"])
    told = report(study, found, {"training_precision": "bf16"})
    best = found.best_trial
    assert told["title"] == "Study s: 4 of 4 trials"
    assert told["notes"][0].startswith("Trial 4 is the best: 400 tokens/s, +300.0% against the median of 3")
    assert "Outcomes: 3 ok, 1 pruned, 1 skipped." in told["notes"]
    variables = told["data"]["best"]["variables"]
    assert variables["training_batch_size"] == best.params["batch_size"]
    assert variables["training_precision"] == "bf16"
    assert ("training_environment" in variables) == (best.params["PT_HPU_X"] is not None)
    assert [row["trial"] for row in told["rows"]] == [0, 1, 2, 3, 4]


def test_a_study_without_a_best_says_so_and_draws_nothing():
    study, found = small_study(flags=FLAGS), found_by(["crash", "out_of_memory"])
    told = report(study, found, {})
    assert told["data"]["best"] is None
    assert told["notes"][0].startswith("No trial came to its end")
    assert figures(study, found) == []
    assert "<script>" not in page(told, study, found)


def test_every_node_is_there_and_the_sick_ones_are_named():
    found = found_by(["ok"])
    found.set_user_attr("node:n1", {"state": "done", "why": "", "beat": 1})
    found.set_user_attr("node:n2", {"state": "gave up", "why": "3 trials in a row broke", "beat": 1})
    found.set_user_attr("node:n3", {"state": "working", "why": "", "beat": 1})
    told = report(small_study(flags=FLAGS), found, {}, {"n4": "it did not answer"})
    rows = {row["node"]: (row["state"], row["why"]) for row in told["sections"][0]["rows"]}
    assert rows == {
        "n1": ("ok", ""),
        "n2": ("failed", "3 trials in a row broke"),
        "n3": ("working", ""),
        "n4": ("failed", "it did not answer"),
    }
    assert [note for note in told["notes"] if "is sick" in note] == [
        "n2 is sick: 3 trials in a row broke",
        "n4 is sick: it did not answer",
    ]


def test_the_page_needs_nothing_beside_it_and_is_the_same_text_each_time():
    study, found = small_study(flags=FLAGS), found_by(["ok"] * 6)
    html = page(report(study, found, {}), study, found)
    assert html == page(report(study, found, {}), study, found)
    assert html.count("plotly.js v") == 1
    assert re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=", html) == []
    assert html.count('class="plotly-graph-div"') == 6
    assert "&lt;b&gt;" in html


def test_a_value_that_never_changed_is_in_no_plot():
    study = small_study(space={"batch_size": [8]}, flags={})
    found = optuna.create_study()
    for value in (1.0, 2.0):
        trial = found.ask()
        trial.suggest_categorical("batch_size", [8])
        found.tell(trial, value)
    assert len(figures(study, found)) == 3
