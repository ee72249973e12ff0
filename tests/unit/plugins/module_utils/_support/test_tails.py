# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Ends of files below a directory in which somebody else may put anything."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._support.sources import is_text
from ansible_collections.gaudi3.scale.plugins.module_utils._support.tails import Below, Tail, tail_of, tails

SECRET = "root:$6$shadow"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    directory = tmp_path / "logs"
    (directory / "ranks/0").mkdir(parents=True)
    (directory / "agent.log").write_text("one\ntwo\nthree\n")
    (directory / "ranks/0/stderr.log").write_text("boom\n")
    return directory


def read(directory: Path, **more: int) -> dict[str, Tail]:
    options = {"depth": 3, "most_files": 10, "bytes_each": 1000, **more}
    return {tail.name: tail for tail in tails(Below(str(directory), wanted=is_text, **options))}


def test_ends_come_by_name_with_whole_lines(logs: Path) -> None:
    found = read(logs, bytes_each=8)
    assert {name: (tail.text, tail.cut) for name, tail in found.items()} == {
        "agent.log": ("three\n", True),
        "ranks/0/stderr.log": ("boom\n", False),
    }
    assert set(read(logs, depth=1)) == {"agent.log"}
    assert read(logs / "nothing") == {}


def test_the_newest_files_are_taken(logs: Path) -> None:
    os.utime(logs / "agent.log", (1, 1))
    assert set(read(logs, most_files=1)) == {"ranks/0/stderr.log"}


def test_nothing_is_read_through_what_an_account_has_put_there(logs: Path, tmp_path: Path) -> None:
    shadow = tmp_path / "shadow.log"
    shadow.write_text(SECRET)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/other.log").write_text(SECRET)
    (logs / "link.log").symlink_to(shadow)
    (logs / "folder").symlink_to(tmp_path / "elsewhere")
    os.link(shadow, logs / "hard.log")
    os.mkfifo(logs / "pipe.log")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(logs / "s.log"))
        found = read(logs)
    assert SECRET not in "".join(tail.text for tail in found.values())
    assert set(found) == {"agent.log", "ranks/0/stderr.log", "hard.log"}
    assert "several names" in found["hard.log"].why and not found["hard.log"].cut


def test_a_directory_that_is_a_link_is_told_and_not_followed(logs: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(logs)
    (tail,) = read(tmp_path / "alias").values()
    assert "is not read" in tail.why and not tail.text


def test_who_makes_many_entries_holds_nobody_up(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        (logs / f"a{number:02}").mkdir()
        (logs / f"a{number:02}" / "x.log").write_text("x\n")
    monkeypatch.setattr("ansible_collections.gaudi3.scale.plugins.module_utils._support.tails.MOST_SEEN", 10)
    assert len(read(logs, most_files=100)) == 5


def test_one_file(logs: Path) -> None:
    assert tail_of(str(logs / "agent.log"), 8) == Tail("agent.log", "three\n", cut=True)
    assert tail_of(str(logs / "none.log"), 8) is None and tail_of(str(logs / "none/x"), 8) is None
    (logs / "link.log").symlink_to(logs / "agent.log")
    linked = tail_of(str(logs / "link.log"), 8)
    assert linked is not None and linked.why and not linked.text
    assert tail_of("/proc/version", 1000).text.startswith("Linux")  # type: ignore[union-attr]
