# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import string

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._job.difference import description_differences
from ansible_collections.gaudi3.scale.plugins.module_utils._job.engines.torchrun import torchrun_argv
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._job.plan import (
    Job,
    check,
    describe,
    job_environment,
    job_from,
)

OPTIONS = {
    "name": "llama",
    "hosts": ["b", "a"],
    "host": "a",
    "processes_per_node": 8,
    "rendezvous_address": "192.0.2.1",
    "rendezvous_port": 29500,
    "command": ["-m", "gaudi3_scale.train", "--text", "/data"],
    "venv": "/opt/venv",
    "environment_files": ["-/etc/flags"],
    "environment": {"OMP_NUM_THREADS": 4},
    "working_directory": "/work",
    "user": "root",
    "device": "hpu",
    "stop_timeout": 60,
}
PATHS = JobPaths("llama")


def job(**changes):
    return job_from({**OPTIONS, **changes})


def test_ranks_follow_the_list_and_not_the_alphabet():
    assert job().node_rank == 1
    assert job(host="b").node_rank == 0
    assert job().world_size == 16


def test_the_program():
    assert torchrun_argv(job(), PATHS) == (
        "/opt/venv/bin/torchrun",
        *("--nnodes", "2", "--node-rank", "1", "--nproc-per-node", "8"),
        *("--rdzv-backend", "static", "--rdzv-id", "llama", "--master-addr", "192.0.2.1", "--master-port", "29500"),
        *("--log-dir", "/var/log/gaudi3_scale/jobs/llama/ranks", "--redirects", "3"),
        *("-m", "gaudi3_scale.train", "--text", "/data"),
    )


@pytest.mark.parametrize("word", ["a$b", "$$", "${local_rank}", "$local_rank", "a$$$b", "plain"])
def test_a_word_of_the_command_survives_the_template_of_torchrun(word):
    last = torchrun_argv(job(command=["script.py", word]), PATHS)[-1]
    assert string.Template(last).safe_substitute(local_rank="7") == word


def test_the_environment():
    assert job_environment(job(), PATHS, "eth1") == {
        "GLOO_SOCKET_IFNAME": "eth1",
        "HCCL_SOCKET_IFNAME": "eth1",
        "OMP_NUM_THREADS": "4",
        "GAUDI3_SCALE_JOB": "llama",
        "GAUDI3_SCALE_JOB_DIR": "/var/lib/gaudi3_scale/jobs/llama",
        "GAUDI3_SCALE_METRICS": "/var/log/gaudi3_scale/jobs/llama/metrics.jsonl",
    }


def test_an_interface_that_is_given_or_not_known():
    given = job_environment(job(environment={"GLOO_SOCKET_IFNAME": "ens9"}), PATHS, "eth1")
    assert (given["GLOO_SOCKET_IFNAME"], given["HCCL_SOCKET_IFNAME"]) == ("ens9", "eth1")
    assert "GLOO_SOCKET_IFNAME" not in job_environment(job(), PATHS, None)


@pytest.mark.parametrize(
    ("changes", "cards", "said"),
    [
        ({"name": "a/b"}, 8, "name 'a/b' cannot name a job; use 1 to 64 letters"),
        ({"name": ""}, 8, "name '' cannot name a job"),
        ({"name": ".hidden"}, 8, "name '.hidden' cannot name a job"),
        ({"name": "a b"}, 8, "name 'a b' cannot name a job"),
        ({"name": "x" * 65}, 8, "cannot name a job"),
        ({"name": "line\n"}, 8, "cannot name a job"),
        ({"hosts": []}, 8, "hosts is empty"),
        ({"hosts": ["a", "b", "a"]}, 8, "hosts names a more than once; name each node once."),
        ({"host": "c"}, 8, "host c is not among hosts (b, a)"),
        ({"processes_per_node": 0}, 8, "processes_per_node is 0; give at least 1."),
        ({}, 7, "processes_per_node is 8 but a has 7 card(s)"),
        ({"device": "cuda"}, 4, "processes_per_node is 8 but a has 4 card(s)"),
        ({"command": []}, 8, "command is empty"),
        ({"command": [""]}, 8, "command is empty"),
        ({"command": ["-m"]}, 8, "command has -m without a module"),
        ({"command": ["-m", "--x"]}, 8, "command has -m without a module"),
        ({"command": ["--nnodes", "3"]}, 8, "command begins with --nnodes; begin with a script's path or with -m"),
        ({"command": ["x.py", "a\0b"]}, 8, "command has a NUL character"),
        ({"environment": {"A-B": "1"}}, 8, "'A-B' is not the name of an environment variable"),
        ({"environment": {"A": "1\n2"}}, 8, "A holds"),
        ({"environment": {"GAUDI3_SCALE_JOB": "x"}}, 8, "environment sets GAUDI3_SCALE_JOB, which the job sets itself"),
        ({"environment_files": ["etc/flags"]}, 8, "environment_files has 'etc/flags'; give absolute paths"),
        ({"environment_files": ["-etc/flags"]}, 8, "environment_files has '-etc/flags'"),
        ({"rendezvous_port": 0}, 8, "rendezvous_port is 0; give a port from 1 to 65535."),
        ({"rendezvous_port": 65536}, 8, "rendezvous_port is 65536"),
        ({"rendezvous_address": " "}, 8, "rendezvous_address is empty"),
        ({"venv": "venv"}, 8, "venv is 'venv'; give an absolute path."),
        ({"working_directory": "/a\nUser=x"}, 8, "working_directory is '/a\\nUser=x'"),
        ({"user": "root\nExecStartPre=/x"}, 8, "user is 'root\\nExecStartPre=/x', which is not a valid account name"),
        ({"stop_timeout": 0}, 8, "stop_timeout is 0; give at least 1."),
    ],
)
def test_bad_descriptions_are_refused_in_one_sentence(changes, cards, said):
    with pytest.raises(GaudiError) as caught:
        check(job(**changes), cards)
    assert said in str(caught.value)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(
    ("changes", "cards"),
    [({}, 8), ({}, None), ({"device": "cpu"}, 0), ({"command": ["/x.py", "-m"]}, 8), ({"name": "a.B_c-9"}, 8)],
)
def test_good_descriptions_are_taken(changes, cards):
    assert check(job(**changes), cards) == job(**changes)


def test_a_description_is_what_json_gives_back():
    text = describe(job())
    assert text["hosts"] == ["b", "a"]
    assert text["environment"] == {"OMP_NUM_THREADS": "4"}
    assert set(text) == set(OPTIONS)


@pytest.mark.parametrize(
    ("changes", "phrases"),
    [
        ({}, []),
        ({"processes_per_node": 4}, ["processes_per_node is 8, asked for 4"]),
        ({"command": [*OPTIONS["command"][:3], "/other"]}, ["command has '/data' where '/other' is asked for"]),
        ({"hosts": ["b", "a", "c"]}, ["hosts is ['b', 'a'], asked for ['b', 'a', 'c']"]),
        ({"user": "x", "device": "cpu"}, ["user is 'root', asked for 'x'", "device is 'hpu', asked for 'cpu'"]),
    ],
)
def test_differences_are_named(changes, phrases):
    assert description_differences(describe(job()), describe(job(**changes))) == phrases


def test_a_key_that_only_the_stored_description_has_is_a_difference():
    assert description_differences({**describe(job()), "old": 1}, describe(job())) == ["old is 1, asked for None"]


def test_defaults_need_only_what_every_job_has():
    small = Job("n", ("a",), "a", 1, "localhost", 29500, ("x.py",), "/venv")
    assert check(small, 1) is small
