# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from types import SimpleNamespace

import pytest
from ansible.plugins.action import ActionBase
from ansible_collections.gaudi3.scale.plugins.action import hpu_batch_probe
from ansible_collections.gaudi3.scale.plugins.plugin_utils import _step_by_step as step_by_step
from ansible_collections.gaudi3.scale.tests.unit.module_answers import probe_answer as answer
from ansible_collections.gaudi3.scale.tests.unit.module_call import call


@pytest.fixture
def run(monkeypatch):
    """Runs the action over a module that gives these results; returns its result, the lines shown, the arguments."""
    shown, asked = [], []
    screen = SimpleNamespace(display=shown.append, warning=lambda text: shown.append(f"warning {text}"))
    monkeypatch.setattr(step_by_step, "Display", lambda: screen)
    monkeypatch.setattr(ActionBase, "run", lambda *_: {})

    def do(*results, check_mode=False, **arguments):
        action = hpu_batch_probe.ActionModule.__new__(hpu_batch_probe.ActionModule)
        action._task = SimpleNamespace(
            args=arguments, check_mode=check_mode, action="gaudi3.scale.hpu_batch_probe", _role=None
        )
        story = iter(results)

        def execute(module_name, module_args, task_vars):
            asked.append(dict(module_args))
            return next(story)

        action._execute_module = execute
        return action.run(task_vars={"inventory_hostname": "n1"}), shown, asked

    return do


def test_each_trial_is_shown_and_only_the_first_call_forgets(run):
    result, shown, asked = run(answer(None, 8), answer(16, 8, 16), refresh=True, maximum=64)
    assert result["batch_size"] == 16
    assert shown == [
        "  n1: trial 1: batch size 8 ran: 8 of 64 MiB, 500 ms a step, 16 samples/s; next 16: twice the size",
        "  n1: trial 2: batch size 16 ran: 16 of 64 MiB, 500 ms a step, 32 samples/s",
    ]
    assert asked == [{"refresh": True, "maximum": 64}, {"refresh": False, "maximum": 64}]


def test_what_an_interrupted_run_left_is_told(run):
    _result, shown, _asked = run(answer(16, 2, 8, 16))
    assert shown[0] == "  n1: resuming after 2 trials from earlier runs"


def test_a_known_answer_is_one_call_and_silent(run):
    result, shown, asked = run(answer(16, 8, 16, cached=True))
    assert (result["batch_size"], shown, len(asked)) == (16, [], 1)


def test_a_failure_ends_it_with_the_modules_own_words(run):
    result, _shown, asked = run(answer(None, 8), {"failed": True, "msg": "boom"})
    assert (result["failed"], result["msg"], len(asked)) == (True, "boom", 2)


def test_in_check_mode_the_module_is_asked_once(run):
    _result, shown, asked = run(answer(None), check_mode=True)
    assert (shown, len(asked)) == ([], 1)


def test_a_remark_is_a_warning_once_and_stays_in_the_result(run):
    result, shown, _asked = run(answer(None, 8, remarks=["damaged"]), answer(16, 8, 16, remarks=["damaged"]))
    assert [line for line in shown if line.startswith("warning")] == ["warning n1: damaged"]
    assert result["remarks"] == ["damaged"]


def test_the_module_on_a_bare_node_knows_nothing_and_changes_nothing(tmp_path):
    options = {"state_directory": str(tmp_path / "state"), "venv": str(tmp_path / "venv"), "device": "cpu"}
    result, status = call("hpu_batch_probe", check_mode=True, multiple_of=8, memory_limit="2GiB", **options)
    assert (status, result["batch_size"], result["next"]["batch_size"]) == (0, None, 8)
    assert result["fields"]["memory limit"] == f"{2 << 30} bytes"
    assert not (tmp_path / "state").exists()
    failed, _status = call("hpu_batch_probe", **options)
    assert "venv/bin/python is missing; install the training stack first" in failed["msg"]
    assert failed["key"]


def test_the_module_refuses_in_one_sentence():
    result, status = call("hpu_batch_probe", global_batch=10, world_size=4)
    assert (status, result["failed"], result["msg"]) == (
        1,
        True,
        "A global batch of 10 cannot be divided evenly by 4 cards; use 8 or 12.",
    )
