# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Gates of different lanes run beside each other, and after what they need."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.gates import runner
from tests.gates.gate import ANY_LANE, LONG_RUN, Gate
from tests.gates.proved import Proof, Standing
from tests.gates.rotation import Queue
from tests.gates.runner import Plan
from tests.gates.summary import summary

# Leaves a file, then waits for another one.
MEET = """
import pathlib, sys, time
pathlib.Path(sys.argv[1]).touch()
deadline = time.monotonic() + 20
while not pathlib.Path(sys.argv[2]).exists():
    if time.monotonic() > deadline:
        sys.exit(1)
    time.sleep(0.01)
"""


@pytest.fixture(autouse=True)
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Not those of the gates that run this test."""
    monkeypatch.setattr(runner, "ROOT", tmp_path)
    monkeypatch.setattr(runner, "LOGS", tmp_path / "logs")
    return tmp_path / "logs"


def meeting(mine: Path, other: Path) -> tuple[tuple[str, ...], ...]:
    return (("python3", "-c", MEET, str(mine), str(other)),)


def run(gates: list[Gate], again_within: float = 0.0, **plan: Any) -> bool:
    """Whether all held; what is said at the end is left in the directory of logs."""
    outcomes = runner.run(gates, Plan(again_until=time.monotonic() + again_within, **plan))
    (runner.LOGS / "summary.txt").write_text(summary(outcomes, "0.0 min", [], [], is_server=False))
    return not any(outcome.is_fault for outcome in outcomes)


def shell(text: str) -> tuple[tuple[str, ...], ...]:
    return (("sh", "-c", text),)


def test_lanes_run_beside_each_other(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    assert run([Gate("one", "", meeting(one, two)), Gate("two", "", meeting(two, one), lane="nodes")])


def test_lanes_without_work_help_in_the_one_that_is_anybodys(tmp_path: Path) -> None:
    """Two of its gates wait for each other, which one lane alone could not do."""
    one, two, done = tmp_path / "one", tmp_path / "two", tmp_path / "done"
    gates = [
        Gate("first", "", meeting(one, two), lane=ANY_LANE),
        Gate("usual", "", shell("true")),
        Gate("second", "", meeting(two, one), lane=ANY_LANE),
        Gate("after", "", shell(f"touch {done}"), lane=ANY_LANE, after=("second",)),
    ]
    assert run(gates)
    assert done.exists()


def test_each_gate_is_told_of_at_its_own_end(tmp_path: Path) -> None:
    """So that a run which is interrupted loses no record: the second one finds what was told of the first."""
    told = tmp_path / "told"
    gates = [Gate("first", "", shell("true")), Gate("second", "", shell(f"test $(cat {told}) = first"))]
    assert run(gates, ended=lambda outcome: told.write_text(outcome.gate.name))
    assert told.read_text() == "second"


def test_a_lane_keeps_its_order(tmp_path: Path) -> None:
    later = tmp_path / "later"
    gates = [Gate("first", "", shell(f"sleep 0.2; test ! -e {later}")), Gate("second", "", shell(f"touch {later}"))]
    assert run(gates)


def test_what_another_lane_makes_is_waited_for(tmp_path: Path) -> None:
    made = tmp_path / "made"
    gates = [
        Gate("maker", "", shell(f"sleep 0.2; touch {made}")),
        Gate("user", "", shell(f"test -e {made}"), needs=("maker",), lane="nodes"),
    ]
    assert run(gates)


def test_what_needs_a_failed_gate_does_not_run_and_the_others_do(logs: Path, tmp_path: Path) -> None:
    gates = [
        Gate("broken", "", shell("echo FAILED because of this; exit 3")),
        Gate("after", "", shell(f"touch {tmp_path / 'after'}"), needs=("broken",), lane="nodes"),
        Gate("other", "", shell(f"touch {tmp_path / 'other'}"), lane="nodes"),
        Gate("absent", "", shell("true"), needs=("not chosen",)),
    ]
    assert not run(gates)
    assert (tmp_path / "other").exists() and not (tmp_path / "after").exists()
    said = (logs / "summary.txt").read_text().splitlines()
    assert [line.split()[:2] for line in said[1:5]] == [
        ["broken", "FAILED"],
        ["after", "not"],
        ["other", "ok"],
        ["absent", "ok"],
    ]
    assert said[5] == "4 gates in 0.0 min"
    assert "broken: FAILED because of this" in said
    assert said[-1] == "2 passed, 2 failed"


# Fails at its first run in a directory, as on a busy machine.
ONCE = """
if [ -e {0} ]; then {1}; exit; fi
touch {0}
echo 'FAILED a deadline'
{2}
exit 1
"""


def counted(tests: int, failures: int = 0) -> str:
    """What leaves a result, as a test runner does."""
    suite = f'<testsuite tests="{tests}" failures="{failures}"/>'
    return f"mkdir -p $GATE_JUNIT; echo '{suite}' > $GATE_JUNIT/0.xml"


def once(path: Path) -> tuple[tuple[str, ...], ...]:
    return shell(ONCE.format(path, counted(2), counted(6, 1)))


def test_what_holds_at_its_second_run_is_unsteady_and_named(logs: Path, tmp_path: Path) -> None:
    gates = [
        Gate("whole", "", once(tmp_path / "whole")),
        Gate("after", "", shell("true"), needs=("whole",)),
        Gate("part", "", once(tmp_path / "part"), failed_again=shell(counted(1))),
    ]
    assert run(gates, again_within=60)
    said = (logs / "summary.txt").read_text().splitlines()
    assert [line.split()[1] for line in said[1:4]] == ["unsteady", "ok", "unsteady"]
    assert "whole: passed when run again: FAILED a deadline" in said
    # All of one, and of the other what failed beside what had passed.
    assert [line.split("s  ")[1] for line in said[1:4:2]] == ["2 passed, 0 failed", "6 passed, 0 failed"]
    assert "FAILED a deadline" in (logs / "whole.log").read_text()
    assert (logs / "whole.again.log").exists()
    assert (logs / "junit/whole.again/0.xml").exists()


@pytest.mark.parametrize(
    ("script", "again_within", "runs"),
    [
        (f"{counted(1, 1)}; exit 1", 60, 2),
        (f"{counted(4, 4)}; exit 1", 60, 1),
        (f"sleep 1; {counted(1, 1)}; exit 1", 1.5, 1),
        (f"{counted(1, 1)}; exit 1", 0, 1),
    ],
    ids=["fails twice", "fails a lot", "no time is left", "nobody asked"],
)
def test_what_fails_has_failed(tmp_path: Path, logs: Path, script: str, again_within: float, runs: int) -> None:
    assert not run([Gate("broken", "", shell(f"echo run >> {tmp_path / 'runs'}; {script}"))], again_within=again_within)
    assert (tmp_path / "runs").read_text().count("run") == runs
    assert (logs / "summary.txt").read_text().splitlines()[1].split()[1] == "FAILED"


def test_what_this_machine_lacks_is_left_out_with_what_stands_on_it_and_the_rest_is_played(
    logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gates = [
        Gate("linter", "", shell("true"), programs=("no-such-linter", "sh")),
        Gate("after", "", shell("true"), needs=("linter",)),
        Gate("other", "", shell("true"), programs=("sh",)),
    ]
    assert run(gates)
    said = (logs / "summary.txt").read_text().splitlines()
    assert [line.split()[0] for line in said[1:4]] == ["linter", "after", "other"]
    assert "Left out: linter (no no-such-linter here), after (linter was left out)." in said
    assert said[-1] == "1 passed, 0 failed"
    shown = capsys.readouterr().out.splitlines()
    assert [line.partition("[")[2] for line in shown if " left]" in line] == ["2 left]", "1 left]"]


def test_nodes_are_left_out_for_an_ordinary_account(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate("nodes", "", shell("true"), is_root=True)
    monkeypatch.setattr(runner.os, "geteuid", lambda: 1000)
    assert runner.missing(gate) == "only root can, since nodes are containers"
    monkeypatch.setattr(runner.os, "geteuid", lambda: 0)
    assert runner.missing(gate) == ""


def test_a_processor_that_lacks_what_a_gate_needs_leaves_it_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert runner.processor_flags(tmp_path / "none") == set()
    (tmp_path / "cpuinfo").write_text("processor : 0\nflags : fpu avx2\n")
    assert "avx2" in runner.processor_flags(tmp_path / "cpuinfo")
    monkeypatch.setattr(runner, "processor_flags", lambda: {"avx2"})
    assert runner.missing(Gate("new", "", shell("true"), processor=("avx2",))) == ""
    lacks = runner.missing(Gate("newer", "", shell("true"), processor=("avx2", "amx_bf16")))
    assert lacks == "a processor with amx_bf16 is needed"


def recorded(gate: Gate, seconds: int) -> Standing:
    return Standing(gate, Proof("", "2026-11-28 01:00", seconds), True, False)


def test_the_time_that_is_left_is_filled_and_not_exceeded(tmp_path: Path) -> None:
    """In each lane, what is to be last in it after that."""
    shared = "nodes"
    further = Queue(
        [
            recorded(Gate("too long", "", shell(f"touch {tmp_path / 'too_long'}"), run=LONG_RUN), 100),
            recorded(Gate("short", "", shell(f"touch {tmp_path / 'short'}"), run=LONG_RUN), 1),
            recorded(
                Gate("shared", "", shell(f"test ! -e {tmp_path / 'gone'} && touch {tmp_path / 'shared'}"), lane=shared),
                1,
            ),
        ],
        shared,
    )
    gates = [
        Gate("teardown", "", shell(f"touch {tmp_path / 'gone'}"), lane=shared, is_last=True),
        Gate("usual", "", shell("true")),
    ]
    assert run(gates, further=further, further_until=time.monotonic() + 60)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["gone", "shared", "short"]


def test_both_forms_of_a_gate_have_the_same_nodes_and_are_never_played_at_once(tmp_path: Path) -> None:
    """Where another lane has only just begun with the short form; it plays the long one itself, afterwards."""
    nodes = f"mkdir {tmp_path / 'nodes'} && sleep 1 && rmdir {tmp_path / 'nodes'}"
    whole = Gate("peers", "", shell(f"{nodes} && touch {tmp_path / 'whole'}"), lane=ANY_LANE, run=LONG_RUN)
    gates = [Gate("usual", "", shell("true")), Gate("peers", "", shell(nodes), lane=ANY_LANE)]
    assert run(gates, further=Queue([recorded(whole, 1)], "nodes"), further_until=time.monotonic() + 60)
    assert (tmp_path / "whole").exists()


def test_what_takes_longer_than_the_time_that_is_left_is_ended_and_is_no_fault(
    logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "OVERTIME_S", 0.5)
    further = Queue([recorded(Gate("slow", "", shell("sleep 60"), run=LONG_RUN), 1)], "nodes")
    assert run([Gate("usual", "", shell("true"))], further=further, further_until=time.monotonic() + 2)
    said = (logs / "summary.txt").read_text().splitlines()
    assert [line.split()[2 if "long" in line else 1] for line in said[1:3]] == ["ok", "no"]
    assert "no time" in said[2]
    assert said[-1] == "1 passed, 0 failed"


@pytest.mark.parametrize(("seconds", "holds"), [(1, False), (None, True)], ids=["has a record", "never held"])
def test_what_fails_in_the_time_that_is_left_is_a_fault_where_it_has_held_before(
    logs: Path, seconds: int | None, holds: bool
) -> None:
    gate = Gate("broken", "", shell(f"{counted(4, 1)}; echo FAILED of this; exit 1"), run=LONG_RUN, limit=10)
    standing = recorded(gate, seconds) if seconds else Standing(gate, None, True, False)
    further = Queue([standing], "nodes")
    assert run([Gate("usual", "", shell("true"))], further=further, further_until=time.monotonic() + 60) is holds
    said = (logs / "summary.txt").read_text().splitlines()
    assert "broken long: FAILED of this" in said
    assert ("it never held yet" in said[2]) is holds
    assert said[-1] == ("4 passed, 0 failed" if holds else "4 passed, 1 failed")
