# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import sys
from dataclasses import replace

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._job.description import SupervisionOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._job.engines.torchrun import (
    checkpoint_remarks,
    supervision_text,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._job.plan import Job, check, describe, job_environment
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.library import Library
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.plan import Site, plan_launch, shown
from ansible_collections.gaudi3.scale.plugins.module_utils._node.secret_words import HIDDEN

from gaudi3_scale.supervisor.files import read_supervision
from gaudi3_scale.supervisor.generation import RUN, first_generation
from gaudi3_scale.supervisor.node import argv_of

PATHS = JobPaths("demo")
OPTIONS = SupervisionOptions(spares=("n4",), addresses=("10.0.0.1", "", "10.0.0.3", "10.0.0.4"), grow_after=90)
JOB = Job(
    name="demo",
    hosts=("n1", "n2", "n3"),
    host="n2",
    processes_per_node=2,
    rendezvous_address="192.0.2.1",
    rendezvous_port=29500,
    command=("/x.py", "$5"),
    venv="/venv",
    device="cpu",
    supervision=OPTIONS,
    key="ab" * 32,
)
SITE = Site(library=Library("/venv", "0.1.0"))


def supervised(**changes):
    return replace(JOB, supervision=replace(OPTIONS, **changes))


def test_the_supervisor_reads_what_it_is_told(tmp_path):
    file = tmp_path / "supervision.json"
    file.write_text(supervision_text(JOB, PATHS, "/kernel"))
    reported = read_supervision(str(file))
    assert reported.addresses == {"n1": "192.0.2.1", "n2": "n2", "n3": "10.0.0.3", "n4": "10.0.0.4"}
    assert (reported.control_port, reported.rendezvous_port, reported.key) == (29501, 29500, b"\xab" * 32)
    assert (reported.rules.names, reported.rules.hosts, reported.rules.index) == (("n1", "n2", "n3", "n4"), 3, 1)
    assert (reported.rules.min_nodes, reported.rules.stop_grace, reported.kernel_root) == (3, 60.0, "/kernel")
    assert reported.rules.grow_after == 90.0
    words = dict(zip(reported.argv[1::2], reported.argv[2::2]))
    assert (words["--nnodes"], words["--node-rank"], words["--master-addr"]) == (
        "@NNODES@",
        "@NODE_RANK@",
        "@MASTER_ADDRESS@",
    )
    assert words["--rdzv-id"] == "@RENDEZVOUS_ID@"
    assert reported.argv[-2:] == ("/x.py", "$$5")
    assert reported.votes == f"{PATHS.directory}/votes.json"


def test_the_supervisor_knows_the_cards_of_a_part_and_else_takes_all(tmp_path):
    file = tmp_path / "supervision.json"
    for modules in ((), (4, 5)):
        file.write_text(supervision_text(JOB, PATHS, "/kernel", (), modules))
        assert read_supervision(str(file)).modules == modules


TRAINER = ("-m", "gaudi3_scale.train", "--text", "/data/text")


@pytest.mark.parametrize(("command", "handed_over"), [(JOB.command, "/local/kept"), (TRAINER, "")])
def test_the_checkpoints_of_a_program_of_ones_own_are_handed_over_before_it_starts(tmp_path, command, handed_over):
    file = tmp_path / "supervision.json"
    file.write_text(supervision_text(replace(JOB, command=command, checkpoint_directory="/local/kept"), PATHS, "/"))
    given = read_supervision(str(file))
    assert given.checkpoint_directory == handed_over
    generation = replace(first_generation(3), number=2, kind=RUN, places=((2, 7), (1, 8)))
    before = [sys.executable, "-I", "-m", "gaudi3_scale.checkpoints.hand_over", str(file), "2,1"]
    assert argv_of(given, generation)[: 7 if handed_over else 1] == [
        *(before if handed_over else []),
        "/venv/bin/torchrun",
    ]
    # One node has all that there is.
    assert argv_of(given, replace(generation, places=((1, 8), None)))[0] == "/venv/bin/torchrun"


@pytest.mark.parametrize(
    "changes",
    [
        {"checkpoint_directory": "/local/kept"},
        {"command": TRAINER},
        {"supervision": None},
        {"hosts": ("n2",)},
        {"host": "w", "supervision": replace(OPTIONS, witness="w")},
    ],
)
def test_a_launch_says_once_that_nothing_will_be_handed_over(changes):
    (remark,) = checkpoint_remarks(JOB)
    assert "n2" not in remark
    assert remark.startswith("gaudi_training_checkpoint_directory is not set: ")
    assert checkpoint_remarks(replace(JOB, **changes)) == []


def test_every_node_runs_a_supervisor_and_a_spare_waits():
    for host, argv in (("n2", "/venv/bin/torchrun"), ("n4", None)):
        launch = plan_launch(check(replace(JOB, host=host), None), PATHS, SITE)
        assert (launch.argv[0] if launch.argv else None) == argv
        text = launch.text
        assert f'ExecStart="/venv/bin/python" "-I" "-m" "gaudi3_scale.supervisor" "{PATHS.supervision}"' in text
        # A node that goes down leaves the job to the others.
        assert "ExecStop=" not in text
        assert "TimeoutStopSec=90" in text
    assert "a spare" in text


def test_the_secret_is_told_to_the_supervisor_alone():
    launch = plan_launch(JOB, PATHS, SITE)
    (file,) = [file for file in launch.files if JOB.key in (file.content or "")]
    assert (file.path, file.mode) == (PATHS.supervision, 0o640)
    assert JOB.key not in json.dumps([describe(JOB), shown(JOB, PATHS, SITE)]) + repr(JOB)
    assert HIDDEN not in json.dumps(describe(JOB))


def test_ranks_are_told_where_to_say_how_far_they_are():
    assert job_environment(JOB, PATHS, None)["GAUDI3_SCALE_PROGRESS_DIR"] == PATHS.progress
    assert "GAUDI3_SCALE_PROGRESS_DIR" not in job_environment(replace(JOB, supervision=None), PATHS, None)


def test_the_witness_runs_a_supervisor_and_is_told_nothing_of_the_ranks():
    job = replace(
        supervised(witness="login1", addresses=()),
        host="login1",
        device="hpu",
        working_directory="/data",
        environment={"API_KEY": "s3cret"},
        environment_files=("/data/flags",),
        checkpoint_directory="/data/checkpoints",
    )
    worker_group = check(job, 0)
    launch = plan_launch(worker_group, PATHS, SITE)
    assert (worker_group.starting_hosts, launch.argv, worker_group.node_rank) == (
        ("n1", "n2", "n3", "n4", "login1"),
        (),
        None,
    )
    assert f'ExecStart="/venv/bin/python" "-I" "-m" "gaudi3_scale.supervisor" "{PATHS.supervision}"' in launch.text
    assert "Description=gaudi3.scale job demo: the witness\n" in launch.text
    assert "s3cret" not in json.dumps([file.content for file in launch.files])
    assert not any(word in launch.text for word in ("/data", "habanalabs"))
    # The others still have all of it.
    assert check(replace(job, host="n2"), 8) == replace(job, host="n2")


def test_the_supervisors_number_the_witness_last(tmp_path):
    file = tmp_path / "supervision.json"
    addresses = ("", "", "", "", "10.0.0.9")
    file.write_text(supervision_text(supervised(witness="login1", addresses=addresses), PATHS, "/"))
    reported = read_supervision(str(file))
    assert (reported.witness, reported.rules.names[-2:], reported.addresses["login1"]) == (
        "login1",
        ("n4", "login1"),
        "10.0.0.9",
    )


@pytest.mark.parametrize(
    ("job", "said"),
    [
        (supervised(witness="n4"), "supervision.witness is n4, which is one of hosts or supervision.spares"),
        (supervised(witness="-x", addresses=()), "supervision.witness has '-x', which is neither a host name"),
        (supervised(witness="n5"), "supervision.addresses has 4 address(es) for 5 node(s)"),
        (
            replace(JOB, hosts=tuple(f"n{i}" for i in range(64)), supervision=SupervisionOptions(witness="w")),
            "hosts, spares and witness are 65; name fewer, or let Slurm run a job of that size (engine: slurm,",
        ),
        (supervised(spares=("n2",), addresses=()), "supervision.spares names n2, which is named before"),
        (supervised(min_nodes=4), "supervision.min_nodes is 4 for 3 host(s)"),
        (supervised(addresses=("10.0.0.1",)), "supervision.addresses has 1 address(es) for 4 node(s)"),
        (supervised(control_port=29500), "supervision.control_port is 29500; give a port"),
        (supervised(max_restarts=-1), "supervision.max_restarts is -1; give 0 or more"),
        (supervised(min_runtime=-1), "supervision.min_runtime is -1; give 0 or more"),
        (supervised(grow_after=-1), "supervision.grow_after is -1; give 0 or more"),
        (supervised(lost_after=2), "supervision.lost_after is 2; give at least 3 seconds"),
        (supervised(straggler_ratio=0.9), "supervision.straggler_ratio is 0.9"),
        (supervised(hang_timeout=0, start_timeout=60), "hang_timeout is 0, which turns hang detection off"),
        (
            replace(supervised(min_nodes=2), global_batch_size=6),
            "continue with 2 node(s): global_batch_size is 6, which 4",
        ),
        (replace(JOB, engine="mpirun"), "supervision is for engine torchrun, and mpirun starts"),
    ],
)
def test_what_cannot_be_done_is_refused_in_the_words_of_the_option(job, said):
    with pytest.raises(GaudiError) as refused:
        check(job, None)
    assert said in str(refused.value)
