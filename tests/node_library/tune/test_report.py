# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import math
import re

import optuna
import pytest
from optuna.trial import TrialState

from gaudi3_scale.core._tune.values import values_of
from gaudi3_scale.tune.figures import figures, figures_page
from gaudi3_scale.tune.report import report
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
    reported = report(study, found)
    best = found.best_trial
    assert reported["title"] == "Study s: 4 of 4 trials"
    assert reported["notes"][0].startswith("Trial 4 is the best: 400 tokens/s, +300.0% against the median of 3")
    assert "Outcomes: 3 ok, 1 pruned, 1 skipped." in reported["notes"]
    assert reported["data"]["best"]["params"]["batch_size"] == best.params["batch_size"]
    assert ("PT_HPU_X" in reported["data"]["best"]["flags"]) == (best.params["PT_HPU_X"] is not None)
    assert [row["trial"] for row in reported["rows"]] == [0, 1, 2, 3, 4]


def test_a_study_without_a_best_says_so_and_draws_nothing():
    study, found = small_study(flags=FLAGS), found_by(["crash", "out_of_memory"])
    reported = report(study, found)
    assert reported["data"]["best"] is None
    assert reported["notes"][0].startswith("No trial finished")
    assert figures(study, found) == []
    assert figures_page(study, found) == ""


def test_every_node_is_there_and_the_sick_ones_are_named():
    found = found_by(["ok"])
    found.set_user_attr("node:n1", {"state": "done", "why": "", "beat": 1})
    found.set_user_attr("node:n2", {"state": "gave up", "why": "3 trials in a row broke", "beat": 1})
    found.set_user_attr("node:n3", {"state": "working", "why": "", "beat": 1})
    reported = report(small_study(flags=FLAGS), found, {"n4": "it did not respond"})
    rows = {row["node"]: (row["state"], row["why"]) for row in reported["sections"][0]["rows"]}
    assert rows == {
        "n1": ("ok", ""),
        "n2": ("failed", "3 trials in a row broke"),
        "n3": ("working", ""),
        "n4": ("failed", "it did not respond"),
    }
    assert [note for note in reported["notes"] if "is unhealthy" in note] == [
        "n2 is unhealthy: 3 trials in a row broke",
        "n4 is unhealthy: it did not respond",
    ]


def test_the_page_needs_nothing_beside_it_and_is_the_same_text_each_time():
    study, found = small_study(flags=FLAGS), found_by(["ok"] * 6)
    html = figures_page(study, found)
    assert html == figures_page(study, found)
    assert html.count("plotly.js v") == 1
    assert re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=", html) == []
    assert html.count('class="plotly-graph-div"') == 6


def test_a_value_that_never_changed_is_in_no_plot():
    study = small_study(space={"batch_size": [8]}, flags={})
    found = optuna.create_study()
    for value in (1.0, 2.0):
        trial = found.ask()
        trial.suggest_categorical("batch_size", [8])
        found.tell(trial, value)
    assert len(figures(study, found)) == 3


def add(found, params, value=987654321.0, **attributes):
    """A trial as a client of the storage writes it, past all that asks for values of the space."""
    distributions = {
        name: optuna.distributions.CategoricalDistribution([one])
        if name != "batch_size" or isinstance(one, str)
        else optuna.distributions.IntDistribution(-(10**9), 10**9)
        for name, one in params.items()
    }
    found.add_trial(
        optuna.trial.create_trial(
            params=params,
            distributions=distributions,
            value=value,
            user_attrs={"outcome": "ok", "node": "n9", **attributes},
        )
    )


GOOD = {"batch_size": 8, "accumulation": 1, "PT_HPU_X": None}
LOOKUP = "{{ lookup('pipe', 'id') }}"


@pytest.mark.parametrize(
    "params, why",
    [
        ({**GOOD, "batch_size": LOOKUP}, "batch_size is .{{ lookup.*, which is not a whole number"),
        ({**GOOD, "batch_size": 4096}, "batch_size is 4096, which is not between 8 and 64"),
        ({**GOOD, "batch_size": 9}, "batch_size is 9, which is not a step of 8 from 8"),
        ({**GOOD, "accumulation": True}, "accumulation is True, which is not one of its choices"),
        ({**GOOD, "PT_HPU_X": "$(id)"}, r"PT_HPU_X is '\$\(id\)', which is not one of its choices"),
        ({**GOOD, "LD_PRELOAD": "/tmp/x.so"}, "'LD_PRELOAD' is not a parameter of the study"),
        ({"batch_size": 8, "accumulation": 1}, "PT_HPU_X is missing"),
    ],
)
def test_a_best_that_is_not_of_the_space_is_left_out_and_named(params, why):
    study, found = small_study(flags=FLAGS), found_by(["ok", "ok", "ok"])
    add(found, params)
    reported = report(study, found)
    assert (reported["data"]["best"]["trial"], reported["data"]["done"]) == (2, 3)
    assert re.search(f"Trial 3, by node 'n9', is ignored: {why}; find out who wrote it", reported["notes"][-1])
    assert LOOKUP not in json.dumps([reported["rows"], reported["data"]])
    # Its value is in no plot either.
    assert "987654321" not in figures_page(study, found)


@pytest.mark.parametrize("value", [math.inf, -math.inf, 1e300])
def test_a_value_beyond_all_bounds_is_no_best(value):
    found = found_by(["ok"])
    add(found, GOOD, value)
    reported = report(small_study(flags=FLAGS), found)
    assert reported["data"]["best"]["trial"] == 0
    json.dumps(reported, allow_nan=False)


def test_what_no_node_writes_stops_no_report():
    found = found_by(["ok"])
    found.set_user_attr("node:n2", "x")
    found.set_user_attr("node:\x1b]0;t\x07", {"state": "gave up", "why": "", "beat": 1})
    add(found, GOOD, 1.0, node=["n1"], tokens_per_second="fast")
    add(found, GOOD, 1.0, node={"n": "1" * 9999}, loss=math.nan)
    reported = report(small_study(flags=FLAGS), found)
    assert {row["node"] for row in reported["sections"][0]["rows"]} == set()
    assert "its tokens_per_second is not a number" in reported["notes"][-1]
    assert len(reported["rows"][-1]["node"]) <= 200


def test_each_value_that_a_study_chooses_is_of_its_space():
    study = small_study(flags=FLAGS)
    for trial in found_by(["ok"] * 20).trials:
        assert values_of(study, trial.params) == trial.params
