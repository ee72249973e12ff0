# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from types import SimpleNamespace

import pytest
from ansible.plugins.action import ActionBase
from ansible_collections.gaudi3.scale.plugins.action.hpu_compare_settings import ActionModule
from ansible_collections.gaudi3.scale.plugins.plugin_utils import _step_by_step as step_by_step
from ansible_collections.gaudi3.scale.tests.unit.module_answers import comparison_answer as answer

ASKED = {"base": {"batch_size": 8}, "settings": [{"name": "a", "flags": {"A": "1"}}]}


@pytest.fixture
def play(monkeypatch):
    """Answers of the module, one for each call; gives the arguments of the calls, and what was shown."""
    shown = []

    class Screen:
        def display(self, line):
            shown.append(line.strip())

        def warning(self, line):
            shown.append(f"warning: {line}")

    def run(answers, check_mode=False, **arguments):
        calls = []
        waiting = iter(answers)

        def execute(module_name, module_args, task_vars):
            assert module_name == "gaudi3.scale.hpu_compare_settings"
            calls.append(dict(module_args))
            return next(waiting)

        plugin = object.__new__(ActionModule)
        plugin._task = SimpleNamespace(
            args={**ASKED, **arguments}, check_mode=check_mode, action="gaudi3.scale.hpu_compare_settings", _role=None
        )
        plugin._execute_module = execute
        return plugin.run(task_vars={"inventory_hostname": "n1"}), calls, shown

    monkeypatch.setattr(ActionBase, "run", lambda *_arguments, **_options: {})
    monkeypatch.setattr(step_by_step, "Display", Screen)
    return run


def test_each_run_is_a_call_with_a_line_until_none_is_left(play):
    following = {"round": 1, "name": "a"}
    result, calls, shown = play([answer(1, following), answer(2, following), answer(3, None)], rounds="4", refresh=True)
    assert (len(calls), len(result["runs"])) == (3, 3)
    # Only the first call forgets what is known.
    assert [call["refresh"] for call in calls] == [True, False, False]
    assert shown == [
        "n1: run 1, not counted: base 500 ms a step",
        "n1: run 2, round 1 of at most 4: base 500 ms a step",
        "n1: run 3, round 2 of at most 4: base 500 ms a step",
    ]


def test_what_was_cut_off_is_told_before_it_goes_on(play):
    _result, _calls, shown = play([answer(6, None, remarks=["the file was damaged"])])
    assert shown[:2] == ["warning: n1: the file was damaged", "n1: resuming after 5 runs from earlier runs"]


def test_a_failure_ends_it(play):
    result, calls, _shown = play([{"failed": True, "msg": "no venv"}])
    assert (result["msg"], len(calls)) == ("no venv", 1)


@pytest.mark.parametrize("check_mode", [True, False])
def test_nothing_is_run_where_all_is_known_or_in_check_mode(play, check_mode):
    _result, calls, shown = play([answer(3, None, cached=not check_mode)], check_mode=check_mode)
    assert (len(calls), shown) == (1, [])
