# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The controller says who has a node's package manager, soon and again, and ends with how long it has waited."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._package_lock import seconds, when_free

HELD = {
    "failed": True,
    "msg": "The package manager of this node is at work.",
    "lock_holder": {"program": "unattended-upgr", "pid": 5043, "file": "/var/lib/dpkg/lock-frontend"},
}


class Node:
    """A module that finds the lock held for so many calls, each of which takes six seconds."""

    def __init__(self, calls: int, answer: dict[str, Any] | None = None) -> None:
        self.left, self.answer, self.now = calls, answer or HELD, 0.0
        self.said: list[tuple[float, str]] = []

    def execute(self) -> dict[str, Any]:
        self.now += 6.0
        self.left -= 1
        return self.answer if self.left >= 0 else {"changed": True}

    def sleep(self, duration: float) -> None:
        self.now += duration

    def play(self, limit: float = 300.0) -> dict[str, Any]:
        def say(line: str) -> None:
            self.said.append((self.now, line))

        return when_free("node1", limit, self.execute, clock=lambda: self.now, sleep=self.sleep, say=say)


def test_who_it_is_shows_within_seconds_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(6)
    assert node.play() == {"changed": True}
    assert node.said == [
        (6.0, "node1: unattended-upgr (process 5043) is using the node's package manager; waiting, 6 of 300 s"),
        (39.0, "node1: unattended-upgr (process 5043) is using the node's package manager; waiting, 39 of 300 s"),
    ]


def test_the_last_message_says_how_long(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(1000)
    done = node.play(60.0)
    assert done["failed"]
    assert done["msg"] == "The package manager of this node is at work. The run waited for this node 61 s."
    assert 55.0 <= node.now <= 70.0


def test_without_time_to_wait_nobody_waits() -> None:
    node = Node(1000)
    assert node.play(0.0)["failed"]
    assert node.now == 6.0
    assert node.said == []


@pytest.mark.parametrize(
    "answer", [{"failed": True, "msg": "no"}, {"changed": False}, {"changed": False, "lock_holder": {"pid": 1}}]
)
def test_any_other_answer_is_the_answer(answer: dict[str, Any]) -> None:
    node = Node(1, answer)
    assert node.play() == answer
    assert node.said == []


def test_what_a_node_says_of_the_holder_is_text() -> None:
    node = Node(1, {**HELD, "lock_holder": {"program": "x\x1b[2J\ny", "pid": "{{ 1 }}"}})
    node.play()
    assert "x [2J y (process {{ 1 }}) is using" in node.said[0][1]
    strange = Node(1, {**HELD, "lock_holder": "me"})
    strange.play()
    assert "unknown (process unknown)" in strange.said[0][1]


@pytest.mark.parametrize(("given", "limit"), [(None, 300.0), ("60", 60.0), (0, 0.0), ("soon", 0.0), ([], 0.0)])
def test_the_time_is_the_options(given: Any, limit: float) -> None:
    assert seconds(given) == limit
