# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.compare_settings_kind import (
    COMPARED,
    TOGETHER,
    compare_settings_kind,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.comparison_kept import (
    helpful,
    kept_changes,
    launch_variables,
    second_question,
    without_variable,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.comparison_report import comparison_report

BASE = {"flags": {}, "options": {"precision": "fp32"}, "batch_size": 8}
SETTINGS = {
    "base": BASE,
    "bf16": {**BASE, "options": {"precision": "bf16"}},
    "queue": {**BASE, "flags": {"PT_HPU_X": "1"}},
    "batch 16": {**BASE, "batch_size": 16},
    "batch 32": {**BASE, "batch_size": 32},
}


def verdict(name, word="helps", speed=1.1, **more):
    interval = None if speed is None else {"estimate": speed, "low": speed - 0.02, "high": speed + 0.02, "level": 0.99}
    return {
        "name": name,
        "verdict": word,
        "why": "because",
        "rounds": 5,
        "speed": interval,
        "step_time": interval,
        "samples_per_second": 100.0,
        "step_seconds": 0.1,
        "peak_memory_bytes": 2 << 30,
        "memory": 1.5,
        "loss": 2.5,
        "loss_change": 0.001,
        "notes": [],
        "plain": [],
        **more,
    }


def result(*verdicts, rate=100.0, **more):
    return {
        "verdicts": list(verdicts),
        "settings": SETTINGS,
        "fields": {},
        "rates": {},
        "rounds": 5,
        "level": 0.99,
        "confidence": 0.95,
        "base": {"samples_per_second": rate, "step_seconds": 0.1, "peak_memory_bytes": 1 << 30, "loss": 2.4},
        "base_notes": [],
        "regressions": [],
        **more,
    }


def report(results, given=None):
    return comparison_report(results, given or list(results), 0.05)


def test_a_line_says_ratio_interval_memory_and_loss():
    rows = report({"n1": result(verdict("bf16"))})["rows"]
    assert rows[0]["setting"] == "base"
    assert rows[1]["samples/s ratio"] == "1.100 (1.080 to 1.120)"
    assert (rows[1]["memory"], rows[1]["loss"]) == ("2,048 MiB (+50.0%)", "2.5 (+0.10%)")


def test_a_node_that_failed_has_its_reason_and_the_others_their_rows():
    found = report({"n1": result(verdict("bf16")), "n2": {"failed": True, "msg": "no venv"}}, ["n1", "n2", "n3"])
    assert [row["node"] for row in found["rows"]] == ["n1", "n1"]
    assert found["failures"] == ["n2 failed: no venv", "n3 failed: it was not reached"]
    assert "no venv" in " ".join(found["notes"])


def test_what_many_nodes_say_is_said_once():
    refused = {"failed": True, "msg": "rounds is 1; give at least 3"}
    assert report({"n1": refused, "n2": refused})["failures"] == ["n1, n2 failed: rounds is 1; give at least 3"]


def test_no_node_is_the_truth_for_the_others():
    results = {"n1": result(verdict("bf16")), "n2": result(verdict("bf16", "no difference", 1.0))}
    assert helpful(results) == []
    assert any("bf16 differs between nodes, so it is not saved" in note for note in report(results)["notes"])


def test_an_outlier_is_named_and_its_peers_are_not():
    results = {f"n{number}": result(verdict("bf16", speed=1.1 + 0.001 * number)) for number in range(1, 4)}
    results["n4"] = result(verdict("bf16", speed=1.3))
    notes = " ".join(report(results)["notes"])
    assert "n4 is an outlier for bf16: 1.300" in notes
    assert "n1 is an outlier" not in notes


def test_a_slow_node_is_named():
    results = {f"n{number}": result(verdict("bf16")) for number in range(1, 4)}
    results["n2"] = result(verdict("bf16"), rate=90.0)
    slow = [note for note in report(results)["notes"] if "is slow" in note]
    assert slow == ["n2 is slow: its base makes 10.0% fewer samples/s than the nodes' median; check it with verify.yml"]


def test_a_failed_setting_is_a_word_in_the_chart():
    found = report({"n1": result(verdict("bf16"), verdict("queue", "failed", None))})
    assert found["intervals"][0]["bars"][1] == {"label": "queue", "tone": "bad", "note": "failed"}


def test_regressions_name_their_node():
    found = report(
        {"n1": result(verdict("bf16"), regressions=["base is 9.0% slower than in f (99% interval 8% to 10%)"])}
    )
    assert found["regressions"] == ["on n1 base is 9.0% slower than in f (99% interval 8% to 10%)"]


def test_of_several_that_help_all_together_are_a_question_of_their_own():
    asked = second_question({"n1": result(verdict("bf16", speed=1.3), verdict("queue"), verdict("batch 16", "hurts"))})
    assert asked["base"] == SETTINGS["bf16"]
    assert asked["settings"] == [
        {"name": "together", "flags": {"PT_HPU_X": "1"}, "options": {"precision": "bf16"}, "batch_size": 8}
    ]


def test_of_two_values_of_one_thing_the_better_is_taken_and_nothing_is_left_to_ask():
    results = {"n1": result(verdict("batch 16", speed=1.2), verdict("batch 32", speed=1.4))}
    assert second_question(results) is None
    assert kept_changes(results, None)[1]["batch_size"] == 32


@pytest.mark.parametrize(("word", "names"), [("helps", ["bf16", "queue"]), ("no difference", ["bf16"])])
def test_all_together_are_kept_only_if_they_beat_the_best_alone(word, names):
    first = {"n1": result(verdict("bf16", speed=1.3), verdict("queue"))}
    second = {"n1": result(verdict("together", word))}
    assert kept_changes(first, second)[0] == names


def test_a_node_that_could_not_say_it_of_all_together_keeps_the_best_alone():
    first = {
        "n1": result(verdict("bf16", speed=1.3), verdict("queue")),
        "n2": result(verdict("bf16"), verdict("queue")),
    }
    assert kept_changes(first, {"n1": result(verdict("together"))})[0] == ["bf16"]


def test_what_is_kept_is_said_in_the_variables_of_a_launch_and_the_operators_own_stay():
    kept = {
        "flags": {"PT_HPU_X": "1", "OMP_NUM_THREADS": "2", "PT_HPU_GONE": None},
        "options": {"precision": "bf16", "width": 512, "accumulation": 4, "checkpointing": True, "sharding": "fsdp2"},
        "batch_size": 16,
    }
    own = {"gaudi_flags_overrides": {"HABANA_LOGS": "/x"}, "gaudi_training_arguments": ["--seed", "1"]}
    assert launch_variables(kept, ["OMP_NUM_THREADS"], True, own) == {
        "gaudi_training_batch_size": 16,
        "gaudi_training_environment": {"PT_HPU_X": "1", "OMP_NUM_THREADS": "2"},
        "gaudi_flags_overrides": {"HABANA_LOGS": "/x", "PT_HPU_X": "1", "PT_HPU_GONE": None},
        "gaudi_flags_environment": {"OMP_NUM_THREADS": "2"},
        "gaudi_training_precision": "bf16",
        "gaudi_training_accumulation_steps": 4,
        "gaudi_training_model": {"width": 512},
        "gaudi_training_arguments": ["--seed", "1", "--checkpointing"],
    }
    assert without_variable(kept, True) == ["sharding"]


def test_of_an_own_workload_the_options_are_kept_as_they_are():
    kept = {"flags": {}, "options": {"depth": 3}, "batch_size": None}
    assert launch_variables(kept, [], False, {}) == {"gaudi_batch_workload_options": {"depth": 3}}


def test_nothing_kept_sets_nothing():
    assert launch_variables(kept_changes({"n1": result(verdict("bf16", "hurts", 0.8))}, None)[1], [], True, {}) == {}


def reported(baseline="", together=True, **hosts):
    given = {"tolerance": 0.05, "together": together, "built_in": True, "workload": "m:f", "kept_file": "mine.yml"}
    return compare_settings_kind(Asked(hosts, {**given, "baseline": baseline}, False))


def test_what_is_kept_becomes_a_file_beside_the_operators_own_values():
    first = result(verdict("bf16", speed=1.3), verdict("queue"))
    own = {"gaudi_training_environment": {"WANDB_MODE": "offline"}}
    made = reported(n1={COMPARED: first, TOGETHER: result(verdict("together")), **own})
    (file,) = made.options["files"]
    assert file["heading"].startswith("Written by compare_settings.yml: bf16 and queue\non n1 (m:f). For launch")
    assert file["variables"]["gaudi_training_environment"] == {"WANDB_MODE": "offline", "PT_HPU_X": "1"}
    assert (file["path"], file["mode"]) == ("mine.yml", "0600")
    assert made.options["notes"][-1] == "kept: bf16 and queue"
    assert [section["rows"][1]["setting"] for section in made.options["sections"]] == ["together"]
    assert (made.options["name"], made.refusal) == ("compare_settings", "")
    assert made.outcome == {"nodes": {"n1": "ok"}, "ok": True, "numbers": {"kept": 2, "slower": 0}}


def test_a_baseline_is_saved_where_one_was_asked_for_and_what_is_slower_is_refused():
    made = reported(
        baseline="base.json", together=False, n1={COMPARED: result(verdict("bf16"), regressions=["it is slow"])}
    )
    assert [file["path"] for file in made.options["files"]] == ["mine.yml", "base.json"]
    assert list(made.options["files"][1]["content"]["hosts"]) == ["n1"]
    assert made.refusal == "Slower by more than 5 %: on n1 it is slow."
    assert (made.outcome["ok"], made.options["sections"]) == (False, [])


def test_of_a_question_that_was_refused_nothing_is_kept_and_an_earlier_page_stays():
    made = reported(n1={COMPARED: {"failed": True, "msg": "rounds is 1"}}, n2={})
    assert "name" not in made.options
    assert made.outcome["nodes"] == {"n1": "failed", "n2": "failed"}
    assert made.refusal == "n1 failed: rounds is 1; n2 failed: it was not reached"
