# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A node's tests begun, gone on with, refused, looked at and repeated by a timer."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hpu_facts import gather
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils._node.kernel_modules import Holder
from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.files import Files
from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.plan import Options
from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.schedule import TIMER, Schedule, apply
from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.state import UNIT, How, look, start, stop
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import HlSmi, write_kernel

SCHEDULE = Schedule("present", "Sun 03:00", 3600, "/venv", "/flags")


class Systemd:
    """What is asked of it, and what it answers: ``runs`` while the unit is there."""

    def __init__(self, runs: bool = False, calendar: int = 0) -> None:
        self.runs, self.calendar = runs, calendar
        self.enabled = False
        self.calls: list[str] = []

    def __call__(self, argv: Sequence[str], **_more: Any) -> CommandResult:
        words = " ".join(argv)
        self.calls.append(words)
        if words.startswith("systemctl show"):
            return CommandResult(0, f"ActiveState={'active' if self.runs else 'inactive'}\n", "")
        if argv[0] == "systemd-run":
            self.runs = True
        if words.startswith("systemctl stop"):
            self.runs = False
        if argv[0] == "systemd-analyze":
            return CommandResult(self.calendar, "", "Failed to parse")
        if argv[1] in ("is-enabled", "is-active"):
            return CommandResult(0 if self.enabled else 1, "", "")
        if argv[1] in ("enable", "disable"):
            self.enabled = argv[1] == "enable"
        return CommandResult(0, "", "")

    def said(self, beginning: str) -> list[str]:
        return [call for call in self.calls if call.startswith(beginning)]


class Node:
    def __init__(self, root: Path) -> None:
        self.facts = gather(HlSmi(), str(write_kernel(root / "kernel")))
        self.files, self.run = Files(str(root / "state")), Systemd()
        self.venv = root / "venv"
        for name in ("bin", "lib"):
            (self.venv / name).mkdir(parents=True)
        (self.venv / "bin/python").symlink_to("/bin/sh")

    def start(self, level: str = "quick", holders: Sequence[Holder] = (), **more: Any) -> dict[str, Any]:
        options = Options(level, "1.24.1", 8, "hpu", str(self.venv), "/flags")
        how = How(more.pop("restart", False), more.pop("detach", False))
        about: dict[str, Any] = {"check_mode": False, **more}
        return start(options, self.facts, list(holders), how, run=self.run, files=self.files, **about)

    def end(self, *tests: str, verdict: bool = True) -> None:
        self.run.runs = False
        for test in tests:
            self.files.append_result({"test": test, "state": "passed", "reasons": []})
        if verdict:
            self.files.write(self.files.verdict, {"key": self.files.read(self.files.plan)["key"], "state": "healthy"})

    def look(self) -> dict[str, Any]:
        return look(False, 0, self.run, self.files)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    if os.geteuid():
        pytest.skip("root alone owns what root runs")
    return Node(tmp_path)


def test_it_begins_as_a_unit_that_outlives_the_task(node: Node) -> None:
    assert node.look()["state"] == "absent"
    assert node.start()["changed"]
    (begun,) = node.run.said("systemd-run")
    assert f"--unit {UNIT}" in begun and "EnvironmentFile=-/flags" in begun
    assert begun.endswith(f"{node.venv}/bin/python -I -m gaudi3_scale.qualify --directory {node.files.directory}")
    assert "Nice=19" not in begun
    assert (node.look()["state"], node.look()["total"]) == ("running", 5)
    # The same again changes nothing; another level is refused.
    assert not node.start()["changed"]
    with pytest.raises(GaudiError, match="A qualification of level quick runs on this node"):
        node.start("full")
    assert len(node.run.said("systemd-run")) == 1


def test_a_burn_in_has_the_lowest_priority(node: Node) -> None:
    node.start("burn_in")
    assert "Nice=19" in node.run.said("systemd-run")[0]


def test_what_was_cut_off_goes_on_and_what_has_ended_begins_anew(node: Node) -> None:
    node.start()
    node.end("host", verdict=False)
    assert (node.look()["state"], node.look()["done"]) == ("interrupted", 1)
    node.start()
    assert node.look()["done"] == 1
    node.end("pcie")
    assert node.look()["state"] == "ended"
    node.start()
    assert (node.look()["state"], node.look()["done"]) == ("running", 0)


def test_what_nobody_waited_for_is_taken_once_and_not_measured_again(node: Node) -> None:
    node.start("burn_in", detach=True)
    node.end("host")
    assert not node.start("burn_in")["changed"]
    assert (node.look()["state"], node.look()["done"]) == ("ended", 1)
    # Its end has been seen: the next one is another one.
    assert node.start("burn_in")["changed"]
    assert (node.look()["state"], node.look()["done"]) == ("running", 0)
    node.end("host")
    node.start("burn_in", detach=True)
    node.end("host")
    assert node.start("burn_in", restart=True)["changed"]


def test_what_somebody_has_begun_to_wait_for_meanwhile_is_not_taken_twice(node: Node) -> None:
    node.start("burn_in", detach=True)
    assert not node.start("burn_in")["changed"]
    node.end("host")
    assert node.start("burn_in")["changed"]
    assert (node.look()["state"], node.look()["done"]) == ("running", 0)


def test_another_plan_takes_nothing_over(node: Node) -> None:
    node.start()
    node.end("host", verdict=False)
    node.start("full")
    assert node.look()["done"] == 0


def test_held_cards_are_named_and_nothing_is_begun(node: Node) -> None:
    holders = [Holder(pid, "python", "llama.service", ("accel0",)) for pid in range(1, 6)]
    with pytest.raises(GaudiError, match=r"process 1 \(python\) in llama.service, .* and 2 more, and its tests need"):
        node.start(holders=holders)
    assert not Path(node.files.directory).exists()


def test_check_mode_tells_the_plan_and_does_nothing(node: Node) -> None:
    assert len(node.start(check_mode=True)["plan"]["tests"]) == 5
    assert not Path(node.files.directory).exists() and not node.run.said("systemd-run")


@pytest.mark.parametrize("place", ["", "bin", "lib"])
def test_root_runs_nothing_that_another_account_may_write(place: str, node: Node) -> None:
    (node.venv / place).chmod(0o777)
    with pytest.raises(GaudiError, match="root runs nothing that another account may change; name"):
        node.start()


def test_stopped_keeps_what_was_measured(node: Node) -> None:
    node.start()
    node.files.append_result({"test": "host"})
    assert stop(node.run) and not stop(node.run)
    assert node.look()["done"] == 1


def test_half_a_line_of_a_power_cut_is_no_result(node: Node) -> None:
    node.start()
    node.end("host", verdict=False)
    with Path(node.files.results).open("a") as file:
        file.write('{"test": "pc')
    assert [test["test"] for test in node.files.read_results()] == ["host"]
    node.files.append_result({"test": "pcie"})
    assert [test["test"] for test in node.files.read_results()] == ["host", "pcie"]


def test_the_timer_is_installed_once_and_taken_away(tmp_path: Path) -> None:
    run = Systemd()
    assert apply(SCHEDULE, run, True, str(tmp_path))["changed"]
    assert not (tmp_path / "systemd").exists()
    assert apply(SCHEDULE, run, False, str(tmp_path))["changed"]
    assert "OnCalendar=Sun 03:00" in (tmp_path / "systemd/system" / TIMER).read_text()
    assert not apply(SCHEDULE, run, False, str(tmp_path))["changed"]
    later = Schedule("present", "daily", 3600, "/venv", "/flags")
    assert apply(later, run, False, str(tmp_path))["changed"]
    absent = Schedule("absent", "Sun 03:00", 3600, "/venv", "/flags")
    assert apply(absent, run, False, str(tmp_path))["changed"]
    assert not apply(absent, run, False, str(tmp_path))["changed"]
    assert list((tmp_path / "systemd/system").iterdir()) == []


def test_a_time_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GaudiError, match="on_calendar is 'Sun 03:00', which is not a time"):
        apply(SCHEDULE, Systemd(calendar=1), False, str(tmp_path))
    assert json.dumps(list(tmp_path.iterdir())) == "[]"


@pytest.mark.parametrize("of", ["flags", "venv"])
def test_a_schedule_runs_nothing_that_another_account_may_change(of: str, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("root alone has something to lose")
    (tmp_path / of).mkdir()
    os.chown(tmp_path / of, 65534, 65534)
    named = {"flags": "/flags", "venv": "/venv", of: str(tmp_path / of)}
    with pytest.raises(GaudiError, match=f"{of} is {tmp_path}/{of}, but .* belongs to account 65534"):
        apply(Schedule("present", "daily", 60, named["venv"], named["flags"]), Systemd(), False, str(tmp_path))
    # Taken away, nothing is looked at.
    assert not apply(Schedule("absent", "daily", 60, named["venv"], named["flags"]), Systemd(), False, str(tmp_path))[
        "changed"
    ]


@pytest.mark.parametrize("path", ["/a b/venv", "/100%/venv", "venv", "/$HOME/venv", '/"/venv'])
def test_a_path_that_systemd_reads_otherwise_is_refused(path: str, tmp_path: Path) -> None:
    for options in (Schedule("present", "daily", 60, path, "/flags"), Schedule("present", "daily", 60, "/venv", path)):
        with pytest.raises(GaudiError, match="write an absolute path of letters, digits and"):
            apply(options, Systemd(), False, str(tmp_path))


def test_a_link_is_resolved_once_and_what_was_looked_at_is_run(node: Node, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(node.venv)
    real, node.venv = node.venv, tmp_path / "link"
    node.start()
    assert f"{real}/bin/python -I -m" in node.run.said("systemd-run")[0]


@pytest.mark.parametrize(
    "tests", [5, [5], [None], [{}], {"test": "x"}, "words", None, [[["a"]]], [{"test": {"a": []}}]]
)
def test_a_plan_in_another_form_is_no_traceback(tmp_path: Path, tests: object) -> None:
    Path(tmp_path, "plan.json").write_text(json.dumps({"tests": tests, "level": ["x"], "left_out": 7}))
    planned = Files(str(tmp_path)).planned()
    assert planned == (["{'a': []}"] if tests == [{"test": {"a": []}}] else [])
