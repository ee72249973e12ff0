# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""fio's phases on one node: its command line, its answer, and what is said when it has none."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils._storage.fio import Phase, arguments, parse
from ansible_collections.gaudi3.scale.plugins.module_utils._storage.measure import measured

# One that every system has.
USER = "nobody"
PHASE = Phase("write", "/mnt/data", "n1", 2, 64 << 20, 1 << 20, 5)


def told(*written: int, error: int = 0, runtime: int = 5000) -> str:
    side = [
        {
            "io_bytes": size,
            "total_ios": size >> 20,
            "runtime": runtime,
            "clat_ns": {"percentile": {"99.000000": 2_000_000}},
        }
        for size in written
    ]
    nothing = {"io_bytes": 0, "total_ios": 0, "runtime": 0, "clat_ns": {}}
    jobs = [{"error": error, "write": one, "read": nothing} for one in side]
    return "fio: note: a warning\n" + json.dumps({"fio version": "fio-3.33", "jobs": jobs})


def in_full(argv: Sequence[str]) -> list[str]:
    """With the program's words in the place of the script that has them."""
    script = Path(argv[-1])
    if argv[0] != "systemd-run" or not script.is_file():
        return list(argv)
    exec_, *words = shlex.split(script.read_text())
    assert exec_ == "exec"
    return [*argv[: argv.index("--") + 1], *words]


class Node:
    def __init__(self, answer: CommandResult, kind: str = "nfs", free: int = 1 << 34) -> None:
        self.answer, self.kind, self.free = answer, kind, free
        self.calls: list[list[str]] = []

    def run(self, argv: Sequence[str], **_more: Any) -> CommandResult:
        words = in_full(argv)
        self.calls.append(words)
        if argv[0] == "stat":
            return CommandResult(0, f"{self.free >> 12} 4096 {self.kind}\n", "")
        return self.answer if "fio" in words else CommandResult(0, "", "")

    @property
    def has_removed(self) -> bool:
        return any("-delete" in call for call in self.calls)


def test_rates_are_of_all_files_together() -> None:
    rate = parse(told(100 << 20, 80 << 20), PHASE)
    assert rate.bytes_per_s == (180 << 20) / 5
    assert (rate.iops, rate.p99_s, rate.seconds) == (36, 0.002, 5)
    # Written over and over: no more than the size is there to be read.
    assert rate.written == 64 << 20
    assert parse(told(100 << 20, (3 << 20) + 7), PHASE).written == 3 << 20


def test_memory_answers_nothing_and_nothing_is_laid_out() -> None:
    words = arguments(PHASE)
    assert {"--direct=1", "--fallocate=none", "--numjobs=2", "--end_fsync=1"} <= set(words)
    assert "--end_fsync=1" not in arguments(Phase("random_read", "/mnt/data", "n1", 2, 1 << 20, 4096, 5))


@pytest.mark.parametrize("text", ["", "nothing", "{}", told(1, error=28), told(1, runtime=0), '{"jobs": [1]}'])
def test_what_is_no_answer_is_told_as_none(text: str) -> None:
    with pytest.raises(GaudiError, match="fio did not report its results"):
        parse(text, PHASE)


def test_it_runs_as_the_account_of_jobs_and_ends_in_time() -> None:
    node = Node(CommandResult(0, told(64 << 20, 64 << 20), ""))
    found = measured(PHASE, USER, node.run)
    assert (found["file_system"], found["written"]) == ("nfs", 64 << 20)
    unit = node.calls[-1]
    assert {"--unit=gaudi3-scale-storage-rates", '--property=ReadWritePaths="-/mnt/data"'} <= set(unit)
    assert {"--uid=nobody", "--property=RuntimeMaxSec=67", "--property=NoNewPrivileges=yes"} <= set(unit)
    assert "--filename_format=.gaudi3_scale_storage.n1.$jobnum" in unit
    assert not node.has_removed


def test_what_it_said_is_told_and_its_files_go() -> None:
    node = Node(CommandResult(1, "fio: io_u error on file x: No space left on device: write\n", ""))
    with pytest.raises(GaudiError, match="write in /mnt/data as nobody: fio: io_u error on file x: No space left"):
        measured(PHASE, USER, node.run)
    assert node.has_removed


def test_a_fio_that_systemd_had_to_end_is_told_with_its_time_and_not_by_an_exit_code() -> None:
    times = iter([1000.0, 1068.0])
    node = Node(CommandResult(1, "", ""))
    with pytest.raises(
        GaudiError, match="as nobody: fio did not finish within 67 s and was stopped; measure again, and check"
    ):
        measured(PHASE, USER, node.run, lambda: next(times))
    assert node.has_removed


def test_a_storage_that_takes_nothing_is_told(tmp_path: object) -> None:
    node = Node(CommandResult(0, told(1000, 1000), ""))
    with pytest.raises(GaudiError, match="took less than 1 MiB a file in 5 s"):
        measured(PHASE, USER, node.run)
    assert node.has_removed


REFUSED = [
    (PHASE, {"kind": "tmpfs"}, "is memory .tmpfs., not storage"),
    (PHASE, {"free": 1 << 29}, "has 512 MiB left, and 1.12 GiB are needed"),
    (Phase("write", "data", "n1", 2, 1 << 20, 1 << 20, 5), {}, "write a plain absolute path"),
    (Phase("write", "/d", "n1", 2, 1 << 10, 1 << 20, 5), {}, "less than one request of 1 MiB"),
]


@pytest.mark.parametrize(("phase", "node", "sentence"), REFUSED, ids=[one[2] for one in REFUSED])
def test_what_would_measure_nothing_is_refused(phase: Phase, node: dict[str, Any], sentence: str) -> None:
    asked = Node(CommandResult(0, "", ""), **node)
    with pytest.raises(GaudiError, match=sentence):
        measured(phase, USER, asked.run)
    assert not any("fio" in call for call in asked.calls)
