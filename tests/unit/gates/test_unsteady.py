# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The register of unsteady tests: what a run writes into it, and what it says of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.gates import runner
from tests.gates.counting import Counts
from tests.gates.gate import Gate, Outcome
from tests.gates.unsteady import UNKNOWN, noted, read, with_seen

FAILED = '<testcase classname="a.b" name="test_c"><failure message="late"/></testcase>'
CASE = f'<testsuite tests="2" failures="1">{FAILED}</testsuite>'


@pytest.fixture(autouse=True)
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "LOGS", tmp_path / "logs")
    (tmp_path / "logs" / "junit" / "one").mkdir(parents=True)
    (tmp_path / "logs" / "junit" / "one" / "0.xml").write_text(CASE)
    (tmp_path / "logs" / "one.log").write_text("FAILED tests/a/b.py::test_c - E\nE AssertionError: late")


def test_what_held_at_its_second_run_is_written_down_with_the_day(tmp_path: Path) -> None:
    register, gate = tmp_path / "unsteady.json", Gate("one", "", ())
    assert noted([Outcome(gate, "ok", Counts(1))], register) == []
    assert not register.exists()
    (line,) = noted([Outcome(gate, "unsteady", Counts(1))], register)
    assert line.startswith("one: a.b::test_c: seen 1 times, last on 20")
    assert line.endswith(UNKNOWN)
    # A later run without one shows it, too.
    assert noted([], register) == [line]


def test_a_cause_that_somebody_found_stays(tmp_path: Path) -> None:
    register = tmp_path / "unsteady.json"
    known = with_seen([], ["one: test_b", "one: test_a"], "2026-11-27")
    assert [entry["test"] for entry in known] == ["one: test_a", "one: test_b"]
    known[0]["cause"] = "a deadline of 2 s; mended"
    register.write_text(json.dumps(with_seen(known, ["one: test_a"], "2026-11-28")))
    assert read(register)[0] == {
        "test": "one: test_a",
        "seen": ["2026-11-27", "2026-11-28"],
        "cause": "a deadline of 2 s; mended",
    }
