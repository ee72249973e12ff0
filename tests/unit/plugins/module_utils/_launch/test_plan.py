# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The same options through each engine, as values."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._job.plan import describe
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.plan import Site, plan_launch, shown
from ansible_collections.gaudi3.scale.plugins.module_utils._node.secret_words import HIDDEN
from ansible_collections.gaudi3.scale.tests.unit.described_job import PATHS, described_job

JOB = described_job(
    hosts=("n1", "n2"), host="n1", environment={"WANDB_API_KEY": "s3cret", "A": "1"}, working_directory="/work"
)
SITE = Site("eth1", None, "5.0.8")


def through(engine, host="n1", site=SITE):
    return plan_launch(replace(JOB, engine=engine, host=host), PATHS, site)


@pytest.mark.parametrize(
    ("engine", "program", "files"),
    [
        ("torchrun", "/opt/venv/bin/torchrun", [PATHS.unit_file, PATHS.environment, PATHS.description]),
        ("mpirun", "mpirun", [PATHS.unit_file, PATHS.environment, PATHS.host_file, PATHS.description]),
        ("slurm", "sbatch", [PATHS.batch_script, PATHS.description]),
    ],
)
def test_each_engine_runs_the_same_program_in_its_own_way(engine, program, files):
    launch = through(engine)
    assert launch.argv[0] == program
    assert [file.path for file in launch.files] == files
    assert launch.file == files[0]
    for word in ("train.py", "--lr", "0.1", "/work"):
        assert word in launch.text
    assert launch.environment["GAUDI3_SCALE_JOB"] == "llama"
    assert json.loads(launch.files[-1].content) == describe(replace(JOB, engine=engine))
    # Nobody but root reads what holds the environment, and where sbatch takes it, the account.
    secrets = {file.path: file.mode for file in launch.files if "s3cret" in file.content}
    assert secrets == {path: 0o640 if path == PATHS.batch_script else 0o600 for path in secrets} != {}


@pytest.mark.parametrize(("engine", "starts"), [("torchrun", True), ("mpirun", False), ("slurm", False)])
def test_on_the_other_nodes_only_torchrun_is_started_by_us(engine, starts):
    launch = through(engine, "n2")
    assert bool(launch.argv) == bool(launch.files) == bool(launch.text) == starts


def test_only_a_unit_of_this_node_knows_this_nodes_interface():
    assert through("torchrun").environment["GLOO_SOCKET_IFNAME"] == "eth1"
    assert through("torchrun", "n2").environment["GAUDI3_SCALE_NODE"] == "n2"
    for engine in ("slurm", "mpirun"):
        launch = through(engine)
        assert "GAUDI3_SCALE_NODE" not in launch.environment
        assert "GLOO_SOCKET_IFNAME" not in launch.environment
        assert 'GLOO_SOCKET_IFNAME="$interface"' in launch.text.replace('\\"', '"').replace("$$", "$")


def test_the_open_mpi_of_the_node_decides():
    assert "--tag-output" in through("mpirun", site=Site(None, None, "4.1.6")).argv
    assert "--tag-output" not in through("mpirun").argv


@pytest.mark.parametrize("engine", ["torchrun", "slurm", "mpirun"])
def test_what_is_shown_has_all_but_the_secrets(engine):
    reported = shown(replace(JOB, engine=engine), PATHS, SITE)
    assert (reported["engine"], reported["file"]) == (engine, through(engine).file)
    assert reported["environment"]["A"] == "1"
    assert reported["environment"]["WANDB_API_KEY"] == HIDDEN
    assert "train.py" in reported["text"]
    assert "s3cret" not in json.dumps(reported)
