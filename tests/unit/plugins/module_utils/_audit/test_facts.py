# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What an audit reads of a node: its load over a moment, and what lies there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._audit.facts import gather
from ansible_collections.gaudi3.scale.plugins.module_utils._audit.system import look
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult

MEMINFO = "MemTotal:       1000 kB\nMemFree:  1 kB\nMemAvailable:    250 kB\n"


def root_with(tmp_path: Path, stat: str, meminfo: str = MEMINFO) -> Path:
    (tmp_path / "proc").mkdir(exist_ok=True)
    (tmp_path / "proc/stat").write_text(stat)
    (tmp_path / "proc/meminfo").write_text(meminfo)
    return tmp_path


def test_what_waits_for_a_disk_is_not_busy(tmp_path: Path) -> None:
    root = root_with(tmp_path, "cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1\n")

    def a_second(_seconds: float) -> None:
        root_with(root, "cpu  130 0 110 840 20 0 0 0 0 0\n")

    assert look(str(root), a_second) == {"cpu_busy": 0.4, "io_wait": 0.2, "memory_used": 0.75}


@pytest.mark.parametrize("stat", ["", "cpu\n", "cpu  1 2\n", "nonsense"])
def test_what_the_kernel_does_not_tell_is_none(tmp_path: Path, stat: str) -> None:
    found = look(str(root_with(tmp_path, stat, "MemTotal: 0 kB\n")), lambda _seconds: None)
    assert found == {"cpu_busy": None, "io_wait": None, "memory_used": None}


def test_this_machine_tells() -> None:
    found = look("/", lambda _seconds: sum(range(3_000_000)) and None)
    assert all(isinstance(value, float) and 0 <= value <= 1 for value in found.values())


def read(tmp_path: Path, job: str = "") -> dict[str, object]:
    def run(*_argv: object, **_more: object) -> CommandResult:
        return CommandResult(0, "ActiveState=inactive\nResult=success\n", "")

    return gather(
        run,
        job=job,
        flags=str(tmp_path / "environment"),
        qualification=str(tmp_path / "qualification"),
        state_directory=str(tmp_path / "state"),
        log_directory=str(tmp_path / "logs"),
    )


def test_of_a_virgin_node_there_is_nothing(tmp_path: Path) -> None:
    found = read(tmp_path, "llama")
    assert {name: found[name] for name in ("flags", "qualification", "jobs", "job")} == {
        "flags": None,
        "qualification": {},
        "jobs": {"known": 0, "failed": 0},
        "job": {},
    }


def test_flags_come_without_secrets_and_a_verdict_with_its_state(tmp_path: Path) -> None:
    (tmp_path / "environment").write_text("PT_HPU_LAZY_MODE=0\nHF_TOKEN=abc\n")
    (tmp_path / "qualification").mkdir()
    (tmp_path / "qualification/verdict.json").write_text(
        json.dumps({"state": "unhealthy", "time": 3, "level": "quick"})
    )
    found = read(tmp_path)
    assert found["flags"] == {"PT_HPU_LAZY_MODE": "0"}
    assert found["qualification"] == {"state": "unhealthy", "level": "quick"}


def test_a_name_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GaudiError, match="cannot name a job"):
        read(tmp_path, "../etc")
