# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A rank, a node and a report's rows against the operator's terminal."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from ansible.plugins.action import ActionBase
from ansible_collections.gaudi3.scale.plugins.action import report as report_action
from ansible_collections.gaudi3.scale.plugins.action import training_job_follow
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.metrics import metric_line
from ansible_collections.gaudi3.scale.plugins.plugin_utils import _task_answer as task_answer

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp.exe\nPLAY RECAP ****\nn1 : ok=9"


@pytest.fixture
def screen(monkeypatch):
    """What Ansible would print."""
    lines = []

    class Display:
        def display(self, text, **_more):
            lines.append(text)

    for module in (report_action, task_answer):
        monkeypatch.setattr(module, "Display", Display)
    return lines


def held(lines):
    text = "\n".join(lines)
    assert not set(text) & set("\x1b\x07\x9b\u202e\r")
    assert not any(line.startswith(("PLAY", "n1 :")) for line in text.split("\n"))


def test_words_of_a_rank(screen):
    for metric in ({"kind": EVIL}, {"kind": "note", "message": EVIL}, {"kind": "step", "step": EVIL, "loss": EVIL}):
        task_answer.show(metric_line(metric))
    task_answer.show(EVIL)
    held(screen)


def test_rows_and_notes_of_a_report(screen):
    part = {"title": f"Verdict {EVIL}", "rows": [{"node": EVIL, "said": [EVIL]}], "columns": ["node", "said"]}
    screen.append(report_action._lines({**part, "notes": [EVIL]}))
    held(screen)


def test_what_a_hostile_node_answers_ends_in_a_sentence(screen, monkeypatch):
    """Whatever the answer has in place of what is meant: the task fails with one, and does not break."""

    def follow(action, _variables):
        raise KeyError(EVIL)

    class Action(training_job_follow.ActionModule):
        _task = SimpleNamespace(action="gaudi3.scale.training_job_follow", _role=None)

        def __init__(self):
            pass

    monkeypatch.setattr(Action, "_follow", follow)
    monkeypatch.setattr(ActionBase, "run", lambda *_: {})
    result = Action().run(task_vars={})
    assert result["failed"]
    assert result["msg"].startswith("this is a bug of gaudi3.scale: KeyError in ")
    monkeypatch.setattr(Action, "_follow", lambda *_: {"failed": True, "msg": EVIL})
    held([Action().run(task_vars={})["msg"]])
    json.dumps(result)
