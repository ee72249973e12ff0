# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of real runs: what a crash, a full disk, damage or a lost node cost, and what is told.

Under torchrun where its signals count; else the ranks are forked, see forked_ranks.py.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from forked_ranks import ends_of, said_in, start_ranks, start_script
from gaudi3_scale.checkpoints.files import checkpoint_path, damage, found_in, manifest_of, steps_in
from job_runs import SMALL_MODEL, end_of, losses, ranks_of, read_lines, torchrun, wait_until
from tests.long_rows import each, rows_of

TRAIN = ["--device", "cpu", *SMALL_MODEL, "--metrics-every", 1, "--max-steps", 60]
TRAIN += ["--learning-rate", 0.01, "--warmup-steps", 5, "--checkpoint-every", 20]
LICENSE = Path(__file__).parents[3] / "LICENSE"


def train(directory: Path, *options: object, ranks: int = 2) -> list[dict]:
    """The metric lines of one run that ends well."""
    before = len(read_lines(directory / "metrics.jsonl"))
    ends = ends_of(start_ranks([directory], [*TRAIN, "--text", LICENSE, *options], ranks))
    assert ends == [0] * ranks, said_in(directory)
    return read_lines(directory / "metrics.jsonl")[before:]


def start_two_nodes(tmp_path: Path, *options: object) -> list[BaseProcess]:
    """One rank on each; they share no directory."""
    return start_ranks([tmp_path / name for name in ("first", "second")], [*TRAIN, "--text", LICENSE, *options])


def train_on_two_nodes(tmp_path: Path, *options: object) -> list[dict]:
    before = len(read_lines(tmp_path / "first" / "metrics.jsonl"))
    assert ends_of(start_two_nodes(tmp_path, *options)) == [0, 0], said_in(tmp_path)
    return read_lines(tmp_path / "first" / "metrics.jsonl")[before:]


def of_kind(lines: list[dict], kind: str) -> list[dict]:
    return [line for line in lines if line["kind"] == kind]


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> dict[int, float]:
    """The losses of 60 steps on two ranks, uninterrupted."""
    found = losses(train(tmp_path_factory.mktemp("whole")))
    assert list(found) == list(range(1, 61))
    return found


@pytest.fixture(scope="module")
def two_nodes(tmp_path_factory, whole) -> Path:
    """What two nodes have when a run stopped after step 45."""
    folder = tmp_path_factory.mktemp("nodes")
    lines = train_on_two_nodes(folder, "--stop-after-steps", 45)
    assert losses(lines) == {step: loss for step, loss in whole.items() if step <= 45}
    for node in ("first", "second"):
        assert list(steps_in(folder / node / "checkpoints")) == [40, 45]
    return folder


@pytest.fixture
def nodes(two_nodes, tmp_path) -> Path:
    return shutil.copytree(two_nodes, tmp_path / "nodes")


def test_an_interrupted_job_has_the_very_same_losses(tmp_path, whole):
    job = tmp_path / "job"
    first = train(job, "--stop-after-steps", 25)
    shutil.copytree(job, tmp_path / "other")
    second = train(job)
    assert second[0]["resumed_from"] == 25
    assert {**losses(first), **losses(second)} == whole
    checkpoints = of_kind(second, "checkpoint")
    assert [line["step"] for line in checkpoints] == [40, 60]
    for line in checkpoints:
        assert line["bytes"] == manifest_of(Path(line["path"])).bytes
        assert 0 < line["blocked_seconds"] <= line["seconds"]
    # As many windows a step on twice the ranks: the same sums, added in another order.
    spread = losses(train(tmp_path / "other", "--batch-size", 4, ranks=4))
    assert spread == pytest.approx({step: loss for step, loss in whole.items() if step > 25}, rel=2e-3)


def test_local_ranks_share_out_one_copy(tmp_path):
    train(tmp_path, "--max-steps", 5, "--checkpoint-every", 5)
    files = manifest_of(checkpoint_path(tmp_path / "checkpoints", 5)).files
    sizes = {name: record.bytes for name, record in files.items() if name.endswith(".distcp")}
    assert len(sizes) == 2
    assert max(sizes.values()) < 0.7 * sum(sizes.values())


def assert_stopped_and_goes_on(job: Path, whole: dict[int, float]) -> None:
    """All ranks wrote the checkpoint of one step, and the next run goes on from there with the very same losses."""
    lines = read_lines(job / "metrics.jsonl")
    (stopped,) = of_kind(lines, "stopped")
    assert lines[-1] == stopped
    assert stopped["reason"] == "SIGTERM"
    assert 5 <= stopped["step"] < 60
    assert stopped["step"] == max(losses(lines)) == of_kind(lines, "checkpoint")[-1]["step"]
    after = losses(train(job))
    assert min(after) == stopped["step"] + 1
    assert {**losses(lines), **after} == whole


def has_stepped(job: Path) -> bool:
    return len(of_kind(read_lines(job / "metrics.jsonl"), "step")) >= 5


def test_sigterm_to_one_rank_writes_a_checkpoint_at_one_step_and_ends(tmp_path, whole):
    ranks = start_ranks([tmp_path], [*TRAIN, "--text", LICENSE], 2)
    wait_until(lambda: has_stepped(tmp_path), ranks[1])
    os.kill(ranks[1].pid, signal.SIGTERM)
    assert ends_of(ranks) == [0, 0], said_in(tmp_path)
    assert_stopped_and_goes_on(tmp_path, whole)


@pytest.mark.in_turn
def test_sigterm_to_every_process_some_of_them_twice_is_one(tmp_path, whole):
    job = torchrun(tmp_path, "-m", "gaudi3_scale.train", *TRAIN, "--text", LICENSE)
    wait_until(lambda: has_stepped(tmp_path), job)
    ranks = ranks_of(job)
    for pid in [*ranks, job.pid, *ranks]:
        os.kill(pid, signal.SIGTERM)
    end_of(job)
    assert_stopped_and_goes_on(tmp_path, whole)


def test_a_second_sigterm_ends_at_once(tmp_path):
    script = tmp_path / "job.py"
    script.write_text(
        "import os, signal, time\n"
        "from gaudi3_scale import stop_together\n"
        "class Trainer:\n"
        "    class fit_loop:\n"
        "        class epoch_loop: pass\n"
        "stop_together.SAME_SIGNAL_SECONDS = 0.5\n"
        "stopping = stop_together.StopSignal()\n"
        "stopping.install(Trainer)\n"
        "print('ready', flush=True)\n"
        "while True:\n"
        "    time.sleep(0.05)\n"
        "    stopping.received and print('finishing the step', flush=True)\n"
    )
    (process,) = start_script(tmp_path, script, ranks=1)

    wait_until(lambda: said_in(tmp_path) == "ready\n", process)
    for _ in range(2):  # the same signal, passed on by torchrun
        before = said_in(tmp_path)
        os.kill(process.pid, signal.SIGTERM)
        wait_until(lambda: said_in(tmp_path).startswith(f"{before}finishing the step\n"), process)  # noqa: B023, at once
    time.sleep(0.7)
    assert process.is_alive()
    process.terminate()
    assert ends_of([process], 60) == [-signal.SIGTERM]


@each(2)
def test_killed_while_it_saves_at_many_moments(tmp_path, nth):
    """Each run goes on from what the one before left; nothing that is half-written is ever gone on from."""
    larger = [
        "--layers",
        4,
        "--width",
        192,
        "--heads",
        4,
        "--max-steps",
        16,
        "--checkpoint-every",
        1,
        "--text",
        LICENSE,
    ]

    def start(job: Path) -> BaseProcess:
        (rank,) = start_ranks([job], [*TRAIN, *larger])
        return rank

    assert ends_of([start(tmp_path / "whole")]) == [0]
    usual = max(line["seconds"] for line in of_kind(read_lines(tmp_path / "whole" / "metrics.jsonl"), "checkpoint"))
    job, newest, interrupted = tmp_path / "job", 0, 0
    checkpoints = job / "checkpoints"
    for moment in rows_of(range(8), nth):
        process = start(job)
        wait_until(lambda: max(steps_in(checkpoints), default=0) > newest, process)  # noqa: B023, called at once
        wait_until(lambda: any(path.suffix != ".removed" for path in checkpoints.glob(".step-*")), process)
        time.sleep(usual * moment / 8)
        process.kill()
        process.join()
        interrupted += any(checkpoints.glob(".step-*"))
        steps = steps_in(checkpoints)
        assert max(steps) > newest, "a run that saved once has not lost it"
        newest = max(steps)
        assert {step: damage(path, manifest_of(path)) for step, path in steps.items()} == dict.fromkeys(steps)
        if newest > 13:
            break
    assert interrupted >= 2
    assert ends_of([start(job)]) == [0]
    assert losses(read_lines(job / "metrics.jsonl")) == losses(read_lines(tmp_path / "whole" / "metrics.jsonl"))
    assert sorted(path.name for path in checkpoints.iterdir()) == ["step-00000015", "step-00000016"]


def test_a_spare_gets_the_checkpoint_from_a_node_that_has_it(nodes, whole):
    shutil.rmtree(nodes / "second" / "checkpoints")
    lines = train_on_two_nodes(nodes, "--checkpoints-kept", 5)
    assert lines[0]["resumed_from"] == 45
    assert losses(lines) == {step: loss for step, loss in whole.items() if step > 45}
    first, second = (checkpoint_path(nodes / node / "checkpoints", 45) for node in ("first", "second"))
    assert manifest_of(first) == manifest_of(second)
    assert damage(second, manifest_of(second)) is None


def harm(folder: Path) -> None:
    """One bit of one file."""
    file = folder / "__0_0.distcp"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def test_a_node_with_a_damaged_copy_gets_a_whole_one(nodes, whole):
    damaged = checkpoint_path(nodes / "first" / "checkpoints", 45)
    harm(damaged)
    lines = train_on_two_nodes(nodes, "--stop-after-steps", 2)
    (left_out,) = of_kind(lines, "checkpoint_left_out")
    assert (left_out["step"], left_out["where"]) == (45, f"rank 0: {damaged}")
    assert left_out["message"] == "__0_0.distcp has another checksum than manifest.json"
    assert of_kind(lines, "start")[0]["resumed_from"] == 45
    assert losses(lines) == {step: whole[step] for step in (46, 47)}
    assert damaged.with_name("step-00000045.damaged").is_dir()


def test_a_step_that_no_node_has_whole_is_left_out_for_the_next_older(nodes, whole):
    harm(checkpoint_path(nodes / "first" / "checkpoints", 45))
    (checkpoint_path(nodes / "second" / "checkpoints", 45) / "manifest.json").unlink()
    lines = train_on_two_nodes(nodes)
    assert [line["step"] for line in of_kind(lines, "checkpoint_left_out")] == [45, 45]
    assert of_kind(lines, "start")[0]["resumed_from"] == 40
    assert losses(lines) == {step: loss for step, loss in whole.items() if step > 40}
    assert found_in(nodes / "second" / "checkpoints")[1] == {}


@pytest.fixture
def small_disk(tmp_path):
    """The second node's checkpoints lie on a file system of 4 MiB of their own."""
    directory = tmp_path / "second" / "checkpoints"
    directory.mkdir(parents=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", directory], capture_output=True)
    if mounted.returncode:
        pytest.skip("only root can mount a file system of its own")
    yield directory
    subprocess.run(["umount", "--lazy", directory], check=True)


def test_a_full_disk_costs_a_checkpoint_and_no_training(small_disk, tmp_path):
    """Full for the second node alone, after its first checkpoint, until the failure is told."""
    metrics = tmp_path / "first" / "metrics.jsonl"
    first, second = nodes = start_two_nodes(tmp_path, "--max-steps", 6000, "--checkpoint-every", 50)
    wait_until(lambda: steps_in(small_disk), second)
    ballast = small_disk / "ballast"
    with ballast.open("wb", buffering=0) as stream, pytest.raises(OSError, match="No space left on device"):
        while True:
            stream.write(bytes(1 << 16))
    wait_until(lambda: of_kind(read_lines(metrics), "checkpoint_failed"), first)
    kept = list(steps_in(small_disk))
    assert kept, "nothing older was removed for what failed"
    ballast.unlink()
    wait_until(lambda: max(steps_in(small_disk)) > max(kept), second)
    first.terminate()
    assert ends_of(nodes) == [0, 0], said_in(tmp_path)
    lines = read_lines(metrics)
    failed = of_kind(lines, "checkpoint_failed")
    assert {line["rank"] for line in failed} == {1}
    assert all("No space left on device" in line["message"] for line in failed)
    assert {line["step"] for line in failed} <= {line["step"] for line in of_kind(lines, "checkpoint")}
    assert not any(small_disk.glob(".step-*"))
    assert f"no checkpoint of step {failed[0]['step']}: rank 1: " in (tmp_path / "second" / "1.log").read_text()


def fill(directory: Path) -> None:
    with (directory / "ballast").open("wb", buffering=0) as stream, pytest.raises(OSError, match="No space left"):
        while True:
            stream.write(bytes(1 << 16))


@pytest.mark.in_turn
def test_a_training_whose_last_state_is_nowhere_has_not_succeeded(small_disk, tmp_path):
    fill(small_disk)
    options = ["--max-steps", 8, "--text", LICENSE]
    assert ends_of(start_ranks([small_disk.parent], [*TRAIN, *options])) == [1]
    said = (small_disk.parent / "0.log").read_text()
    assert f"no checkpoint of step 8, with which the training ended, could be written to {small_disk}: rank 0: " in said
    assert "No space left on device" in said
    assert "training continues" not in said
    assert said.count("it is tried again in") == 2
    kinds = [line["kind"] for line in read_lines(small_disk.parent / "metrics.jsonl")]
    assert kinds[-3:] == ["checkpoint_failed"] * 3
    # One whole copy is enough to go on from, and the other disk's trouble is said.
    assert ends_of(start_two_nodes(tmp_path, "--max-steps", 8)) == [0, 0]
    assert list(steps_in(tmp_path / "first" / "checkpoints")) == [8]
    lines = read_lines(tmp_path / "first" / "metrics.jsonl")
    assert [line["rank"] for line in of_kind(lines, "checkpoint_failed")] == [1]
    assert lines[-1]["kind"] == "end"


@pytest.mark.long
def test_the_last_state_is_written_once_there_is_room_again(small_disk):
    fill(small_disk)
    metrics = small_disk.parent / "metrics.jsonl"
    ranks = start_ranks([small_disk.parent], [*TRAIN, "--max-steps", 8, "--text", LICENSE])
    wait_until(lambda: of_kind(read_lines(metrics), "checkpoint_failed"), ranks[0])
    (small_disk / "ballast").unlink()
    assert ends_of(ranks) == [0]
    kinds = [line["kind"] for line in read_lines(metrics)]
    assert (kinds.count("checkpoint_failed"), kinds.count("checkpoint"), kinds[-1]) == (1, 1, "end")
    assert list(steps_in(small_disk)) == [8]
    assert not damage(checkpoint_path(small_disk, 8), manifest_of(checkpoint_path(small_disk, 8)))


@pytest.mark.long
def test_a_sharded_training_goes_on_sharded_or_not(tmp_path):
    """FSDP2's ranks write their own shards; DDP, and another number of ranks, read them all the same."""
    whole = losses(train(tmp_path / "whole", "--sharding", "fsdp2", "--max-steps", 30))
    first = losses(train(tmp_path / "job", "--sharding", "fsdp2", "--max-steps", 30, "--stop-after-steps", 15))
    for name in ("ddp", "four"):
        shutil.copytree(tmp_path / "job", tmp_path / name)
    sizes = [path.stat().st_size for path in (tmp_path / "job" / "checkpoints" / "step-00000015").glob("*.distcp")]
    assert len(sizes) == 2
    assert max(sizes) < 0.6 * sum(sizes)
    second = losses(train(tmp_path / "job", "--sharding", "fsdp2", "--max-steps", 30))
    assert {**first, **second} == whole
    rest = {step: loss for step, loss in whole.items() if step > 15}
    assert losses(train(tmp_path / "ddp", "--max-steps", 30)) == pytest.approx(rest, rel=2e-3)
    kept = ["--sharding", "fsdp2", "--max-steps", 30, "--global-batch-size", 16, "--batch-size", 4]
    assert losses(train(tmp_path / "four", *kept, ranks=4)) == pytest.approx(rest, rel=2e-3)


def test_shards_on_disks_that_are_not_shared_are_refused(tmp_path):
    assert ends_of(start_two_nodes(tmp_path, "--sharding", "fsdp2")) == [1, 1]
    reported = (tmp_path / "first" / "0.log").read_text()
    assert "--job-dir: a model that is sharded over all ranks needs one directory of checkpoints" in reported
    assert not list((tmp_path / "first" / "checkpoints").glob("step-*"))
