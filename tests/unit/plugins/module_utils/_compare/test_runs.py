# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.search import Trial
from ansible_collections.gaudi3.scale.plugins.module_utils._compare import runs as core
from ansible_collections.gaudi3.scale.plugins.module_utils._compare.baseline import read_baseline
from ansible_collections.gaudi3.scale.plugins.module_utils._compare.comparison import BASE, Setting
from ansible_collections.gaudi3.scale.plugins.module_utils._compare.flags import FlagTarget
from ansible_collections.gaudi3.scale.plugins.module_utils._compare.runs import Node, compare
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.tests.unit.compared import comparison_of
from ansible_collections.gaudi3.scale.tests.unit.own_module import own_module


def nothing_to_run(*_arguments, **_options):
    return CommandResult(127, "", "")


@pytest.fixture
def node(tmp_path):
    python = tmp_path / "venv/bin/python"
    python.parent.mkdir(parents=True)
    # A Python that finds every module.
    python.write_text("#!/bin/sh\necho {}\n")
    python.chmod(0o755)
    flags = tmp_path / "environment"
    flags.write_text("PT_HPU_LAZY_MODE=0\nCOLOR=red\n")
    return Node(str(tmp_path / "venv"), 30, (str(flags),), str(tmp_path / "state"), str(tmp_path))


@pytest.fixture
def trials(monkeypatch):
    """Takes the place of the child processes; ``outcomes`` are by what the option of the setting is called."""
    made, outcomes = [], {}

    def run_trial(workload, batch_size, *, environment, **_rest):
        name = next((name for name in workload.options if name in ("a", "b")), BASE)
        made.append((name, batch_size, environment))
        outcome = outcomes.get(name, "ok")
        step = 1.0 + 0.001 * len(made) - 0.5 * (name == "a")
        return Trial(batch_size, outcome, 100, step, "it broke", seconds_of_steps=(step,) * 9, losses=(2.0,) * 9)

    monkeypatch.setattr(core, "run_trial", run_trial)
    return made, outcomes


def whole(comparison, node, **options):
    """All runs, each by a call of its own, as the action plugin makes them."""
    while True:
        result = compare(comparison, node, FlagTarget(node.venv), nothing_to_run, **options)
        if result["next"] is None:
            return result
        options["refresh"] = False


def test_a_comparison_is_measured_then_known(node, trials):
    first = whole(comparison_of("a", "b", rounds=4), node)
    assert {one["name"]: one["verdict"] for one in first["verdicts"]} == {"a": "helps", "b": "no difference"}
    count = len(trials[0])
    again = compare(comparison_of("a", "b", rounds=4), node, FlagTarget(node.venv), nothing_to_run)
    assert (again["changed"], again["cached"], len(trials[0])) == (False, True, count)
    assert again["verdicts"] == first["verdicts"]
    json.dumps(first, allow_nan=False)


def test_each_run_has_its_own_variables_and_the_bases_stay_away_from_the_others(node, trials):
    settings = [Setting("set", {"COLOR": "blue", "SIZE": "2"}, {"a": 1}), Setting("gone", {"COLOR": None}, {"b": 1})]
    whole(comparison_of(settings=settings, rounds=3), node)
    colors = {name: environment.get("COLOR") for name, _size, environment in trials[0]}
    assert colors == {BASE: "red", "a": "blue", "b": None}
    assert all(environment["PT_HPU_LAZY_MODE"] == "0" for _name, _size, environment in trials[0])
    assert not any("SIZE" in environment for name, _size, environment in trials[0] if name != "a")


def test_what_was_cut_off_goes_on_from_the_runs_before(node, trials):
    asked = comparison_of("a", rounds=3)
    for _ in range(3):
        compare(asked, node, FlagTarget(node.venv), nothing_to_run)
    whole(asked, node)
    # One rehearsal and three rounds of two.
    assert len(trials[0]) == 7


def test_check_mode_runs_nothing_and_needs_no_venv(node, trials):
    bare = Node("/nowhere", 30, (), node.state_directory, node.kernel_root)
    result = compare(comparison_of("a"), bare, FlagTarget("/nowhere"), nothing_to_run, check_mode=True)
    assert trials[0] == []
    assert not Path(node.state_directory).exists()
    assert (result["changed"], result["verdicts"][0]["verdict"]) == (True, "not measured")


@pytest.fixture
def own(tmp_path):
    return own_module(tmp_path)


@pytest.mark.parametrize("check_mode", [True, False])
def test_what_the_workload_lacks_is_said_before_any_run(node, trials, own, check_mode):
    asked = comparison_of("a")
    asked = replace(asked, workload=replace(asked.workload, function="mine:step"))
    with pytest.raises(
        GaudiError, match=r"mine cannot be imported: .* no module mine; .* \(gaudi_compare_environment\)"
    ):
        compare(asked, node, FlagTarget(node.venv), nothing_to_run, check_mode=check_mode)
    there = replace(node, environment={"PYTHONPATH": str(own), "COLOR": "blue"})
    compare(asked, there, FlagTarget(node.venv), nothing_to_run, check_mode=check_mode)
    assert [environment["COLOR"] for _name, _size, environment in trials[0]] == ["blue"] * (not check_mode)


def test_a_flag_that_nothing_reads_is_refused_before_anything_runs(node, trials):
    asked = comparison_of(settings=[Setting("a", {"PT_HPU_ENABLE_ADVANCED_FUSION": "1"})])
    with pytest.raises(GaudiError, match=r"^a: PT_HPU_ENABLE_ADVANCED_FUSION "):
        compare(asked, node, FlagTarget(node.venv), nothing_to_run)
    assert trials[0] == []


def test_a_variable_of_the_launcher_is_refused_and_a_plain_one_is_told(node, trials):
    with pytest.raises(GaudiError, match=r"^a: RANK must not be set"):
        compare(comparison_of(settings=[Setting("a", {"RANK": "1"})]), node, FlagTarget(node.venv), nothing_to_run)
    asked = comparison_of(settings=[Setting("a", {"OMP_NUM_THREADS": "1"})])
    result = compare(asked, node, FlagTarget(node.venv), nothing_to_run)
    assert result["verdicts"][0]["plain"] == ["OMP_NUM_THREADS"]


def test_a_setting_that_fails_is_its_own_verdict(node, trials):
    trials[1]["b"] = "out_of_memory"
    result = whole(comparison_of("a", "b", rounds=3), node)
    assert {one["name"]: one["verdict"] for one in result["verdicts"]} == {"a": "helps", "b": "failed"}


def test_a_device_that_a_setting_left_unusable_is_told_with_its_name(node, trials):
    trials[1]["b"] = "crash"
    asked = comparison_of("b", rounds=3)
    result = {"next": {"name": BASE}}
    while trials[0][-1:] == [] or trials[0][-1][0] != "b":
        result = compare(asked, node, FlagTarget(node.venv), nothing_to_run)
    trials[1][BASE] = "crash"
    with pytest.raises(GaudiError, match=r"^b crashed .* since then the base does not run either .* left unusable"):
        compare(asked, node, FlagTarget(node.venv), nothing_to_run)
    # The card was reset: the base is asked again, and the setting that broke it is not.
    trials[1].pop(BASE)
    tried = len(trials[0])
    result = whole(asked, node)
    assert result["verdicts"][0]["verdict"] == "failed"
    assert [name for name, _size, _environment in trials[0][tried:]] == [BASE]


@pytest.mark.parametrize(
    ("outcome", "sentence"),
    [
        ("workload_error", "The base cannot be run: it broke"),
        ("out_of_memory", "The base runs out of memory at batch size 4"),
        ("hang", "The base did not finish within 30 s"),
        ("crash", "The base crashed: it broke"),
    ],
)
def test_a_base_that_does_not_run_ends_it(node, trials, outcome, sentence):
    trials[1][BASE] = outcome
    with pytest.raises(GaudiError, match=sentence):
        compare(comparison_of("a"), node, FlagTarget(node.venv), nothing_to_run)
    assert len(trials[0]) == 1


def test_a_damaged_file_is_put_aside_and_told(node, trials):
    asked = comparison_of("a", rounds=3)
    path = Path(whole(asked, node)["state_file"])
    path.write_text('{"runs": [{"round": "1"}]}')
    result = compare(asked, node, FlagTarget(node.venv), nothing_to_run)
    assert "is damaged" in result["remarks"][0]
    assert len(list(path.parent.glob("*.bak"))) == 1


def test_a_regression_is_measured_anew_and_named(node, trials):
    asked = comparison_of("a", rounds=3)
    first = whole(asked, node)
    count = len(trials[0])
    content = {"hosts": {"n1": {"fields": first["fields"], "settings": first["settings"], "rates": first["rates"]}}}
    same = whole(asked, node, baseline=read_baseline(content, "/x/base.json", "n1", 0.05))
    assert len(trials[0]) == 2 * count
    assert same["regressions"] == []
    content["hosts"]["n1"]["rates"]["base"] = [rate * 2 for rate in first["rates"]["base"]]
    slower = whole(asked, node, baseline=read_baseline(content, "/x/base.json", "n1", 0.05))
    assert len(slower["regressions"]) == 1
    assert slower["regressions"][0].startswith("base is 5")


def test_a_baseline_of_another_question_is_refused_before_anything_runs(node, trials):
    first = whole(comparison_of("a", rounds=3), node)
    count = len(trials[0])
    content = {"hosts": {"n1": {"fields": {**first["fields"], "device": "hpu"}, "settings": {}, "rates": {}}}}
    with pytest.raises(GaudiError, match="made with device hpu, and this run has cpu"):
        whole(comparison_of("a", rounds=3), node, baseline=read_baseline(content, "/x/base.json", "n1", 0.05))
    assert len(trials[0]) == count


def test_a_neighbor_on_the_card_is_told(node, trials, monkeypatch):
    shared = Trial(4, "ok", 100, 1.0, limit_bytes=100 << 30, used_by_others_bytes=8 << 30)
    monkeypatch.setattr(core, "run_trial", lambda *_arguments, **_options: shared)
    remarks = whole(comparison_of("a", rounds=3), node)["remarks"]
    assert len(remarks) == 1
    assert remarks[0].startswith("Other processes used up to 8.00 GiB of the card's memory before 7 of the runs")
