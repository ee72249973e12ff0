# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A report of the node that keeps a study, which may be anybody's by then, as the controller takes it."""

from __future__ import annotations

import copy
import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.tune_training_kind import tune_training_kind
from ansible_collections.gaudi3.scale.plugins.plugin_utils._variables_file import variables_file
from ansible_collections.gaudi3.scale.tests.unit.study_answer import BEST, REPORT, given_of_a_study
from ansible_collections.gaudi3.scale.tests.variables_of import variables_of

LOOKUP = "{{ lookup('pipe', 'touch PWNED') }}"


def take(report, failure=""):
    text = report if isinstance(report, str) else json.dumps(report)
    return tune_training_kind(Asked({"n1": {}, "n2": {}}, given_of_a_study(text, failure), False))


def changed(**best):
    report = copy.deepcopy(REPORT)
    report["data"]["best"] = {**BEST, **best}
    return report


def test_the_best_becomes_variables_here():
    made = take(REPORT)
    reported, (file,) = made.options, made.options["files"]
    assert file["variables"] == {
        "gaudi_training_precision": "bf16",
        "gaudi_training_environment": {"WANDB_API_KEY": "planted-key", "PT_HPU_X": "1"},
        "gaudi_training_batch_size": 64,
        "gaudi_training_arguments": ["--clip", "1", "--accumulate", "2", "--checkpointing"],
    }
    assert (file["name"], file["mode"]) == ("tune-s-best.yml", "0600")
    assert file["heading"].startswith("Trial 3 of study s, the best by throughput.\n")
    assert (reported["title"], reported["data"]["best"]) == ("Study s: 4 of 4 trials", BEST)
    # What is kept with the page and the JSON has none of the operator's environment.
    assert "planted-key" not in json.dumps({name: reported[name] for name in ("rows", "notes", "sections", "data")})


def test_the_outcome_names_the_nodes_that_failed():
    made = take(REPORT)
    assert made.outcome == {
        "nodes": {"n1": "ok", "n2": "failed"},
        "ok": True,
        "numbers": {"trials": 4, "best_trial": 3},
    }
    assert made.refusal == ""


def test_a_study_that_was_cut_off_or_found_nothing_is_shown_and_refused():
    cut_off = take(REPORT, failure="The study was stopped.")
    assert (cut_off.outcome["ok"], cut_off.refusal) == (False, "The study was stopped.")
    nothing = take({**REPORT, "data": {**REPORT["data"], "best": None}, "notes": ["No trial has ended well"]})
    assert (nothing.outcome["ok"], nothing.refusal) == (False, "No trial has ended well")
    assert nothing.options["files"] == []
    assert nothing.outcome["numbers"] == {"trials": 4, "best_trial": None}


def test_variables_that_the_node_has_written_itself_are_dropped():
    hostile = changed(variables={"gaudi_training_command": [LOOKUP], "ansible_connection": "local"})
    hostile["variables"] = {"gaudi_training_command": [LOOKUP]}
    assert take(hostile).options["files"] == take(REPORT).options["files"]


@pytest.mark.parametrize(
    "best, said",
    [
        ({"params": {**BEST["params"], "batch_size": LOOKUP}}, "batch_size is .*, which is not a whole number"),
        ({"params": {**BEST["params"], "batch_size": 128}}, "batch_size is 128, which is not between 8 and 64"),
        ({"params": {**BEST["params"], "batch_size": 8.0}}, "batch_size is 8.0, which is not a whole number"),
        ({"params": {**BEST["params"], "batch_size": True}}, "batch_size is True, which is not a whole number"),
        ({"params": {**BEST["params"], "checkpointing": 1}}, "checkpointing is 1, which is not one of its choices"),
        ({"params": {**BEST["params"], "optimizer": "x"}}, "'optimizer' is not a parameter of the study"),
        ({"params": {"batch_size": 8}}, "accumulation is missing"),
        ({"flags": {"PT_HPU_X": "2"}}, "PT_HPU_X is '2', which is not one of its choices"),
        ({"flags": {"LD_PRELOAD": "/tmp/x.so"}}, "'LD_PRELOAD' is not a parameter of the study"),
    ],
)
def test_a_best_outside_of_the_space_is_refused_by_node_and_name(best, said):
    with pytest.raises(GaudiError, match=f"n1 answered gaudi3_scale.tune report .*: data.best is .*{said}"):
        take(changed(**best))


@pytest.mark.parametrize(
    "report",
    [
        "",
        "{",
        "[" * 200_000,
        "null",
        "[]",
        json.dumps({**REPORT, "rows": {}}),
        json.dumps({**REPORT, "rows": [{"batch_size": math.nan}]}),
        json.dumps({**REPORT, "data": {**REPORT["data"], "done": 10**400}}),
        json.dumps(changed(value=math.inf)),
        json.dumps({**REPORT, "sections": [1]}),
        '{"data": ' + "9" * 5000 + "}",
    ],
    ids=lambda text: text[:12],
)
def test_what_is_no_report_is_one_sentence(report):
    with pytest.raises(GaudiError, match=r"n1 answered gaudi3_scale.tune report with an invalid .*: .* is "):
        take(report)


def test_text_that_a_screen_or_a_template_would_obey_is_only_text():
    hostile = copy.deepcopy(REPORT)
    hostile["notes"] = [f"\x1b[2J{LOOKUP}\nPLAY RECAP"]
    hostile["rows"][0]["why"] = LOOKUP
    reported = take(hostile).options
    assert reported["notes"] == [" [2J{ { lookup('pipe', 'touch PWNED') }} PLAY RECAP"]
    assert "{{" not in json.dumps(reported)


def test_the_file_of_a_best_launches_nothing_but_it(tmp_path, monkeypatch):
    """From a hostile report to ``-e @FILE``: nothing runs on the controller."""
    monkeypatch.delenv("ANSIBLE_CONFIG", raising=False)
    hostile = copy.deepcopy(REPORT)
    hostile["notes"], hostile["title"] = [LOOKUP], LOOKUP
    text = variables_file(f"Trial 3\n{LOOKUP}", take(hostile).options["files"][0]["variables"])
    assert variables_of(text)["gaudi_training_batch_size"] == 64
    (tmp_path / "best.yml").write_text(text)
    play = (
        "- {hosts: localhost, gather_facts: false, tasks: [{debug: {msg: '{{ gaudi_training_arguments | join }}'}}]}\n"
    )
    (tmp_path / "play.yml").write_text(play)
    program = Path(sys.executable).with_name("ansible-playbook")
    command = [program, "-i", "localhost,", "-c", "local", "play.yml", "-e", "@best.yml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "--clip1--accumulate2--checkpointing" in done.stdout
    assert not (tmp_path / "PWNED").exists()
