# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Sharded trainings over several nodes that go on from the parts of a copy that each node has in memory.

Nodes share a directory of checkpoints, and each has its own memory: a directory of one tmpfs.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save

from forked_ranks import ends_of, said_in, start_ranks
from gaudi3_scale.checkpoints import gathered_parts
from gaudi3_scale.checkpoints.fence import VARIABLE, Fence, Generation
from gaudi3_scale.checkpoints.files import manifest_of, steps_in, write_manifest
from gaudi3_scale.checkpoints.gathered_parts import Parts
from gaudi3_scale.checkpoints.manifest import FileRecord, Manifest
from gaudi3_scale.checkpoints.memory_room import IDENTITY, PREFIX, directory_of
from job_runs import SMALL_MODEL, losses, read_lines, wait_until

LICENSE = Path(__file__).parents[3] / "LICENSE"
PLAN = ["--learning-rate", 0.01, "--warmup-steps", 5, "--max-steps", 6000, "--checkpoint-every", 3000]
MODEL = ["--device", "cpu", "--sharding", "fsdp2", *SMALL_MODEL, "--batch-size", 2, "--global-batch-size", 12]
SHARDED = [*MODEL, *PLAN, "--text", LICENSE, "--metrics-every", 1]
ON_DISK, MORE = 2, 3


@dataclass
class Job:
    """``memory`` has a folder for each node."""

    folder: Path
    memory: Path
    nodes: int = 3
    ranks: int = 1

    @property
    def checkpoints(self) -> Path:
        return self.folder / "checkpoints"

    def start(self, *options: object, nodes: int | None = None, **variables: str):
        nodes = nodes or self.nodes
        for node in range(nodes):
            (self.memory / str(node)).mkdir(parents=True, exist_ok=True)
        return start_ranks(
            [self.folder] * nodes,
            [*SHARDED, "--memory-every", 1, *options],
            self.ranks,
            variables,
            [["--memory-dir", self.memory / str(node)] for node in range(nodes)],
        )

    def train(self, steps: int, *options: object, nodes: int | None = None) -> list[dict]:
        """So many steps; what this run told."""
        before = len(self.lines())
        ranks = self.start("--stop-after-steps", steps, *options, nodes=nodes)
        assert ends_of(ranks) == [0] * len(ranks), said_in(self.folder)
        return self.lines()[before:]

    def lines(self) -> list[dict]:
        return read_lines(self.folder / "metrics.jsonl")

    def own(self, node: int) -> Path:
        """The directory of that node's memory that this job's copies are in."""
        identity = (self.checkpoints / IDENTITY).read_text().strip()
        return directory_of(self.memory / str(node), identity, self.checkpoints)

    def have_copies(self) -> bool:
        return all(list(self.memory.glob(f"{node}/{PREFIX}*/step-*")) for node in range(self.nodes))

    def fail(self) -> None:
        """All ranks are killed at once, some steps after the first copy."""
        ranks = self.start()
        wait_until(self.have_copies, ranks[0])
        time.sleep(0.3)
        for rank in reversed(ranks):
            rank.kill()
        for rank in ranks:
            rank.join()

    def weights(self, step: int, folder: Path) -> dict[str, torch.Tensor]:
        """And the optimizer's state, of a checkpoint on the disk."""
        dcp_to_torch_save(self.checkpoints / f"step-{step:08d}", folder / "whole.pt")
        whole = torch.load(folder / "whole.pt", weights_only=True)
        states = {f"{name}.{key}": one for name, of in whole["optimizer"].items() for key, one in of.items()}
        return {**whole["model"], **states}


@pytest.fixture(scope="module")
def memory() -> Iterator[Path]:
    """A directory of /dev/shm, removed afterwards."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        yield Path(directory)


@pytest.fixture(scope="module")
def failed(memory, tmp_path_factory) -> Job:
    """Three nodes of one rank, and a checkpoint on the disk that is older than what is in memory."""
    job = Job(tmp_path_factory.mktemp("failed"), memory / "failed")
    job.train(ON_DISK)
    job.fail()
    return job


@pytest.fixture
def job(failed, memory, tmp_path) -> Job:
    """The same, of each test's own."""
    mine = Job(tmp_path / "job", memory / tmp_path.name)
    shutil.copytree(failed.folder, mine.folder)
    for node in range(mine.nodes):
        shutil.copytree(failed.own(node), mine.own(node))
    return mine


@pytest.fixture(scope="module")
def undisturbed(failed, memory, tmp_path_factory) -> Job:
    """The same training, which nothing happened to, as far as the tests go."""
    whole = Job(tmp_path_factory.mktemp("whole"), memory / "whole")
    whole.train(newest_of(failed) + MORE, "--memory-every", 0)
    return whole


def newest_of(job: Job) -> int:
    """Of which all is in memory."""
    found = [{*steps_in(job.own(node))} for node in range(job.nodes)]
    return max(set.intersection(*found))


def assert_as_undisturbed(job: Job, told: list[dict], whole: Job, folder: Path, resumed: int) -> None:
    assert (told_of(told, "start")["resumed_copy"], told_of(told, "start")["resumed_from"]) == ("memory", resumed)
    made, wanted = losses(job.lines()), losses(whole.lines())
    assert {step: made[step] for step in wanted} == wanted
    mine, theirs = job.weights(resumed + MORE, folder), whole.weights(resumed + MORE, folder)
    assert mine.keys() == theirs.keys()
    assert [name for name in mine if not torch.equal(mine[name], theirs[name])] == []
    assert not list(job.memory.glob("*/*"))


def told_of(lines: list[dict], kind: str) -> dict:
    return next(line for line in lines if line["kind"] == kind)


def test_no_node_has_all_of_it(failed):
    folders = [failed.own(node) / f"step-{newest_of(failed):08d}" for node in range(3)]
    names = [sorted(path.name for path in folder.iterdir()) for folder in folders]
    both = [".metadata", "__0_0.distcp", "__1_0.distcp", "__2_0.distcp", "manifest.json"]
    assert names == [[name for name in both if name != f"__{lacks}_0.distcp"] for lacks in (1, 2, 0)]


@pytest.mark.parametrize("lost", ["the ranks", "a node's memory", "a file", "a manifest"])
def test_a_failed_training_goes_on_from_memory_with_the_very_same_losses(job, undisturbed, tmp_path, lost):
    resumed = newest_of(job)
    copy = job.own(2) / f"step-{resumed:08d}"
    if lost == "a node's memory":
        shutil.rmtree(job.memory / "2")
    elif lost == "a file":
        content = bytearray((copy / "__2_0.distcp").read_bytes())
        content[len(content) // 2] ^= 1
        (copy / "__2_0.distcp").write_bytes(content)
        (copy / ".metadata").unlink()
    elif lost == "a manifest":
        # Another run's, of the same step.
        manifest = manifest_of(job.own(0) / copy.name)
        write_manifest(job.own(0) / copy.name, replace(manifest, run=manifest.run ^ 1))
    told = job.train(MORE)
    assert_as_undisturbed(job, told, undisturbed, tmp_path, resumed)
    said = f"{copy} is damaged: __2_0.distcp has another checksum than manifest.json; another node has it."
    assert (said in (job.folder / "2.log").read_text()) is (lost == "a file")
    assert not [line for line in told if line["kind"] == "checkpoint_left_out"]


def test_of_two_lost_neighbors_the_disk_s_is_left(job, undisturbed):
    resumed = newest_of(job)
    for node in (1, 2):
        shutil.rmtree(job.memory / str(node))
    told = job.train(MORE)
    start, left_out = told_of(told, "start"), told_of(told, "checkpoint_left_out")
    assert (start["resumed_copy"], start["resumed_from"]) == ("disk", ON_DISK)
    assert (left_out["step"], left_out["message"]) == (resumed, "__1_0.distcp is on no node")
    wanted = losses(undisturbed.lines())
    again = losses(told)
    assert again == {step: wanted[step] for step in again}


@pytest.mark.parametrize("nodes", [2, pytest.param(1, marks=pytest.mark.long), pytest.param(4, marks=pytest.mark.long)])
def test_another_number_of_nodes_reads_it(job, undisturbed, nodes):
    resumed = newest_of(job)
    if nodes < 3:
        # The first and the second have all that the third wrote or was given.
        shutil.rmtree(job.memory / "2")
    if nodes == 1:
        # One has not: with more ranks on it, all three parts would be there.
        shutil.copytree(job.own(1), job.own(0), dirs_exist_ok=True)
    told = job.train(MORE, *(["--global-batch-size", 16] if nodes == 4 else []), nodes=nodes)
    start = told_of(told, "start")
    assert (start["resumed_copy"], start["resumed_from"]) == ("memory", resumed)
    if nodes < 4:
        wanted, again = losses(undisturbed.lines()), losses(told)
        assert again == pytest.approx({step: wanted[step] for step in again}, rel=2e-3)


@pytest.mark.long
def test_nodes_of_two_ranks_go_on_from_memory(memory, tmp_path):
    """With each node's part on two nodes, so that either may be lost."""
    job = Job(tmp_path / "job", memory / tmp_path.name, nodes=2, ranks=2)
    options = ["--global-batch-size", 16]
    job.start = lambda *more, start=job.start, **named: start(*options, *more, **named)
    job.fail()
    resumed = newest_of(job)
    shutil.rmtree(job.memory / "0")
    told = job.train(MORE)
    whole = Job(tmp_path / "whole", memory / f"{tmp_path.name}-whole", nodes=2, ranks=2)
    whole.train(resumed + MORE, "--memory-every", 0, *options)
    assert_as_undisturbed(job, told, whole, tmp_path, resumed)


@pytest.fixture
def small(tmp_path) -> Iterator[Path]:
    """A job of two nodes, of which the second has a tmpfs of its own."""
    job = Job(tmp_path / "job", tmp_path / "memory", nodes=2)
    (job.memory / "1").mkdir(parents=True)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as first:
        (job.memory / "0").symlink_to(first)
        yield job
    subprocess.run(["umount", "--lazy", job.memory / "1"], check=False)


def mount(directory: Path, size: str) -> None:
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", directory]
    if subprocess.run(mounting, capture_output=True).returncode:
        pytest.skip("only root can mount a file system of its own")


def test_where_one_node_has_no_room_none_has_copies(small):
    mount(small.memory / "1", "128k")
    told = [line for line in small.train(6) if line["kind"] == "memory_copy"]
    assert [(line["state"], line["rank"]) for line in told] == [("off", 1)]
    assert f"would leave less than a tenth of {small.memory / '1'} free" in told[0]["message"]
    assert small.folder.joinpath("0.log").read_text().count("no copies in memory from here on: rank 1: ") == 1
    assert not list(small.memory.glob("*/*"))


@pytest.mark.in_turn
def test_a_node_that_runs_full_ends_the_copies_of_all(small):
    mount(small.memory / "1", "4m")
    ranks = small.start("--stop-after-steps", 100)
    wait_until(small.have_copies, ranks[0])
    filler = small.memory / "1" / "filler"
    with filler.open("wb", buffering=0) as stream, pytest.raises(OSError, match="No space left"):
        while True:
            stream.write(bytes(1 << 16))
    assert ends_of(ranks) == [0, 0], said_in(small.folder)
    told = [line for line in small.lines() if line["kind"] == "memory_copy"]
    assert [line["state"] for line in told] == ["on", "off"]
    assert "could not be written to " in told[1]["message"]
    assert len(losses(small.lines())) == 100
    assert list(small.memory.glob("*/*")) == [filler]


@pytest.mark.in_turn
def test_a_node_that_lost_its_fence_puts_nothing_in_place(memory, tmp_path):
    job = Job(tmp_path / "job", memory / tmp_path.name, nodes=2)
    ranks = job.start(**{VARIABLE: "0123456789abcdef:1"})
    wait_until(job.have_copies, ranks[0])
    Fence(job.own(1), Generation("0123456789abcdef", 2)).take()
    ranks[1].join(60)
    ranks[0].kill()
    assert ends_of(ranks)[1] == 1
    assert "is held by generation 2 of launch 0123456789abcdef" in (job.folder / "1.log").read_text()
    assert len(steps_in(job.own(1))) == 1


def test_of_what_another_rank_asks_for_nothing_else_is_read():
    files = {"__0_0.distcp": FileRecord(10, "0" * 64)}
    parts = Parts(None, Manifest(5, 1, files), {0: frozenset(files)}, (0,))
    assert parts.is_range(["__0_0.distcp", 4, 6])
    for asked in (["../job", 0, 1], ["__0_0.distcp", 4, 7], ["__0_0.distcp", -1, 2], ["__0_0.distcp", 9, -1], ["a"]):
        assert not parts.is_range(asked)


def test_what_is_asked_for_comes_in_pieces_of_bounded_size(monkeypatch):
    monkeypatch.setattr(gathered_parts, "CHUNK_BYTES", 10)
    asked = [("a", 0, 4), ("a", 8, 25), ("b", 3, 1), ("c", 0, 0)]
    pieces = [*gathered_parts._batches(asked)]
    assert [sum(length for _name, _at, length in piece) for piece in pieces] == [10, 10, 10]
    assert [*gathered_parts._batches([])] == []
    read = {(name, at + one) for piece in pieces for name, at, length in piece for one in range(length)}
    assert read == {(name, at + one) for name, at, length in asked for one in range(length)}
