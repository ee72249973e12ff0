# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The program as a node has it: one file, started by the system's own Python."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.archive import archive_of
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.job_readings import JobReading
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.program import main
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult

from tests.unit.healthy_node import ADDRESSES, HlSmi, write_kernel

PROGRAM = "ansible_collections.gaudi3.scale.plugins.module_utils._exporter.program"


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = write_kernel(tmp_path / "kernel")
    monkeypatch.setenv("GAUDI3_SCALE_KERNEL_ROOT", str(root))
    return root


@pytest.fixture
def arguments(tmp_path: Path, kernel: Path) -> list[str]:
    assert kernel.is_dir()
    (tmp_path / "metrics").mkdir()
    given = {
        "directory": tmp_path / "metrics",
        "cards": 8,
        "interval": 15,
        "seconds": 10,
        "kept": tmp_path / "kept/e.json",
    }
    return ["cards", *(word for name, value in given.items() for word in (f"--{name}", str(value)))]


def silent(argv: Sequence[str], *, timeout: float | None = None, env: Mapping[str, str] | None = None) -> CommandResult:
    return CommandResult(124, "", "no end")


def test_the_file_is_whole_and_everybodys_to_read(tmp_path: Path, arguments: list[str]) -> None:
    assert main([*arguments, "--once"], HlSmi()) == 0
    (file,) = (tmp_path / "metrics").iterdir()
    assert file.name == "gaudi_cards.prom"
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    text = file.read_text()
    assert 'gaudi_collector_interval_seconds{about="cards"} 15' in text
    assert text.endswith("\n")


def test_cards_that_do_not_answer_leave_the_file_as_it_was(
    tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--once"], HlSmi()) == 0
    before = (tmp_path / "metrics/gaudi_cards.prom").read_text()
    assert main([*arguments, "--once"], silent) == 1
    assert (tmp_path / "metrics/gaudi_cards.prom").read_text() == before
    assert "hl-smi did not answer within 10 s" in capsys.readouterr().err


def test_a_collector_that_never_had_an_answer_tells_of_itself(
    tmp_path: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "metrics/gaudi_cards.prom"

    def first(argv: Sequence[str], *, timeout: float | None = None, env: object = None) -> CommandResult:
        # Already here: this call may never end.
        assert 'last_success_timestamp_seconds{about="cards"} 1000' in told.read_text()
        return silent(argv)

    monkeypatch.setattr(time, "time", lambda: 1000)
    assert main([*arguments, "--once"], first) == 1
    monkeypatch.setattr(time, "time", lambda: 1100)
    assert main([*arguments, "--once"], silent) == 1
    lines = [line for line in told.read_text().splitlines() if not line.startswith("#")]
    assert lines == [
        'gaudi_collector_interval_seconds{about="cards"} 15',
        'gaudi_collector_last_success_timestamp_seconds{about="cards"} 1000',
    ]
    assert main([*arguments, "--once"], HlSmi()) == 0
    assert 'last_success_timestamp_seconds{about="cards"} 1100' in told.read_text()


def test_from_look_to_look_it_knows_the_jobs(
    tmp_path: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which is what lets it read their lines on, and not anew."""
    found, given = [[JobReading("a", "running")], [], [JobReading("b", "running")]], []

    def read(*words: object) -> list[JobReading]:
        given.append(words[-1])
        return found[len(given) - 1]

    class EnoughError(Exception):
        """Ends what does not end by itself."""

    def sleep(_seconds: float) -> None:
        if len(given) == 3:
            raise EnoughError

    monkeypatch.setattr(f"{PROGRAM}.read_jobs", read)
    with pytest.raises(EnoughError):
        main(["node", *arguments[1:]], silent, sleep)
    assert given == [(), *found[:2]]
    assert 'training="b"' in (tmp_path / "metrics/gaudi_node.prom").read_text()


def test_what_goes_on_is_said_once(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    answers = iter([HlSmi(), silent, silent, silent, HlSmi(), HlSmi()])
    turns = 0

    class EnoughError(Exception):
        """Ends what does not end by itself."""

    def run(
        argv: Sequence[str], *, timeout: float | None = None, env: Mapping[str, str] | None = None
    ) -> CommandResult:
        return next(answers)(argv)

    def sleep(seconds: float) -> None:
        nonlocal turns
        turns += 1
        assert 0 < seconds <= 15
        if turns == 6:
            raise EnoughError

    with pytest.raises(EnoughError):
        main(arguments, run, sleep)
    assert capsys.readouterr().err.count("\n") == 2


def test_energy_is_kept_and_grows(tmp_path: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for now in (1000.0, 1015.0, 1030.0):
        monkeypatch.setattr("time.time", lambda: now)  # noqa: B023, at once
        assert main([*arguments, "--once"], HlSmi(cells={ADDRESSES[0]: {"power.draw": "500 W"}})) == 0
    text = (tmp_path / "metrics/gaudi_cards.prom").read_text()
    assert 'gaudi_card_energy_joules_total{card="0"} 15000\n' in text
    assert 'gaudi_card_energy_joules_total{card="1"} 6780\n' in text
    assert 'gaudi_card_energy_gap_seconds_total{card="0"} 0\n' in text


def test_one_file_has_all_that_it_needs(tmp_path: Path, kernel: Path) -> None:
    archive = tmp_path / "metrics.pyz"
    archive.write_bytes(archive_of(PROGRAM))
    (tmp_path / "metrics").mkdir()
    command = [sys.executable, "-I", "-S", archive, "node", "--once", "--directory", tmp_path / "metrics"]
    surroundings = {"PATH": os.environ["PATH"], "GAUDI3_SCALE_KERNEL_ROOT": str(kernel)}
    options = ["--cards", "8", "--interval", "15", "--seconds", "10"]
    subprocess.run([*command, *options], check=True, env=surroundings, cwd="/")
    assert 'release="1.24.1"' in (tmp_path / "metrics/gaudi_node.prom").read_text()


def test_it_is_the_same_each_time_and_has_nothing_of_ansibles(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(archive_of(PROGRAM))
    assert archive_of(PROGRAM) == (tmp_path / "a").read_bytes()
    names = zipfile.ZipFile(tmp_path / "a").namelist()
    assert [name for name in names if name.startswith("ansible/")] == []
    # With what a job's first error is read by, which the state of a job is read with.
    assert len(names) < 165
