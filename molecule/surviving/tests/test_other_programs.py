# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Programs that know nothing of the collection, each over two nodes, lose a rank after their first checkpoint.

One more tells its steps by a callback. Hugging Face's Trainer, which tells nothing, is what ``molecule/site`` trains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.sandbox_jobs import lines, shell, status
from tests.sandbox_programs import SHARED, Ended, Program, bring_programs, lose_a_rank, of_transformers, resumed_from

# All of them together would be too much for the cores of one machine; two at a time have a pair of nodes each.
PAIRS = (["node1", "node2"], ["node3", "node4"])
ALL = (
    Program("ddp", "bare_ddp.py", "{directory} --epochs 60", "snapshot.pt", r"from snapshot at epoch (\d+)"),
    Program("lightning", "lightning_trainer.py", "--directory {directory}", "last.ckpt", r"going on at step (\d+)"),
    Program("accelerate", "accelerated.py", "--output_dir {directory}", "step_20/random_states_1.pkl", r": step_(\d+)"),
    of_transformers("reported", "hugging_face_reported.py"),
)


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Program], Ended]]:
    """What became of each. All are on their way from the first question on."""
    bring_programs([*PAIRS[0], *PAIRS[1]])
    # One after the other on each pair.
    queues = [ThreadPoolExecutor(1) for _pair in PAIRS]
    ways = {}
    for number, program in enumerate(ALL):
        place, directory = number % len(PAIRS), tmp_path_factory.mktemp(program.name)
        ways[program] = queues[place].submit(lose_a_rank, program, PAIRS[place], directory, 29700 + 10 * number)
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
    resumed = resumed_from(ended(program).node, program)
    # Once: it was started again once, and what it went on from is what was there.
    assert len(resumed) == 1, resumed
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
