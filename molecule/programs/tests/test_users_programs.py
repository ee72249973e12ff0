# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Programs that know nothing of the collection, by the installed collection alone, on the nodes that it has set up.

Each runs over both nodes, loses a rank after its first checkpoint, and ends well. One tells its steps by a callback.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.long_rows import named_rows
from tests.sandbox_jobs import lines, shell, status
from tests.sandbox_programs import (
    SECONDS_PER_STEP,
    SHARED,
    Ended,
    Program,
    bring_programs,
    equip,
    lose_a_rank,
    of_transformers,
    resumed_from,
)

NODES = ["node1", "node2"]
# All of them together would be too much for the cores of one machine.
AT_A_TIME = 2
# Its author's choice, beside what the role pins: Hugging Face's Trainer wants it.
ACCELERATE = "accelerate>=1,<2"
ALL = (
    Program("ddp", "bare_ddp.py", "{directory} --epochs 60", "snapshot.pt", r"from snapshot at epoch (\d+)"),
    Program(
        "lightning",
        "lightning_trainer.py",
        f"--directory {{directory}} --max-steps 150 --seconds-per-step {SECONDS_PER_STEP}",
        "last.ckpt",
        r"going on at step (\d+)",
    ),
    Program(
        "accelerate",
        "accelerated.py",
        f"--output_dir {{directory}} --num_epochs 4 --seconds_per_step {SECONDS_PER_STEP}",
        "step_20/random_states_1.pkl",
        r": step_(\d+)",
    ),
    of_transformers("transformers", "hugging_face_trainer.py"),
    of_transformers("reported", "hugging_face_reported.py"),
)


# The plainest there is; the others take minutes more, and what they import has to be installed.
CHOSEN = ("ddp",)
# What the nodes have as `site.yml` leaves them.
NEEDS_NOTHING_MORE = {"ddp", "lightning"}


def asked(*programs: Program) -> list[Any]:
    return named_rows({one.name: one for one in programs}, CHOSEN)


@pytest.fixture(scope="module")
def programs(request: pytest.FixtureRequest) -> set[Program]:
    """Those that this run asks about."""
    tests = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    return {given["program"] for given in tests if "program" in given}


@pytest.fixture(scope="module")
def equipped(collections: Path, programs: set[Program], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The installed collection, once the nodes have what the programs import, as their authors would ask for it."""
    if {one.name for one in programs} <= NEEDS_NOTHING_MORE:
        return collections
    equip(collections, [ACCELERATE], tmp_path_factory.mktemp("stack"))
    return collections


@pytest.fixture(scope="module")
def ended(
    equipped: Path, programs: set[Program], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[Program], Ended]]:
    """What became of each that is asked about. All are on their way from the first question on."""
    bring_programs(NODES)
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        ways = {
            program: pool.submit(
                lose_a_rank, program, NODES, tmp_path_factory.mktemp(program.name), 29700 + 10 * number, equipped
            )
            for number, program in enumerate(ALL)
            if program in programs
        }
        yield lambda program: ways[program].result()
    shell(NODES[0], f"rm -rf {SHARED}")


@pytest.mark.parametrize("program", asked(*ALL))
def test_it_ends_well_after_a_rank_was_killed(
    ended: Callable[[Program], Ended], program: Program, capsys: pytest.CaptureFixture[str]
) -> None:
    job = ended(program)
    with capsys.disabled():
        print(f"{program.name}: resumed {job.resumed_s:.0f} s after a rank was killed")
    assert job.exit_code == 0, job.said
    reported = status(job.node, program.name)
    assert (reported["outcome"], reported["restarts"]) == ("succeeded", 1), job.said
    assert "failed first: killed by SIGKILL" in job.said


@pytest.mark.parametrize("program", asked(*ALL))
def test_it_did_not_begin_at_the_beginning_again(ended: Callable[[Program], Ended], program: Program) -> None:
    resumed = resumed_from(ended(program).node, program)
    # Once: it was started again once, and what it went on from is what was there.
    assert len(resumed) == 1, resumed
    assert resumed[0] > 0


@pytest.mark.parametrize("program", asked(*ALL[:-1]))
def test_its_page_shows_what_was_seen_from_outside(ended: Callable[[Program], Ended], program: Program) -> None:
    job = ended(program)
    assert lines(job.node, program.name) == []
    assert "the program reports no steps; process activity" in job.page
    assert "Processor of each node" in job.page
    assert "killed by SIGKILL" in job.page


@pytest.mark.parametrize("program", asked(ALL[-1]))
def test_the_one_that_reports_has_its_steps_on_its_page(ended: Callable[[Program], Ended], program: Program) -> None:
    job = ended(program)
    reported = lines(job.node, "reported")
    starts = [line for line in reported if line["kind"] == "start"]
    steps = [line for line in reported if line["kind"] == "step"]
    assert [line["world_size"] for line in starts] == [2, 2]
    assert starts[0]["resumed_from"] is None
    assert starts[1]["resumed_from"] == starts[1]["step"] >= 20
    assert steps[-1]["step"] == steps[-1]["max_steps"] == 160
    assert [line["step"] for line in reported if line["kind"] == "end"] == [160]
    losses = [line["loss"] for line in steps if "loss" in line]
    assert losses[-1] < losses[0]
    assert any(line.get("samples_per_second", 0) > 0 for line in steps)
    assert "at step 160 of 160" in job.page
    assert "samples/s" in job.page
    assert "started 2 times" in job.page
    for title in ("Loss", "Speed", "Learning rate"):
        assert title in job.page
