# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The table of a run: who is out first, equal ends in one line, and one screen whatever the fleet."""

from __future__ import annotations

import random

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.final_table import Ended, table, title
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.fleet import Fleet
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.tally import FAILED, STOPPED, UNREACHABLE, Trouble

WIDTH = 79
# With the empty line and the title.
MOST_LINES = 40


def text_of(ended: list[Ended]) -> list[str]:
    return [text for _state, text in table(ended, WIDTH)]


def test_who_is_out_comes_first_and_the_most_common_of_them() -> None:
    disk, ssh = Trouble(FAILED, "no disk on n7", "no disk on HOST"), Trouble(UNREACHABLE, "No route", "No route")
    ended = [
        *(Ended(f"n{number}", "ok", {"ok": 20 + number % 3}) for number in range(20, 24)),
        Ended("n1", UNREACHABLE, {}, ssh),
        *(Ended(f"n{number}", FAILED, {}, disk) for number in (7, 8)),
        Ended("n9", FAILED, {}, Trouble(FAILED, "no GPU on n9", "no GPU on HOST")),
        Ended("n30", "changed", {"ok": 25, "changed": 3, "ignored": 1}),
        Ended("n31", STOPPED, {}, Trouble(STOPPED, "with the others", "with the others")),
        Ended("n40", "not run", {}),
    ]
    assert text_of(ended) == [
        "FAILED       2  n[7-8]    no disk on HOST",
        "UNREACHABLE  1  n1        No route",
        "FAILED       1  n9        no GPU on n9",
        "STOPPED      1  n31       with the others",
        "not run      1  n40       the run ended before them",
        "changed      1  n30       ok=25 changed=3 ignored=1",
        "ok           4  n[20-23]  ok=20-22 changed=0",
    ]
    assert title(ended, " in check mode") == (
        "RESULT of 11 hosts in check mode: 1 unreachable, 3 failed, 1 stopped, 1 not run, 1 changed, 4 ok"
    )


def test_a_run_of_nothing_says_so() -> None:
    assert title([], "") == "RESULT of 0 hosts: nothing was run"
    assert table([], WIDTH) == []


@pytest.mark.parametrize("hosts", [2, 8, 64, 512])
def test_one_screen_is_enough_whatever_fails(hosts: int) -> None:
    """Each host that fails has words of its own, at each length and with each name."""
    drawn = random.Random(hosts)
    states = [FAILED, UNREACHABLE, STOPPED, "not run", "ok", "changed"]
    ended = []
    for number in range(hosts):
        state = drawn.choice(states[:2] if drawn.random() < 0.8 else states)
        words = " ".join(drawn.choices(["disk", "card", "節点", "refused"], k=drawn.randint(1, 80)))
        trouble = Trouble(state, words, words) if state in states[:3] else None
        ended.append(Ended(f"rack{number % 16}-node{number:03}.site.example.org", state, {"ok": number}, trouble))
    lines = ["", title(ended, " in check mode"), *text_of(ended)]
    assert len(lines) <= MOST_LINES
    assert all(len(line.encode("utf-16-le")) // 2 <= 80 for line in lines[2:])


def test_kinds_that_have_no_line_are_counted() -> None:
    ended = [Ended(f"n{number}", FAILED, {}, Trouble(FAILED, f"it{number}", f"it{number}")) for number in range(500)]
    ended += [Ended("m1", FAILED, {}, Trouble(FAILED, "common", "common"))] * 2
    lines = text_of([*ended, Ended("m2", "ok", {"ok": 1})])
    assert lines[0].split() == ["FAILED", "2", "m1", "common"]
    assert lines[-2:] == ["and 474 more kinds on 474 hosts", "ok           1  m2   ok=1 changed=0"]


def test_ansible_s_own_counts_decide_who_is_out() -> None:
    """A failure that was rescued, and one that the run never told of."""
    fleet = Fleet()
    fleet.play(["a", "b", "c", "d"], ["a", "b", "c", "d", "e"])
    for host in ("a", "b"):
        fleet.trouble(host, Trouble(FAILED, "no disk", "no disk"))
    assert fleet.out() == "2 FAILED"
    assert fleet.hosts() == 2
    ended = {
        one.host: one
        for one in fleet.ended({"a": {"failures": 1}, "b": {"rescued": 1}, "c": {"failures": 1}, "d": {"changed": 1}})
    }
    assert {host: one.state for host, one in ended.items()} == {
        "a": FAILED,
        "b": "ok",
        "c": FAILED,
        "d": "changed",
        "e": "not run",
    }
    assert ended["a"].trouble == Trouble(FAILED, "no disk", "no disk")
    assert ended["c"].trouble is not None


def test_hosts_are_stopped_with_others_unless_the_run_goes_on() -> None:
    fleet = Fleet()
    fleet.play(["a", "b"], ["a", "b"])
    fleet.stop("1", "Install")
    # It does the same task, and then another one.
    fleet.goes_on("a", "1")
    fleet.goes_on("b", "2")
    assert [one.state for one in fleet.ended({"a": {"ok": 1}, "b": {"ok": 1}})] == [STOPPED, "ok"]
