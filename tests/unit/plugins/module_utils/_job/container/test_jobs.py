# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._job.binding.launcher import Launcher
from ansible_collections.gaudi3.scale.plugins.module_utils._job.container.entry import Entry
from ansible_collections.gaudi3.scale.plugins.module_utils._job.container.mounts import same_place
from ansible_collections.gaudi3.scale.plugins.module_utils._job.description import (
    MpiOptions,
    SlurmOptions,
    SupervisionOptions,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._job.difference import description_differences
from ansible_collections.gaudi3.scale.plugins.module_utils._job.engines.slurm import script_text
from ansible_collections.gaudi3.scale.plugins.module_utils._job.engines.torchrun import torchrun_argv
from ansible_collections.gaudi3.scale.plugins.module_utils._job.plan import check, describe, job_environment
from ansible_collections.gaudi3.scale.tests.unit.described_job import PATHS, described_job

IMAGE = f"registry.example.org/team/train@sha256:{'0a' * 32}"
JOB = described_job(image=IMAGE, mounts=("/data:ro",), command=("/srv/train.py", "--lr", "0.1"))
ENTRY = Entry(
    "/opt/venv/bin/python",
    "/state/binding/x.pyz",
    "/images/x",
    "gaudi3-scale-job-llama",
    PATHS.directory,
    "hpu",
    mounts=(same_place("/data", read_only=True),),
    own=("TOKEN",),
)
LAUNCHER = Launcher("python3", "/state/binding/y.pyz", "numa", "hpu", "/")


def test_a_job_with_an_image_is_checked_and_described():
    assert check(JOB, 8) == JOB
    described = describe(JOB)
    assert (described["image"], described["mounts"]) == (IMAGE, ["/data:ro"])
    assert "image" not in describe(described_job())
    assert description_differences(describe(described_job()), {**describe(described_job()), "image": IMAGE}) == [
        f"image is '', asked for '{IMAGE}'"
    ]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"image": "registry.example.org/a:1"}, "which has no digest"),
        ({"image": ""}, "mounts is given without image"),
        (
            {"engine": "mpirun", "mpi": MpiOptions()},
            "would need a server in every container; choose engine torchrun or slurm (gaudi_training_engine), which",
        ),
        ({"engine": "slurm", "slurm": SlurmOptions(nodes="any")}, "slurm.nodes: any, and a node that Slurm takes"),
        ({"device": "cuda"}, "only Gaudi cards are passed on"),
        ({"command": ("-m", "gaudi3_scale.train", "--text", "/x")}, "for the built-in trainer"),
        ({"user": "root"}, "containers are started without root; name an account"),
        ({"mounts": ("/etc",)}, "holds what belongs to the node (/etc)"),
    ],
)
def test_what_cannot_be_in_a_container_is_one_sentence(changes, said):
    with pytest.raises(GaudiError) as refused:
        check(described_job(**{"image": IMAGE, "mounts": ("/data",), "host": "n2", **changes}), 8)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_witness_has_no_image():
    job = described_job(image=IMAGE, host="w", supervision=SupervisionOptions(witness="w", min_nodes=1))
    assert check(job, None).image == ""


def test_torchrun_is_the_images_own_and_ranks_are_bound_by_its_python():
    words = torchrun_argv(JOB, PATHS, launcher=LAUNCHER.argv("always"), entry=ENTRY.argv("/pid"))
    assert words[:5] == ("/opt/venv/bin/python", "-I", "-S", "/state/binding/x.pyz", "--image")
    inside = words[words.index("--") + 1 :]
    assert inside[:4] == ("python3", "-m", "torch.distributed.run", "--nnodes")
    begin = inside.index("--no-python")
    assert inside[begin : begin + 5] == ("--no-python", "python3", "-I", "-S", "/state/binding/y.pyz")
    assert inside[-5:] == ("python3", "-u", "/srv/train.py", "--lr", "0.1")
    # Of the node's venv nothing is run in there.
    assert not [word for word in inside if word.startswith("/opt/venv")]


def test_slurm_starts_one_container_a_node_and_is_told_of_the_number_in_it():
    job = described_job(image=IMAGE, engine="slurm", command=("/srv/train.py",), environment={"TOKEN": "secret"})
    text = script_text(job, PATHS, job_environment(job, PATHS, None), LAUNCHER, entry=ENTRY)
    assert "--pid-file '\"'\"'" not in text
    assert '--pid-file "$agent_pid"' in text.replace("'\"'\"'", "'")
    assert "-m torch.distributed.run" in text
    assert "agent_pid=$logs/agent.pid" in text
