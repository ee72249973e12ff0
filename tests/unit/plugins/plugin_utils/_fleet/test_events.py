# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Five hundred and twelve hosts without Ansible: what the screen says of events that it makes of them."""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.events import Events, warnings_of
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.order import is_cleaning_up, is_rescued, selects
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.screen import Screen

ROOT = Path(__file__).resolve().parents[5]
COLUMNS = 79


class Shown:
    """Ansible's display as the screen uses it."""

    columns = COLUMNS

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.warnings: list[str] = []
        self._lock = threading.RLock()

    def display(self, text: str, color: str | None = None) -> None:
        self.lines += text.split("\n")

    def warning(self, text: str) -> None:
        self.warnings.append(text)


def host(name: str, **variables: str) -> Any:
    return SimpleNamespace(get_name=lambda: name, vars=variables)


def block(*tasks: Any, rescue: Sequence[Any] = (), always: Sequence[Any] = (), parent: Any = None) -> Any:
    made = SimpleNamespace(block=list(tasks), rescue=list(rescue), always=list(always), _parent=parent, _uuid=object())
    for one in (*tasks, *rescue, *always):
        one._parent = made
    return made


def task(name: str, **more: Any) -> Any:
    known = {
        "action": "ansible.builtin.command",
        "any_errors_fatal": False,
        "delegate_to": None,
        "ignore_unreachable": False,
        "implicit": False,
        "run_once": False,
        "tags": [],
        "loop": None,
        "_role": None,
    }
    return SimpleNamespace(get_name=lambda: name, _uuid=object(), _parent=None, **{**known, **more})


def play(*tasks: Any, hosts: Sequence[Any], name: str = "Driver", **more: Any) -> Any:
    inventory = SimpleNamespace(get_hosts=lambda _pattern, ignore_restrictions=False: hosts)
    known = {"strategy": "linear", "serial": [], "only_tags": ["all"], "skip_tags": []}
    return SimpleNamespace(
        get_name=lambda: name,
        get_variable_manager=lambda: SimpleNamespace(_inventory=inventory),
        compile=lambda: [block(*tasks)],
        hosts="all",
        _uuid=object(),
        **{**known, **more},
    )


def result(task: Any, host: Any, *, is_changed: bool = False, **said: Any) -> Any:
    return SimpleNamespace(_task=task, _host=host, _result=said, is_changed=lambda: is_changed)


def stats(**hosts: dict[str, int]) -> Any:
    return SimpleNamespace(processed=hosts, summarize=lambda name: hosts[name])


@pytest.fixture
def shown() -> Shown:
    return Shown()


@pytest.fixture
def events(shown: Shown) -> Events:
    return Events(Screen(shown, is_live=False, is_silent=False), is_check=False)


@pytest.mark.parametrize("number", [2, 512])
def test_hosts_that_share_an_outcome_share_its_lines(shown: Shown, events: Events, number: int) -> None:
    hosts = [host(f"node{place:03}", ansible_host=f"10.1.{place // 256}.{place % 256}") for place in range(number)]
    first, second = task("gaudi_driver : Read it"), task("gaudi_driver : Install it")
    whole = play(first, second, hosts=hosts)
    events.begin(SimpleNamespace(get_plays=lambda: [whole]))
    events.play(whole)
    for one in (first, second):
        events.task(one)
        for place, node in enumerate(hosts):
            if one is second and place == 0:
                events.unreachable(result(one, node, msg=f"connect to host {node.vars['ansible_host']}: refused"))
            else:
                events.ok(result(one, node, is_changed=one is second))
    counts = {one.get_name(): {"ok": 2, "changed": 1} for one in hosts[1:]}
    events.end(stats(**counts, node000={"ok": 1, "unreachable": 1}))
    ok = "node001" if number == 2 else "node[001-511]"
    wide = max(len(ok), len("node000"))
    digits = len(str(number - 1))
    assert shown.lines == [
        "",
        f"PLAY Driver: {number} hosts",
        "gaudi_driver : Read it (next: Install it)",
        f"    {number} ok",
        "gaudi_driver : Install it",
        "    UNREACHABLE node000: connect to host 10.1.0.0: refused",
        f"    1 unreachable, {number - 1} changed",
        "",
        f"RESULT of {number} hosts: 1 unreachable, {number - 1} changed",
        f"UNREACHABLE  {1:>{digits}}  {'node000':<{wide}}  connect to host 10.1.0.0: refused",
        f"changed      {number - 1}  {ok:<{wide}}  ok=2 changed=1",
        "See docs/first_day.md in https://github.com/gaudi3-scale/gaudi3.scale",
    ]


def test_each_failure_leads_to_the_page_of_its_role_or_module_and_three_are_enough(
    shown: Shown, events: Events
) -> None:
    nodes = [host(f"n{number}") for number in range(6)]
    roles = [None, *(SimpleNamespace(get_name=lambda name=name: name) for name in ("gaudi3.scale.gaudi_batch", "mine"))]
    flags, batch, foreign = (
        task("It", _role=role, action=action)
        for role, action in zip(roles, ("gaudi3.scale.hpu_flags", "ansible.builtin.assert", "gaudi3.scale.rollout"))
    )
    other = task("It", action="ansible.builtin.command")
    events.play(play(flags, hosts=nodes))
    for place, one in enumerate((flags, batch, batch, foreign, other)):
        events.failed(result(one, nodes[place], msg=f"why {place}"), is_ignored=False)
    events.unreachable(result(batch, nodes[5], msg="No route"))
    events.end(stats(**{f"n{place}": {"failures": 1} for place in range(5)}, n5={"unreachable": 1}))
    pages = [line.split()[1] for line in shown.lines if line.startswith("See ")]
    assert pages == ["docs/batch.md", "docs/flags.md", "docs/upgrade.md"]


def test_the_page_shows_what_is_printed(shown: Shown, events: Events) -> None:
    hosts = [host(f"node{place:03}") for place in range(1, 513)]
    role = SimpleNamespace(get_name=lambda: "gaudi3.scale.gaudi_driver")
    read, install, load = (
        task(f"gaudi_driver : {name}", _role=role) for name in ("Read the driver", "Install the driver", "Load it")
    )
    events.play(play(read, install, load, hosts=hosts))
    no_route = "ssh: connect to host {} port 22: No route to host"
    no_space = "no space left on /boot: 12 MiB are free and 80 MiB are needed; remove old kernels"
    away, full = {hosts[16].get_name(), hosts[202].get_name()}, hosts[43].get_name()
    events.task(read)
    for node in hosts:
        name = node.get_name()
        if name in away:
            events.unreachable(result(read, node, msg=no_route.format(name)))
        else:
            events.ok(result(read, node))
    events.task(install)
    for node in hosts:
        if node.get_name() == full:
            events.failed(result(install, node, msg=no_space), is_ignored=False)
        elif node.get_name() not in away:
            events.ok(result(install, node, is_changed=True))
    counts = {node.get_name(): {"ok": 2, "changed": 1} for node in hosts} | {full: {"ok": 1, "failures": 1}}
    events.end(stats(**counts | {name: {"unreachable": 1} for name in away}))
    assert "\n".join(shown.lines[1:]) in (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")


def test_five_hundred_different_failures_are_two_screens(shown: Shown, events: Events) -> None:
    """One while the task runs, and the table; every line fits, and no escape of a node passes."""
    drawn = random.Random(48)
    hosts = [host(f"rack{place % 16:02}-node{place:03}") for place in range(512)]
    only = task("Look")
    events.play(play(only, hosts=hosts))
    events.task(only)
    for place, node in enumerate(hosts):
        words = f"\x1b[2J\r{place} " + "".join(drawn.choices("abc \t\u202e\x07節", k=drawn.randint(0, 3000)))
        events.failed(result(only, node, msg=words), is_ignored=False)
    events.end(stats(**{one.get_name(): {"failures": 1} for one in hosts}))
    end = next(place for place, line in enumerate(shown.lines) if line.startswith("RESULT"))
    assert len(shown.lines[end - 1 :]) <= 40
    assert shown.lines[-1] == "and 485 more kinds on 485 hosts"
    assert len(shown.lines[:end]) <= 5 * 8 + 10 + 6
    assert all(line.isprintable() for line in shown.lines)
    wide = [sum(2 if one == "節" else 1 for one in line) for line in shown.lines]
    assert max(wide) <= COLUMNS


def test_words_of_hosts_stand_once_and_many_are_counted(shown: Shown, events: Events) -> None:
    hosts = [host(f"n{place}") for place in range(20)]
    said, own = task("Say"), task("Say more")
    events.play(play(said, own, hosts=hosts))
    for one in (said, own):
        events.task(one)
        for node in hosts:
            events.ok(result(one, node), "the same\nfor all" if one is said else node.get_name())
            events.warned(result(one, node), ["careful"] if one is said else [])
            events.diff(result(one, node), "--- before\n+++ after" if one is said else "")
    events.end(stats())
    assert shown.lines[3:9] == [
        "    all 20 hosts: the same",
        "        for all",
        "    all 20 hosts:",
        "--- before",
        "+++ after",
        "    20 ok",
    ]
    assert shown.lines[10] == "    n0: n0"
    assert shown.lines[20] == "    and other words of 10 more hosts; -v shows them"
    assert shown.warnings == ["n[0-19]: careful"]


def test_hosts_that_do_not_wait_for_others_have_their_tasks_by_name(shown: Shown, events: Events) -> None:
    hosts = [host("n1"), host("n2")]
    first, second = task("First"), task("Second")
    events.play(play(first, second, hosts=hosts, strategy="ansible.builtin.free"))
    events.task(first)
    events.ok(result(first, hosts[0]))
    events.task(second)
    events.task(first)
    events.ok(result(first, hosts[1]))
    events.skipped(result(second, hosts[0]))
    events.end(stats())
    assert shown.lines[2:5] == ["First (next: Second)", "Second", "First: 2 ok"]


def test_a_task_that_no_host_begins_is_counted_where_it_fails(shown: Shown, events: Events) -> None:
    """As a file that cannot be included: Ansible tells of the failure alone."""
    hosts = [host("n1")]
    include = task("Include it", statically_loaded=False)
    events.play(play(include, hosts=hosts))
    events.task(include)
    events.ok(result(include, hosts[0]))
    events.item(result(include, hosts[0]))
    assert shown.lines[2:] == []
    events.failed(result(include, hosts[0], reason="no file"), is_ignored=False)
    events.end(stats(n1={"failures": 1}))
    assert shown.lines[2:5] == ["Include it", "    FAILED n1: no file", "    1 failed"]


def test_a_silent_screen_prints_the_table_alone(shown: Shown) -> None:
    """Where Ansible's own callback shows the run."""
    events = Events(Screen(shown, is_live=False, is_silent=True), is_check=True)
    hosts = [host("n1")]
    only = task("Look")
    events.play(play(only, hosts=hosts))
    events.task(only)
    events.failed(result(only, hosts[0], msg="no disk"), is_ignored=False)
    events.end(stats(n1={"failures": 1}))
    assert shown.lines == ["", "RESULT of 1 host in check mode: 1 failed", "FAILED       1  n1  no disk"]


def test_where_a_delegated_task_failed_is_said(shown: Shown, events: Events) -> None:
    hosts = [host("n1")]
    there = task("Ask", delegate_to="monitor\x1b1")
    events.play(play(there, hosts=hosts))
    events.task(there)
    events.failed(result(there, hosts[0], msg="no answer"), is_ignored=False)
    assert shown.lines[3] == "    FAILED n1: on monitor 1: no answer"


def test_a_failure_that_ends_the_play_for_all_stops_those_that_had_more_to_do(shown: Shown, events: Events) -> None:
    hosts = [host("n1"), host("n2")]
    fatal, last = task("Fatal", any_errors_fatal=True), task("Last")
    events.play(play(fatal, last, hosts=hosts))
    events.task(fatal)
    events.failed(result(fatal, hosts[0], msg="no disk"), is_ignored=False)
    events.ok(result(fatal, hosts[1]))
    events.end(stats(n1={"failures": 1}, n2={"ok": 1}))
    assert shown.lines[-1] == "STOPPED      1  n2  with the others, at: Fatal"
    # A template may have said that it is not fatal; then another task begins.
    events.task(last)
    events.ok(result(last, hosts[1]))
    events.end(stats(n1={"failures": 1}, n2={"ok": 2}))
    assert shown.lines[-1] == "ok           1  n2  ok=2 changed=0"


@pytest.mark.parametrize(
    ("tags", "only", "skipped", "is_played"),
    [
        ([], ["all"], [], True),
        (["never"], ["all"], [], False),
        (["never", "driver"], ["driver"], [], True),
        ([], ["driver"], [], False),
        (["always"], ["driver"], [], True),
        (["always"], ["driver"], ["always"], False),
        (["driver"], ["tagged"], [], True),
        ([], ["tagged"], [], False),
        ([], ["untagged"], [], True),
        (["driver"], ["all"], ["driver"], False),
        (["driver"], ["all"], ["tagged"], False),
        ([], ["all"], ["untagged"], False),
        (["always"], ["all"], ["all"], True),
        (["driver"], ["all"], ["all"], False),
    ],
)
def test_what_comes_next_is_what_tags_select(tags: list[str], only: list[str], skipped: list[str], is_played) -> None:
    assert selects(tags, only, skipped) == is_played


def test_a_task_knows_whether_a_rescue_waits_for_it() -> None:
    inner, rescue, always = task("inner"), task("rescue"), task("always")
    around = block(inner, rescue=[rescue], always=[always])
    assert [is_rescued(one) for one in (inner, rescue, always)] == [True, False, False]
    assert [is_cleaning_up(one) for one in (inner, rescue, always)] == [False, True, True]
    block(around, rescue=[task("outer")])
    assert is_rescued(rescue)
    assert not is_rescued(task("alone"))


def test_warnings_are_texts_in_each_ansible() -> None:
    older = SimpleNamespace(_result={"warnings": ["one\nline"]})
    newer = SimpleNamespace(warnings=[SimpleNamespace(event=SimpleNamespace(msg="two"))])
    assert warnings_of(older) == ["one line"]
    assert warnings_of(newer) == ["two"]
    assert warnings_of(SimpleNamespace(_result={})) == []
