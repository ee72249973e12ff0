# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import fields

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._job.description import (
    MpiOptions,
    SlurmOptions,
    argument_spec,
    options_from,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._job.plan import (
    DESCRIBED_DEFAULTS,
    UNDESCRIBED,
    Job,
    check,
    describe,
    job_environment,
    job_from,
)

OPTIONS = {
    "name": "llama",
    "hosts": ["n1", "n2"],
    "host": "n1",
    "processes_per_node": 8,
    "rendezvous_address": "192.0.2.1",
    "rendezvous_port": 29500,
    "command": ["x.py"],
    "venv": "/venv",
    "environment_files": [],
    "environment": {},
}


def job(**changes):
    return job_from({**OPTIONS, **changes})


def test_a_description_without_the_engines_parts_is_as_it_ever_was():
    assert set(describe(job())) == {field.name for field in fields(Job)} - set(DESCRIBED_DEFAULTS) - set(UNDESCRIBED)
    assert job().engine == "torchrun"


def test_the_engines_parts_are_described_as_json_gives_them_back():
    described = describe(job(engine="slurm", slurm={"array": [["--lr", 1], []], "partition": None, "requeue": False}))
    assert described["engine"] == "slurm"
    assert (described["slurm"]["array"], described["slurm"]["requeue"]) == ([["--lr", "1"], []], False)
    assert "mpi" not in described


def test_an_engine_that_reaches_the_others_is_started_on_the_first_host():
    assert job().starting_hosts == ("n1", "n2")
    assert job(engine="slurm").starting_hosts == job(engine="mpirun").starting_hosts == ("n1",)


def test_what_ansible_is_told_of_the_options_comes_from_their_fields():
    reported = argument_spec(SlurmOptions)
    assert reported["requeue_limit"] == {"type": "int", "default": 100}
    assert reported["requeue"] == {"type": "bool", "default": True}
    assert reported["partition"] == {"type": "str", "default": ""}
    assert reported["array"] == {"type": "list", "elements": "list", "default": []}
    assert reported["arguments"] == {"type": "list", "elements": "str", "default": []}
    assert set(argument_spec(MpiOptions)) == {field.name for field in fields(MpiOptions)}


def test_options_that_were_left_out_have_their_defaults():
    assert options_from(SlurmOptions, None) == options_from(SlurmOptions, {"partition": None}) == SlurmOptions()
    assert options_from(MpiOptions, {"addresses": ["a", "b"]}).addresses == ("a", "b")


def test_the_ranks_are_told_their_batch_and_where_checkpoints_go():
    reported = job_environment(job(global_batch_size=64, checkpoint_directory="/big/llama"), JobPaths("llama"), None)
    assert reported["GAUDI3_SCALE_GLOBAL_BATCH_SIZE"] == "64"
    assert reported["GAUDI3_SCALE_JOB_DIR"] == "/big/llama"
    assert "GAUDI3_SCALE_GLOBAL_BATCH_SIZE" not in job_environment(job(), JobPaths("llama"), None)


def slurm(**options):
    return {"engine": "slurm", "slurm": options}


def mpi(**options):
    return {"engine": "mpirun", "mpi": options}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"engine": "ray"}, "engine 'ray' is not known; give one of torchrun, slurm, mpirun."),
        ({"engine": ""}, "engine '' is not known"),
        ({"global_batch_size": 100}, "global_batch_size is 100, which 16 ranks cannot share evenly; give a multiple"),
        ({"global_batch_size": 100}, "such as 96, or change the number of ranks."),
        ({"global_batch_size": 3}, "such as 16,"),
        ({"global_batch_size": -16}, "global_batch_size is -16"),
        ({"checkpoint_directory": "here"}, "checkpoint_directory is 'here'; give an absolute path."),
        (slurm(time_limit="12 hours"), "slurm.time_limit '12 hours' is not a time; give minutes,"),
        (slurm(time_limit="1:2"), "slurm.time_limit '1:2' is not a time"),
        (slurm(nodes="some"), "slurm.nodes is 'some'; give hosts (the nodes in hosts) or any (as many)."),
        (slurm(gres="hpu:8:8:8"), "slurm.gres 'hpu:8:8:8' is not a generic resource"),
        (slurm(signal_ahead=30), "slurm.signal_ahead is 30; give at least 60 seconds"),
        (slurm(requeue_limit=-1), "slurm.requeue_limit is -1; give 0 or more."),
        (slurm(partition="a b"), "slurm.partition is 'a b'; give it without blanks"),
        (slurm(account="a\n#SBATCH --uid=0"), "slurm.account is"),
        (slurm(arguments=["--mail-type=END", "now"]), "slurm.arguments has 'now'; give each as one word that"),
        (slurm(arguments=["--wrap=rm -rf /"]), "slurm.arguments has '--wrap=rm -rf /'"),
        ({**slurm(), "hosts": ["n1", "n[2-9]"]}, "hosts has 'n[2-9]', which is not a valid node name in Slurm"),
        ({**slurm(array=[[]] * 40), "rendezvous_port": 65500}, "slurm.array has 40 points, a port each"),
        (mpi(mpirun=""), "mpi.mpirun is ''; give the program's name or path."),
        (mpi(addresses=["192.0.2.1"]), "mpi.addresses has 1 address(es) for 2 host(s); give one for each host"),
        (mpi(addresses=["192.0.2.1", "a b"]), "mpi.addresses: 'a b' is neither a host name nor an address"),
        (mpi(sockets_per_node=0), "mpi.sockets_per_node 0; give 0 or more cores and at least 1 socket."),
        (mpi(cores_per_rank=6, sockets_per_node=3), "is 8, which mpi.sockets_per_node 3 does not divide"),
        (mpi(ssh_port=70000), "mpi.ssh_port is 70000; give a port from 1 to 65535"),
        (mpi(arguments=["-x;rm"]), "mpi.arguments has '-x;rm'"),
    ],
)  # fmt: skip
def test_bad_descriptions_are_refused_in_one_sentence(changes, said):
    with pytest.raises(GaudiError) as caught:
        check(job(**changes), 8)
    assert said in str(caught.value)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"global_batch_size": 0},
        {"global_batch_size": 160},
        slurm(time_limit="90"),
        slurm(time_limit="2-12"),
        slurm(time_limit="1-00:30:00", partition="a,b", arguments=["--mail-user=me@example.org"]),
        {**slurm(nodes="any"), "hosts": ["n1", "any name"]},
        mpi(cores_per_rank=6, network="192.0.2.0/24", addresses=["192.0.2.1", "2001:db8::2"]),
        # What another engine reads is not looked at.
        {"engine": "torchrun", "slurm": {"nodes": "some"}, "mpi": {"mpirun": ""}},
    ],
)
def test_good_descriptions_are_taken(changes):
    assert check(job(**changes), 8) == job(**changes)
