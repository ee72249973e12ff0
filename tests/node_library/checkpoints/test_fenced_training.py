# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Ranks of an old generation that wake up when a new one has begun: real processes, stopped where it hurts most."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from forked_ranks import ends_of, said_in, start_ranks, start_script, wait_until_stopped
from gaudi3_scale.checkpoints.fence import FILE_NAME, VARIABLE, Fence, Generation
from gaudi3_scale.checkpoints.files import found_in, steps_in
from job_runs import SMALL_MODEL, read_lines

LICENSE = Path(__file__).parents[3] / "LICENSE"
LAUNCH = "0123456789abcdef"
PLAN = ["--device", "cpu", *SMALL_MODEL, "--text", LICENSE, "--metrics-every", 1, "--max-steps", 8]
PLAN += ["--checkpoint-every", 2, "--checkpoints-kept", 2]

STOPS = """
import pathlib, signal, sys, threading
from gaudi3_scale.checkpoints import writer
from gaudi3_scale.ranks import run_rank
from gaudi3_scale.train import train

module, name, step = {"writer": writer, "Path": pathlib.Path}[sys.argv[1]], sys.argv[2], sys.argv[3]
function = getattr(module, name)

def stopping(path, *arguments):
    if step in path.name:
        # To this thread: one to the process may reach another thread, and this one goes on for a while.
        signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)
    return function(path, *arguments)

setattr(module, name, stopping)
run_rank("gaudi3_scale.train", train, sys.argv[4:])
"""


class Sleepers:
    """The ranks of one generation; the one that publishes stops itself as it calls ``function`` for a path that has
    ``step`` in its name. What they say is in ``said``."""

    def __init__(self, job: Path, where: str, function: str, step: str, ranks: int, generation: str) -> None:
        script = job.parent / "stops.py"
        script.write_text(STOPS)
        self._job = job
        self.ranks = start_script(
            job, script, where, function, step, *PLAN, ranks=ranks, variables={VARIABLE: generation}
        )

    def wait_until_asleep(self) -> None:
        assert wait_until_stopped(self.ranks[0]), said_in(self._job)

    def wake(self) -> list[str]:
        """What each has said until its end."""
        _signal(self.ranks[0], signal.SIGCONT)
        for rank in self.ranks:
            rank.join(120)
        return [(self._job / f"{rank}.log").read_text() for rank in range(len(self.ranks))]


def _signal(rank: BaseProcess, number: int) -> None:
    assert rank.pid
    os.kill(rank.pid, number)


@pytest.fixture
def sleep_in(tmp_path: Path) -> Iterator:
    started: list[Sleepers] = []

    def start(*arguments: str, ranks: int = 1, generation: str = f"{LAUNCH}:1") -> Sleepers:
        started.append(Sleepers(tmp_path / "job", *arguments, ranks, generation))
        started[-1].wait_until_asleep()
        return started[-1]

    yield start
    for rank in (rank for sleepers in started for rank in sleepers.ranks):
        rank.kill()
        rank.join()


def train(job: Path, generation: str | None) -> list[dict]:
    before = len(read_lines(job / "metrics.jsonl"))
    processes = start_ranks([job], PLAN, variables={VARIABLE: generation} if generation else None)
    assert ends_of(processes) == [0], said_in(job)
    return read_lines(job / "metrics.jsonl")[before:]


def seen(directory: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every file with its inode, its time and what it holds."""
    files = (path for path in sorted(directory.rglob("*")) if path.is_file())
    return {
        str(path.relative_to(directory)): (path.stat().st_ino, path.stat().st_mtime_ns, path.read_bytes())
        for path in files
    }


@pytest.mark.parametrize("later", [f"{LAUNCH}:2", "fedcba9876543210:1"], ids=["generation", "launch"])
def test_an_old_rank_that_wakes_up_after_a_new_one_has_published_changes_nothing(tmp_path, sleep_in, later):
    """Its shards and its manifest are written, and all that is left to do is to publish them."""
    checkpoints = tmp_path / "job" / "checkpoints"
    old = sleep_in("writer", "put_in_place", "00000004")
    assert list(steps_in(checkpoints)) == [2]
    new = train(tmp_path / "job", later)
    assert new[0]["resumed_from"] == 2
    assert list(found_in(checkpoints)[0]) == [6, 8]
    before = seen(checkpoints)
    (said,) = old.wake()
    assert old.ranks[0].exitcode == 1
    launch, _colon, number = later.partition(":")
    assert said.splitlines()[-1] == (
        f"gaudi3_scale.train: {checkpoints / FILE_NAME} is held by generation {number} of launch {launch}, "
        f"so generation 1 of launch {LAUNCH} is over: it writes and removes nothing there."
    )
    assert "Traceback" not in said
    assert seen(checkpoints) == before


def test_an_old_rank_that_wakes_up_when_a_new_one_just_begins_publishes_nothing(tmp_path, sleep_in):
    """Its unfinished files are still there: it is the fence alone that holds it, and each of its ranks ends."""
    checkpoints = tmp_path / "job" / "checkpoints"
    old = sleep_in("writer", "put_in_place", "00000004", ranks=2)
    assert len(list(checkpoints.glob(".step-00000004.*/manifest.json"))) == 1
    Fence(checkpoints, Generation(LAUNCH, 2)).take()
    reported = old.wake()
    assert [rank.exitcode for rank in old.ranks] == [1, 1]
    for said in reported:
        assert f"held by generation 2 of launch {LAUNCH}, so generation 1 of launch {LAUNCH} is over" in said
        assert "training continues" not in said
    assert sorted(path.name for path in checkpoints.iterdir()) == [FILE_NAME, "step-00000002"]


def test_an_old_rank_that_wakes_up_before_it_removes_what_is_surplus_removes_nothing(tmp_path, sleep_in):
    checkpoints = tmp_path / "job" / "checkpoints"
    old = sleep_in("writer", "remove_surplus", "checkpoints")
    while list(steps_in(checkpoints)) != [2, 4, 6]:
        _signal(old.ranks[0], signal.SIGCONT)
        old.wait_until_asleep()
    Fence(checkpoints, Generation(LAUNCH, 2)).take()
    (said,) = old.wake()
    assert "is over: it writes and removes nothing there." in said
    assert list(found_in(checkpoints)[0]) == [2, 4, 6]


def test_an_old_rank_that_passed_its_fence_has_nothing_left_to_publish(tmp_path, sleep_in):
    """It sleeps between looking at the fence and renaming its files."""
    checkpoints = tmp_path / "job" / "checkpoints"
    old = sleep_in("Path", "rename", ".step-00000004")
    train(tmp_path / "job", f"{LAUNCH}:2")
    before = seen(checkpoints)
    (said,) = old.wake()
    assert old.ranks[0].exitcode == 1
    assert "is over: it writes and removes nothing there." in said
    assert seen(checkpoints) == before


def test_a_generation_that_is_over_does_not_begin(tmp_path):
    job = tmp_path / "job"
    train(job, f"{LAUNCH}:2")
    before = seen(job / "checkpoints")
    (end,) = ends_of(start_ranks([job], PLAN, variables={VARIABLE: f"{LAUNCH}:1"}))
    assert end == 1
    assert "is held by generation 2 of launch" in said_in(job)
    assert seen(job / "checkpoints") == before


def test_ranks_without_a_generation_are_as_before(tmp_path):
    job = tmp_path / "job"
    lines = train(job, None)
    assert [line["step"] for line in lines if line["kind"] == "checkpoint"] == [2, 4, 6, 8]
    assert sorted(path.name for path in (job / "checkpoints").iterdir()) == ["step-00000006", "step-00000008"]


def test_a_fence_that_cannot_be_read_is_told_on_every_rank(tmp_path):
    job = tmp_path / "job"
    (job / "checkpoints").mkdir(parents=True)
    (job / "checkpoints" / FILE_NAME).write_text("{")
    ends = ends_of(start_ranks([job], PLAN, ranks=2, variables={VARIABLE: f"{LAUNCH}:1"}))
    assert ends == [1, 1]
    for rank in range(2):
        last = (job / f"{rank}.log").read_text().splitlines()[-1]
        assert "fence.json does not say which generation may write there: " in last
        assert last.endswith("launch again. (rank 0)")
