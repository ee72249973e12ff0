# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Programs that know nothing of the collection, each over two nodes, lose a rank after their first checkpoint.

They keep their checkpoints where all nodes see them, as such programs do: Hugging Face's, Lightning's and PyTorch's own
examples save on rank 0 and read on all ranks. One more tells its steps by a callback.
"""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.sandbox_jobs import PATIENCE_S, launching, lines, podman, processes, screen, shell, status, wait_for
from tests.sandbox_nodes import SANDBOX

# All of them together would be too much for the cores of one machine; two at a time have a pair of nodes each.
PAIRS = (["node1", "node2"], ["node3", "node4"])
PROGRAMS = "/var/tmp/programs"
SHARED = "/shared/programs"
TRANSFORMERS = "--use_cpu --ddp_backend gloo --report_to none --max_steps 160 --save_steps 20 --logging_steps 5"


@dataclass(frozen=True)
class Program:
    """``checkpoint`` is what its first one is complete with; ``resumed`` is what it says of where it goes on."""

    name: str
    file: str
    arguments: str
    checkpoint: str
    resumed: str

    @property
    def path(self) -> str:
        return f"{PROGRAMS}/{self.file}"

    @property
    def directory(self) -> str:
        return f"{SHARED}/{self.name}"

    def command(self) -> list[str]:
        return [self.path, *shlex.split(self.arguments.format(directory=self.directory))]


TRAINER = r"resuming training at .*/checkpoint-(\d+)"
ALL = (
    Program("ddp", "bare_ddp.py", "{directory} --epochs 60", "snapshot.pt", r"from snapshot at epoch (\d+)"),
    Program("lightning", "lightning_trainer.py", "--directory {directory}", "last.ckpt", r"going on at step (\d+)"),
    Program("accelerate", "accelerated.py", "--output_dir {directory}", "step_20/random_states_1.pkl", r": step_(\d+)"),
    Program(
        "transformers",
        "hugging_face_trainer.py",
        f"--output_dir {{directory}} {TRANSFORMERS}",
        "checkpoint-20/trainer_state.json",
        TRAINER,
    ),
    Program(
        "reported",
        "hugging_face_reported.py",
        f"--output_dir {{directory}} {TRANSFORMERS}",
        "checkpoint-20/trainer_state.json",
        TRAINER,
    ),
)


@dataclass(frozen=True)
class Ended:
    """A job that lost a rank: where its first rank ran, what was on the screen, and its page."""

    node: str
    exit_code: int
    said: str
    page: str


def rank_of(node: str, program: Program) -> int:
    (found,) = [number for number, command in processes(node, program.name).items() if f" -u {program.path}" in command]
    return found


def lose_a_rank(program: Program, place: int, directory: Path) -> Ended:
    """Launch it, kill the second node's rank after the first checkpoint, and follow it to its end."""
    hosts = PAIRS[place]
    port = 29700 + 10 * ALL.index(program)
    following = launching(
        directory,
        training_name=program.name,
        training_hosts=hosts,
        training_processes_per_node=1,
        training_command=program.command(),
        training_rendezvous_port=port,
        training_environment={"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
    )
    there = f"ls {program.directory}/{program.checkpoint} 2>/dev/null || true"
    wait_for(f"a checkpoint of {program.name}", lambda: shell(hosts[0], there).strip() or following.poll() is not None)
    assert following.poll() is None, screen(directory)
    # It need not be on the disk as a whole yet, and no program here looks for that.
    time.sleep(2)
    shell(hosts[1], f"kill -KILL {rank_of(hosts[1], program)}")
    exit_code = following.wait(timeout=PATIENCE_S)
    page = directory / "reports" / f"training-{program.name}.html"
    return Ended(hosts[0], exit_code, screen(directory), page.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Program], Ended]]:
    """What became of each. All are on their way from the first question on."""
    for node in (*PAIRS[0], *PAIRS[1]):
        podman("cp", f"{Path(__file__).with_name('programs')}/.", f"{SANDBOX}-{node}:{PROGRAMS}")
    shell("node1", f"rm -rf {SHARED} && mkdir -p {SHARED}")
    # One after the other on each pair.
    queues = [ThreadPoolExecutor(1) for _pair in PAIRS]
    places = {program: number % len(PAIRS) for number, program in enumerate(ALL)}
    ways = {
        program: queues[place].submit(lose_a_rank, program, place, tmp_path_factory.mktemp(program.name))
        for program, place in places.items()
    }
    yield lambda program: ways[program].result()
    for queue in queues:
        queue.shutdown()
    shell("node1", f"rm -rf {SHARED}")


@pytest.mark.parametrize("program", ALL, ids=lambda program: program.name)
def test_it_ends_well_after_a_rank_was_killed(ended: Callable[[Program], Ended], program: Program) -> None:
    job = ended(program)
    assert job.exit_code == 0, job.said
    told = status(job.node, program.name)
    assert (told["outcome"], told["restarts"]) == ("succeeded", 1), job.said
    assert "failed first: killed by SIGKILL" in job.said


@pytest.mark.parametrize("program", ALL, ids=lambda program: program.name)
def test_it_did_not_begin_at_the_beginning_again(ended: Callable[[Program], Ended], program: Program) -> None:
    logs = f"/var/log/gaudi3_scale/jobs/{program.name}/ranks"
    said = shell(ended(program).node, f"grep -rhiE 'resum|going on' {logs} || true")
    resumed = [int(step) for step in re.findall(program.resumed, said)]
    # Once: it was started again once, and what it went on from is what was there.
    assert len(resumed) == 1, said
    assert resumed[0] > 0


@pytest.mark.parametrize("program", ALL[:-1], ids=lambda program: program.name)
def test_its_page_shows_what_was_seen_from_outside(ended: Callable[[Program], Ended], program: Program) -> None:
    job = ended(program)
    assert lines(job.node, program.name) == []
    assert "the program reports no steps; seen from outside" in job.page
    assert "Processor of each node" in job.page
    assert "killed by SIGKILL" in job.page


def test_the_one_that_reports_has_its_steps_on_its_page(ended: Callable[[Program], Ended]) -> None:
    job = ended(ALL[-1])
    told = lines(job.node, "reported")
    starts = [line for line in told if line["kind"] == "start"]
    steps = [line for line in told if line["kind"] == "step"]
    assert [line["world_size"] for line in starts] == [2, 2]
    assert starts[0]["resumed_from"] is None
    assert starts[1]["resumed_from"] == starts[1]["step"] >= 20
    assert steps[-1]["step"] == steps[-1]["max_steps"] == 160
    assert [line["step"] for line in told if line["kind"] == "end"] == [160]
    losses = [line["loss"] for line in steps if "loss" in line]
    assert losses[-1] < losses[0]
    assert any(line.get("samples_per_second", 0) > 0 for line in steps)
    assert "at step 160 of 160" in job.page
    assert "samples/s" in job.page
    assert "started 2 times" in job.page
    for title in ("Loss", "Speed", "Learning rate"):
        assert title in job.page
