# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import time

from ansible_collections.gaudi3.scale.plugins.plugin_utils import _node_questions

TURN = 0.05


class Node:
    """Takes a while, and tells what it was asked with."""

    def __init__(self, _action, node, _task_vars):
        self.node = node

    def module(self, _name, arguments, _timeout):
        if self.node == "away":
            raise _node_questions.UnreachableError("No route to host")
        time.sleep(TURN)
        return dict(arguments)


def ask(monkeypatch, nodes, options, at_once):
    monkeypatch.setattr(_node_questions, "NodeAction", Node)
    question = _node_questions.questions(None, nodes, {}, 10, at_once=at_once)
    return question("a.module", dict.fromkeys(nodes, options))


def test_each_node_gets_the_time_of_its_own_turn(monkeypatch):
    nodes = [f"n{number}" for number in range(5)]
    answers = ask(monkeypatch, nodes, {"controller_time": time.time, "name": "llama"}, at_once=1)
    sent = [answers[node]["controller_time"] for node in nodes]
    assert all(later - earlier >= TURN for earlier, later in zip(sent, sent[1:]))
    assert all(answers[node]["name"] == "llama" for node in nodes)


def test_a_node_that_is_away_stops_no_other(monkeypatch):
    answers = ask(monkeypatch, ["n1", "away", "n2"], {"name": "llama"}, at_once=2)
    assert answers["away"] == {"unreachable": True, "msg": "No route to host"}
    assert [answers[node]["name"] for node in ("n1", "n2")] == ["llama", "llama"]
