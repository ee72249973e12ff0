# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Every way by which a job's description leaves a node, held against secrets in all the forms that files give them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.history import read_history
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.report import report
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.worker_group import RUNNING, WorkerGroup
from ansible_collections.gaudi3.scale.plugins.module_utils._job.job_secrets import (
    command_remarks,
    masked,
    shown_differences,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._job.plan import describe
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.launch import StartOptions, decide
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.plan import Site, plan_launch
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.stop import remove
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils._node.rendered_files import pending, write
from ansible_collections.gaudi3.scale.plugins.module_utils._node.secret_texts import HIDDEN_CHANGE, masked_texts
from ansible_collections.gaudi3.scale.plugins.module_utils._node.secret_words import HIDDEN
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.training_page import training_report
from ansible_collections.gaudi3.scale.tests.unit.described_job import described_job
from ansible_collections.gaudi3.scale.tests.unit.module_call import call

# With all that a shell, JSON and systemd write in another way.
SECRET = "s3cret'\"$x\\`#, y"
PIECES = ("s3cret", "$x", ", y")
ENVIRONMENT = {"WANDB_API_KEY": SECRET, "AWS_SECRET_ACCESS_KEY": "s3cret", "MODEL_NAME": "it's"}
ENGINES = ("torchrun", "slurm", "mpirun")


@pytest.fixture
def paths(tmp_path):
    return JobPaths("llama", str(tmp_path / "state"), str(tmp_path / "log"), str(tmp_path / "units"))


@pytest.fixture
def job():
    return described_job(hosts=("n1",), host="n1", processes_per_node=1, environment=dict(ENVIRONMENT))


def systemd(argv, **_more):
    return CommandResult(0, "ActiveState=inactive\n" if argv[1] == "show" else "", "")


def files(job, paths):
    return plan_launch(job, paths, Site("eth1", None, "5.0.8")).files


def has_a_secret(value):
    text = json.dumps(value)
    return any(json.dumps(piece)[1:-1] in text for piece in PIECES)


def test_what_is_known_to_be_none_is_shown():
    names = ("HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "PASSWORD", "api_key", "TOKENIZERS_PARALLELISM", "KEYBOARD", "A")
    found = masked(dict.fromkeys(names, "x"))
    assert [name for name in names if found[name] != HIDDEN] == ["TOKENIZERS_PARALLELISM"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_diff_has_no_secret_of_the_old_files_nor_of_the_new_ones(job, paths, engine):
    job = replace(job, engine=engine)
    for change in pending(files(job, paths)):
        write(change)
    new = replace(job, environment={**ENVIRONMENT, "AWS_SECRET_ACCESS_KEY": "s3cret too", "MODEL_NAME": "more"})
    diff = shown_differences(pending(files(new, paths)), paths)
    assert has_a_secret([file.content for file in files(job, paths)])
    assert diff
    assert not has_a_secret(diff)
    for file in diff:
        assert (HIDDEN in file["before"], HIDDEN_CHANGE in file["before"]) == (True, False)
        assert "more" in file["after"]
        changed = [line for line in file["after"].split("\n") if HIDDEN_CHANGE in line]
        assert changed
        assert all("AWS_SECRET_ACCESS_KEY" in line and "WANDB" not in line for line in changed)


def test_a_description_stays_json_and_a_broken_one_is_hidden():
    text = json.dumps({"environment": {"A_KEY": "1", "B_KEY": "2,"}, "name": "x"}, indent=2)
    assert json.loads(masked_texts(text, "")[0])["environment"] == {"A_KEY": HIDDEN, "B_KEY": HIDDEN}
    assert masked_texts('# gaudi3_scale description: {"A_KEY": "1', "")[0] == f"# gaudi3_scale description: {HIDDEN}"


def test_forgetting_a_job_shows_no_secret(job, paths):
    for change in pending(files(job, paths)):
        write(change)
    diff = remove(paths, systemd, check_mode=True)["diff"]
    assert {file["before_header"].split()[0] for file in diff} == {file.path for file in files(job, paths)}
    assert HIDDEN in json.dumps(diff)
    assert not has_a_secret(diff)


def test_a_nodes_report_shows_no_secret(job, paths):
    Path(paths.control).mkdir(parents=True)
    Path(paths.description).write_text(json.dumps(describe(job)))
    reported = report(paths, systemd)
    assert reported["description"]["environment"] == {
        "WANDB_API_KEY": HIDDEN,
        "AWS_SECRET_ACCESS_KEY": HIDDEN,
        "MODEL_NAME": "it's",
    }
    assert not has_a_secret(reported)


def test_the_refusal_of_another_description_shows_no_secret(job):
    running = WorkerGroup(RUNNING, describe(replace(job, environment={**ENVIRONMENT, "WANDB_API_KEY": "s3cret too"})))
    with pytest.raises(Exception, match="environment differs in WANDB_API_KEY") as caught:
        decide(job, running, StartOptions())
    assert not has_a_secret([str(caught.value), caught.value.facts])


def test_history_and_page_show_no_secret(job, paths):
    Path(paths.logs).mkdir(parents=True)
    lines = [{"kind": "start", "step": 0, "flags": ENVIRONMENT}, {"kind": "step", "step": 1, "loss": 2.0}]
    Path(paths.metrics).write_text("".join(json.dumps(line) + "\n" for line in lines))
    history = read_history(paths)
    assert history["runs"][0]["start"]["flags"]["MODEL_NAME"] == "it's"
    assert not has_a_secret(history)
    # As a node of an earlier version of the collection would tell it.
    info = {"state": "running", "description": describe(job)}
    host = {"inventory_hostname": "n1", "__gaudi_training_info": info, "__gaudi_training_history": history}
    assert not has_a_secret(training_report([host]))


@pytest.mark.parametrize("engine", ENGINES)
def test_the_module_shows_no_secret_in_check_mode_with_diff_and_in_its_options(tmp_path, engine):
    options = {
        "name": "no-such-job",
        "engine": engine,
        "hosts": ["n1"],
        "host": "n1",
        "processes_per_node": 1,
        "rendezvous_address": "127.0.0.1",
        "command": ["x.py"],
        "device": "cpu",
        "environment": ENVIRONMENT,
        "state_directory": str(tmp_path / "state"),
        "log_directory": str(tmp_path / "log"),
    }
    result, status = call("training_job", check_mode=True, **options)
    assert (status, result["changed"]) == (0, True)
    assert result["invocation"]["module_args"]["environment"]["MODEL_NAME"] == "it's"
    assert result["launch"]["environment"]["WANDB_API_KEY"] == HIDDEN
    assert not has_a_secret(result)
    refused, status = call("training_job", check_mode=True, **{**options, "global_batch_size": -1})
    assert (status, "global_batch_size is -1" in refused["msg"]) == (1, True)
    assert not has_a_secret(refused)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--api-key", "s3cret"], "(--api-key)"),
        (["--api-key=s3cret"], "(--api-key=(not shown))"),
        (["WANDB_API_KEY=s3cret"], "(WANDB_API_KEY=(not shown))"),
        (["https://u:s3cret@host/x"], "(https://(not shown)@host/x)"),
    ],
)
def test_a_command_with_a_secret_is_remarked_on_without_it(words, named):
    (remark,) = command_remarks(["train.py", *words])
    assert named in remark and "s3cret" not in remark
    assert "every account of a node can read the words of a process" in remark


def test_a_command_without_one_is_not():
    assert command_remarks(["-m", "train", "--lr", "0.1", "--tokenizer", "x"]) == []
