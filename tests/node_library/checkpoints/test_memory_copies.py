# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Trainings that go on from what the ranks left in host memory, in a tmpfs of each test's own."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from forked_ranks import ends_of, said_in, start_ranks
from gaudi3_scale.checkpoints import gathered_parts
from gaudi3_scale.checkpoints.fence import FILE_NAME, VARIABLE, Fence, Generation
from gaudi3_scale.checkpoints.files import steps_in
from gaudi3_scale.checkpoints.memory_copies import MemoryCopies
from gaudi3_scale.checkpoints.memory_room import IDENTITY, PREFIX, REMAINS_AFTER_S, directory_of
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.trainer.language_model_task import LanguageModelTask
from job_runs import SMALL_MODEL, losses, read_lines, wait_until

LICENSE = Path(__file__).parents[3] / "LICENSE"
RARELY = ["--checkpoint-every", 3000]
PLAN = ["--learning-rate", 0.01, "--warmup-steps", 5]
RANKS = ["--device", "cpu", *SMALL_MODEL, "--metrics-every", 1, *PLAN, *RARELY, "--text", LICENSE, "--max-steps", 6000]
DIES_AT = 12


@pytest.fixture
def memory() -> Iterator[Path]:
    """A directory of /dev/shm, removed afterwards."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        yield Path(directory)


def own(memory: Path) -> Path:
    """The one job's directory in it."""
    (directory,) = memory.glob(f"{PREFIX}*")
    return directory


def of_kind(lines: list[dict], kind: str) -> list[dict]:
    return [line for line in lines if line["kind"] == kind]


def wait_for(true: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


AFTER_STEP = MemoryCopies.after_step


def settled(copies: MemoryCopies, *agreed: object) -> None:
    """The same, and what it has begun is whole."""
    AFTER_STEP(copies, *agreed)
    if copies._under_way:
        copies._saver._future.exception()


@pytest.fixture
def run(train_here, memory):
    """``run(*options)`` trains 20 steps with copies of each that can have one; returns the metric lines."""

    def run(*options: object, job: str = "job") -> list[dict]:
        kept = ["--memory-every", 1, "--memory-dir", memory]
        return train_here("--max-steps", 20, *RARELY, *PLAN, *kept, *options, job=job)

    return run


@pytest.fixture
def lose(run, tmp_path):
    """``lose(*options)`` is such a training that fails after :data:`DIES_AT` steps, when each copy that was begun is
    whole, and so is step ``disk`` there; returns its losses."""
    step = LanguageModelTask.training_step

    def lose(*options: object, disk: int = 0) -> dict[int, float]:
        def dying(self, *batch):
            if self.trainer.global_step == DIES_AT:
                wait_for(lambda: not disk or disk in steps_in(tmp_path / "job" / "checkpoints"))
                raise RuntimeError("the card is lost")
            return step(self, *batch)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(LanguageModelTask, "training_step", dying)
            patched.setattr(MemoryCopies, "after_step", settled)
            with pytest.raises(RuntimeError, match="the card is lost"):
                run(*options)
        return losses(read_lines(tmp_path / "job" / "metrics.jsonl"))

    return lose


def test_a_failed_training_goes_on_from_memory_with_the_very_same_losses(run, lose, memory, tmp_path):
    made = lose()
    assert (own(memory).stat().st_mode & 0o777, len(steps_in(own(memory)))) == (0o700, 1)
    assert max(made) == DIES_AT
    lines = run()
    start = lines[0]
    assert (start["resumed_copy"], start["memory_every"]) == ("memory", 1)
    assert start["resumed_from"] in (DIES_AT - 1, DIES_AT)
    (told,) = of_kind(lines, "memory_copy")
    assert (told["state"], Path(told["path"]).parent.parent) == ("on", memory)
    assert told["bytes"] > 0
    # It ended well: nothing is held any more, and what it ended with is on the disk.
    assert not list(memory.iterdir())
    assert list(steps_in(tmp_path / "job" / "checkpoints")) == [20]
    whole = run("--memory-every", 0, job="whole")
    assert (of_kind(whole, "memory_copy"), whole[0]["resumed_copy"]) == ([], None)
    assert {**made, **losses(lines)} == losses(whole)


def test_a_damaged_copy_is_left_out_for_the_disk_s(run, lose, memory, tmp_path):
    made = lose("--checkpoint-every", 5, disk=10)
    (copy,) = steps_in(own(memory)).values()
    file = copy / "__0_0.distcp"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    lines = run("--checkpoint-every", 5)
    (left_out,) = of_kind(lines, "checkpoint_left_out")
    assert (left_out["where"], left_out["message"]) == (
        f"rank 0: {copy}",
        "__0_0.distcp has another checksum than manifest.json",
    )
    start = of_kind(lines, "start")[0]
    assert (start["resumed_copy"], start["resumed_from"]) == ("disk", 10)
    again = losses(lines)
    assert {step: again[step] for step in (11, 12)} == {step: made[step] for step in (11, 12)}
    assert not list(memory.iterdir())


def test_what_is_on_the_disk_counts_where_it_is_newer(run, lose, memory):
    lose("--checkpoint-every", 10, "--memory-every", 9, disk=10)
    assert list(steps_in(own(memory))) == [9]
    start = run("--stop-after-steps", 2)[0]
    assert (start["resumed_copy"], start["resumed_from"]) == ("disk", 10)


def test_another_job_in_the_same_place_begins_anew(run, lose, memory, tmp_path, caplog):
    """Its checkpoints were removed; what the one before left is told of once nothing writes to it any more."""
    lose()
    left = own(memory)
    shutil.rmtree(tmp_path / "job" / "checkpoints")
    long_ago = time.time() - REMAINS_AFTER_S - 60
    os.utime(left, (long_ago, long_ago))
    start = run("--stop-after-steps", 2)[0]
    assert (start["resumed_from"], start["resumed_copy"]) == (None, None)
    assert list(memory.iterdir()) == [left]
    assert f"{left} has 0 MiB of another job, which wrote nothing there for an hour; remove it if " in caplog.text


def test_a_run_without_copies_leaves_none_of_an_earlier_course(run, lose, memory, tmp_path):
    lose()
    checkpoints = tmp_path / "job" / "checkpoints"
    assert (checkpoints / IDENTITY).exists()
    assert run("--memory-every", 0, "--stop-after-steps", 2)[0]["resumed_from"] is None
    assert not list(memory.iterdir())
    assert not (checkpoints / IDENTITY).exists()


def test_nor_does_one_that_is_told_where_to_begin(run, lose, memory, tmp_path):
    lose("--checkpoint-every", 10, disk=10)
    lines = run("--resume", tmp_path / "job" / "checkpoints" / "step-00000010", "--stop-after-steps", 1)
    assert (lines[0]["resumed_from"], lines[0]["resumed_copy"]) == (10, "disk")
    assert not list(memory.iterdir())


@pytest.mark.parametrize("open_to", ["a link", "others"])
def test_a_directory_that_another_account_could_have_made_is_not_used(run, lose, memory, tmp_path, caplog, open_to):
    lose()
    directory = own(memory)
    if open_to == "a link":
        kept = directory.rename(memory / "elsewhere")
        directory.symlink_to(kept)
    else:
        kept = directory
        kept.chmod(0o755)
    before = sorted(kept.rglob("*"))
    lines = run("--stop-after-steps", 2)
    (told,) = of_kind(lines, "memory_copy")
    assert (told["state"], told["message"]) == ("off", f"{directory} is not a directory of this account alone")
    assert of_kind(lines, "start")[0]["resumed_from"] is None
    assert sorted(kept.rglob("*")) == before
    assert "no copies in memory from here on: rank 0: " in caplog.text


def test_only_memory_is_taken_for_memory(run, tmp_path):
    lines = run("--memory-dir", tmp_path, "--stop-after-steps", 2)
    (told,) = of_kind(lines, "memory_copy")
    assert told["message"].startswith(f"{tmp_path} is ")
    assert told["message"].endswith(", and not in memory (tmpfs)")
    assert losses(lines).keys() == {1, 2}


@pytest.fixture
def small(tmp_path):
    """A tmpfs that is too small for two copies."""
    directory = tmp_path / "small"
    directory.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", directory], capture_output=True).returncode:
        pytest.skip("only root can mount a file system of its own")
    yield directory
    subprocess.run(["umount", "--lazy", directory], check=True)


def test_without_room_there_are_no_copies_and_a_training_all_the_same(run, small, monkeypatch):
    lines = run("--memory-dir", small)
    (told,) = of_kind(lines, "memory_copy")
    assert told["state"] == "off"
    assert f"would leave less than a tenth of {small} free" in told["message"]
    assert len(losses(lines)) == 20
    assert not list(small.iterdir())
    # Where it is taken only later, by others.
    monkeypatch.setattr("gaudi3_scale.checkpoints.memory_copies.shortage", lambda *_: "")
    lines = run("--memory-dir", small, job="other")
    (told,) = of_kind(lines, "memory_copy")
    assert told["state"] == "off"
    assert f" could not be written to {small}, which has 0 MiB free: rank 0: " in told["message"]
    assert len(losses(lines)) == 20
    assert not list(small.iterdir())


def test_a_directory_that_is_removed_under_it_ends_the_copies_alone(run, memory, monkeypatch):
    """As systemd-logind does where an account that is no system's logs out (RemoveIPC=)."""
    monkeypatch.setenv(VARIABLE, "0123456789abcdef:1")
    step = LanguageModelTask.training_step

    def removing(self, *batch):
        if self.trainer.global_step == 6:
            shutil.rmtree(own(memory))
        return step(self, *batch)

    monkeypatch.setattr(LanguageModelTask, "training_step", removing)
    monkeypatch.setattr(MemoryCopies, "after_step", settled)
    lines = run()
    told = of_kind(lines, "memory_copy")[-1]
    assert (told["state"], len(losses(lines))) == ("off", 20)
    assert told["message"].endswith(" was removed")
    assert not list(memory.iterdir())


def test_an_old_generation_takes_nothing_from_memory(run, lose, memory, monkeypatch):
    monkeypatch.setenv(VARIABLE, "0123456789abcdef:2")
    lose()
    fence = own(memory) / FILE_NAME
    Fence(own(memory), Generation("0123456789abcdef", 4)).take()
    monkeypatch.setenv(VARIABLE, "0123456789abcdef:3")
    with pytest.raises(GaudiError, match=f"{fence} is held by generation 4 of launch 0123456789abcdef"):
        run()


def test_a_copy_that_cannot_be_read_in_the_end_fails_one_start_alone(run, lose, memory, monkeypatch):
    options = ["--sharding", "fsdp2", "--checkpoint-every", 10]
    lose(*options, disk=10)
    (step,) = steps_in(own(memory))

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(gathered_parts, "write_manifest", full)
        with pytest.raises(GaudiError, match=f"^step {step} could not be read from memory: rank 0: .*: No space left "):
            run(*options)
    assert [path.name for path in own(memory).iterdir()] == []
    start = of_kind(run(*options, "--stop-after-steps", 1), "start")[-1]
    assert (start["resumed_copy"], start["resumed_from"]) == ("disk", 10)


def kill_all(ranks: list[BaseProcess], memory: Path, nodes: int) -> None:
    """At once, when each of so many nodes has a copy and some steps were made since the first."""
    wait_until(lambda: len({path.parent for path in memory.glob(f"{PREFIX}*/step-*")}) == nodes, ranks[0])
    time.sleep(0.2)
    for rank in reversed(ranks):
        rank.kill()
    for rank in ranks:
        rank.join()


def whole_until(step: int, folder: Path, *options: object) -> dict[int, float]:
    """The losses of the same training of two ranks, which nothing happened to."""
    ends = ends_of(start_ranks([folder], [*RANKS, "--stop-after-steps", step, *options], 2))
    assert ends == [0, 0], said_in(folder)
    return losses(read_lines(folder / "metrics.jsonl"))


def test_a_node_that_takes_a_lost_one_s_place_gets_the_copy_of_the_other(tmp_path, memory):
    """Two nodes of one rank, which see no directory of each other."""
    nodes = [tmp_path / "first", tmp_path / "second"]
    options = [*RANKS, "--memory-every", 1, "--memory-dir", memory]
    kill_all(start_ranks(nodes, options), memory, 2)
    before = read_lines(nodes[0] / "metrics.jsonl")
    # Of the second node nothing is left: neither its disk nor its memory.
    shutil.rmtree(nodes[1])
    identity = (nodes[0] / "checkpoints" / IDENTITY).read_text()
    lost = [
        path for path in memory.iterdir() if path != directory_of(memory, identity.strip(), nodes[0] / "checkpoints")
    ]
    for path in lost:
        shutil.rmtree(path)
    assert ends_of(start_ranks(nodes, [*options, "--stop-after-steps", 5])) == [0, 0], said_in(tmp_path)
    after = read_lines(nodes[0] / "metrics.jsonl")[len(before) :]
    resumed = after[0]["resumed_from"]
    assert after[0]["resumed_copy"] == "memory"
    assert 0 < resumed <= max(losses(before)) + 1
    assert (nodes[1] / "checkpoints" / IDENTITY).read_text() == identity
    assert list(steps_in(nodes[1] / "checkpoints")) == [resumed + 5]
    assert not list(memory.iterdir())
    whole = whole_until(resumed + 5, tmp_path / "whole")
    made = {**losses(before), **losses(after)}
    assert {step: made[step] for step in whole} == whole


@pytest.mark.in_turn
def test_a_sharded_model_of_one_node_goes_on_from_memory(tmp_path, memory):
    job = tmp_path / "job"
    options = [*RANKS, "--memory-every", 1, "--memory-dir", memory, "--sharding", "fsdp2"]
    kill_all(start_ranks([job], options, 2), memory, 1)
    before = losses(read_lines(job / "metrics.jsonl"))
    assert ends_of(start_ranks([job], [*options, "--stop-after-steps", 5], 2)) == [0, 0], said_in(job)
    lines = read_lines(job / "metrics.jsonl")
    start = of_kind(lines, "start")[-1]
    assert (start["resumed_copy"], start["sharding"]) == ("memory", "fsdp2")
    whole = whole_until(start["resumed_from"] + 5, tmp_path / "whole", "--sharding", "fsdp2")
    made = {**before, **losses(lines)}
    assert {step: made[step] for step in whole} == whole
    assert not list(memory.iterdir())
