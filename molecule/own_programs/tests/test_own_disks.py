# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Programs that know nothing of the collection, on nodes that share no directory: each saves to its node's own disk.

None was changed for that. Each loses a rank after its second checkpoint, and goes on from it on both nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.long_rows import named_rows, rows_of
from tests.sandbox_jobs import shell, status
from tests.sandbox_programs import (
    OWN_DISKS,
    SECONDS_PER_STEP,
    TRAINER,
    Ended,
    Program,
    bring_programs,
    equip,
    lose_a_rank,
    of_transformers,
    resumed_from,
)

NODES = ["node1", "node2"]
AT_A_TIME = 2
# Their authors' choice, beside what the role pins.
FURTHER = ["accelerate>=1,<2", "peft<1", "trl>=1,<2"]
STEPS = r"resumes at step (\d+)"
SECOND = "checkpoint-40/trainer_state.json"
ALL = [
    # It writes one file over and over: the first time after 2 epochs, and a rank is killed 2 s later, or 4 epochs.
    Program("ddp", "bare_ddp.py", "{directory} --epochs 60", "snapshot.pt", r"from snapshot at epoch (\d+)"),
    Program(
        "fabric",
        "fabric_loop.py",
        f"{{directory}} --max-steps 100 --seconds-per-step {SECONDS_PER_STEP}",
        "step-000040.ckpt",
        STEPS,
    ),
    Program(
        "fsdp2",
        "fsdp2_dcp.py",
        f"{{directory}} --max-steps 100 --seconds-per-step {SECONDS_PER_STEP}",
        "step-40/.metadata",
        STEPS,
    ),
    Program(
        "lightning",
        "lightning_trainer.py",
        f"--directory {{directory}} --max-steps 150 --seconds-per-step {SECONDS_PER_STEP}",
        "*step=[468]0.ckpt",
        r"going on at step (\d+)",
    ),
    replace(of_transformers("transformers", "hugging_face_trainer.py"), checkpoint=SECOND),
    replace(
        of_transformers("trl", "trl_sft.py"),
        arguments="--output_dir {directory} --use_cpu --ddp_backend gloo --report_to none --max_steps 160 "
        "--save_steps 20 --per_device_train_batch_size 2 --max_length 32",
        checkpoint=SECOND,
        resumed=TRAINER,
    ),
    Program(
        "fine-tune",
        "fine_tuned.py",
        "--output_dir {directory} --use_cpu --ddp_backend gloo --report_to none --max_steps 600 --save_steps 20 "
        "--save_total_limit 3 --per_device_train_batch_size 8",
        SECOND,
        r"Resuming from .*/checkpoint-(\d+)",
    ),
]
ROWS = {one.name: replace(one, name=f"own-{one.name}", place=OWN_DISKS) for one in ALL}
# One of them in each short run, another one in the next.
CHOSEN = set(rows_of(ROWS, len(ROWS)))
NEEDS_NOTHING_MORE = {"own-ddp", "own-fabric", "own-fsdp2", "own-lightning"}


@pytest.fixture(scope="module")
def programs(request: pytest.FixtureRequest) -> set[Program]:
    """Those that this run asks about."""
    here = [item for item in request.session.items if item.path == request.path and hasattr(item, "callspec")]
    return {item.callspec.params["program"] for item in here}


@pytest.fixture(scope="module")
def equipped(collections: Path, programs: set[Program], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The installed collection, once the nodes have what the programs import."""
    if {one.name for one in programs} <= NEEDS_NOTHING_MORE:
        return collections
    equip(collections, FURTHER, tmp_path_factory.mktemp("stack"))
    return collections


@pytest.fixture(scope="module")
def ended(
    equipped: Path, programs: set[Program], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[Program], Ended]]:
    """What became of each that is asked about. All are on their way from the first question on."""
    bring_programs(NODES)
    for node in NODES:
        shell(node, f"rm -rf {OWN_DISKS}")
        for program in programs:
            shell(node, f"install -d -o gaudi -g gaudi {OWN_DISKS} {program.directory}")

    def lost(number: int, program: Program) -> Ended:
        place: dict[str, Any] = {"gaudi_training_checkpoint_directory": program.directory}
        return lose_a_rank(
            program, NODES, tmp_path_factory.mktemp(program.name), 29800 + 10 * number, equipped, **place
        )

    with ThreadPoolExecutor(AT_A_TIME) as pool:
        ways = {
            program: pool.submit(lost, number, program)
            for number, program in enumerate(ROWS.values())
            if program in programs
        }
        yield lambda program: ways[program].result()
    for node in NODES:
        shell(node, f"rm -rf {OWN_DISKS}")


@pytest.mark.parametrize("program", named_rows(ROWS, CHOSEN))
def test_it_goes_on_from_its_checkpoint_on_both_nodes(
    ended: Callable[[Program], Ended], program: Program, capsys: pytest.CaptureFixture[str]
) -> None:
    job = ended(program)
    with capsys.disabled():
        print(f"{program.name}: resumed {job.resumed_s:.0f} s after a rank was killed")
    assert job.exit_code == 0, job.said
    reported = status(job.node, program.name)
    assert (reported["outcome"], reported["restarts"]) == ("succeeded", 1), job.said
    # Each rank says it once, and both have gone on from the same step.
    steps = {node: resumed_from(node, program) for node in NODES}
    assert steps[NODES[0]] == steps[NODES[1]], steps
    (step,) = steps[NODES[0]]
    assert step >= (2 if program.name == "own-ddp" else 40)


@pytest.mark.parametrize("program", named_rows(ROWS, CHOSEN))
def test_what_was_handed_over_is_said(ended: Callable[[Program], Ended], program: Program) -> None:
    job = ended(program)
    events = shell(job.node, f"cat /var/log/gaudi3_scale/jobs/{program.name}/events.jsonl")
    assert events.count('"kind": "handed_over"') == 1
    assert f"in {program.directory}: " in events
    assert "got what was missing there" in job.page
    # It is the job's account's, as all that the program writes.
    assert shell(NODES[1], f"find {program.directory} ! -user gaudi").strip() == ""
