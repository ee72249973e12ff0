# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What was tried is what a run has recorded: the latest of each, its failures too, and what nobody tried is said."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from scripts import certify, tried
from scripts.ansible_cores import CORES
from scripts.tried import PAGE, RECORD, Tried, read, record, render, together, versions_of

ONE = Tried("2.19.14", "3.11.2", "ansible-test sanity", "held", "2026-11-20", "1.0.0")


def test_the_page_is_made_from_what_was_recorded() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(read(RECORD)), "docs/tried.md is out of date; run: make readmes"


def test_each_record_is_of_a_core_and_a_python_that_the_collection_is_for() -> None:
    for one in read(RECORD):
        core, python = (version.rpartition(".")[0] for version in (one.core, one.python))
        assert python in CORES[core], one


def test_the_latest_word_on_the_same_line_of_versions_stands() -> None:
    newer = replace(ONE, core="2.19.15", state="FAILED", day="2026-11-30")
    other = replace(ONE, what="contracts, plugins")
    assert together([ONE, other], [newer]) == [newer, other]
    # 2.9 is older than 2.19, though its text is not.
    assert together([ONE], [replace(ONE, core="2.9.1")])[0].core == "2.9.1"


def test_what_a_run_adds_is_kept_beside_the_rest(tmp_path: Path) -> None:
    kept = tmp_path / "tried.json"
    record([ONE], kept)
    record([replace(ONE, core="2.17.1")], kept)
    assert [one.core for one in read(kept)] == ["2.17.1", "2.19.14"]


def test_what_nobody_tried_says_so() -> None:
    page = render([ONE], {"2.18": ("3.11",), "2.19": ("3.11", "3.12")}).splitlines()
    assert page[-3:] == [
        "| 2.18 | 3.11 | - | not tried | - | - |",
        "| 2.19.14 | 3.11.2 | ansible-test sanity | held | 2026-11-20 | 1.0.0 |",
        "| 2.19 | 3.12 | - | not tried | - | - |",
    ]


@pytest.mark.parametrize(("status", "state"), [(0, "held"), (1, "FAILED")])
def test_a_run_under_a_core_is_recorded_with_exact_versions_however_it_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, state: str
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "python").write_text(f"#!/bin/sh\n[ $1 = -c ] && exec echo 2.17.14 3.11.2\nexit {status}\n")
    (programs / "python").chmod(0o755)
    monkeypatch.setattr(certify, "environment", lambda *_more: programs)
    monkeypatch.setattr(certify, "PLACE", certify.ROOT / "build")
    monkeypatch.setattr(certify, "logged", lambda command, *_more: certify.subprocess.call(command))
    monkeypatch.setattr(certify, "RECORD", tmp_path / "tried.json")
    (row,) = certify.under_each_core(["2.17"], ["tests/x.py"])
    assert (row.what, row.state) == ("tests/x.py, core 2.17", state)
    (kept,) = read(tmp_path / "tried.json")
    assert (kept.core, kept.python, kept.what, kept.state) == ("2.17.14", "3.11.2", "tests/x.py", state)
    assert len(kept.day) == len("2026-11-30") and kept.collection


def test_an_environment_tells_its_own_versions() -> None:
    core, python = versions_of(Path(sys.executable))
    assert core.count(".") == 2 and python == ".".join(map(str, sys.version_info[:3]))
    assert tried.RECORD.name == "tried.json"
