# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the built-in trainer is to read is looked at by a real shell."""

from __future__ import annotations

import getpass
import os
from dataclasses import replace

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._job.plan import Job
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.node_data import check_data, data_of
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult, run_process

PATHS = JobPaths("demo")
BUILT_IN = ("-m", "gaudi3_scale.train")


@pytest.fixture
def job(tmp_path):
    (tmp_path / "text with a space").write_text("x")
    return Job("demo", ("n1",), "n1", 1, "n1", 29500, BUILT_IN, "/venv", working_directory=str(tmp_path))


def reading(job, *words):
    return replace(job, user=getpass.getuser(), command=(*BUILT_IN, *words, "--max-steps", "3"))


def refusal(job, run=run_process):
    with pytest.raises(GaudiError) as caught:
        check_data(job, PATHS, run)
    return str(caught.value)


@pytest.mark.parametrize(
    "words, found",
    [
        (["--text", "/a", "/b"], [("/a", "--text"), ("/b", "--text")]),
        (["--data", "/tokens"], [("/tokens.idx", "--data"), ("/tokens.bin", "--data")]),
        (["--data=/tokens"], [("/tokens.idx", "--data"), ("/tokens.bin", "--data")]),
        (["--data", "s3://bucket/tokens"], []),
        (["--text=/a", "--model", "/m"], [("/a", "--text")]),
        (["--max-steps", "3"], []),
    ],
)
def test_the_paths_that_it_reads(words, found):
    assert list(data_of([*BUILT_IN, *words, "--layers", "2"])) == found


def test_a_program_of_ones_own_is_not_asked(job):
    assert list(data_of(["train.py", "--text", "/no"])) == []
    check_data(replace(job, command=("train.py", "--text", "/no")), PATHS, run_process)


def test_text_that_is_there_is_taken(job, tmp_path):
    check_data(reading(job, "--text", str(tmp_path / "text with a space"), str(tmp_path)), PATHS, run_process)
    check_data(reading(job, "--text", "text with a space"), PATHS, run_process)


@pytest.mark.parametrize(
    "option, variable, file",
    [("--text", "gaudi_training_text", "/data/text"), ("--data", "gaudi_training_data", "/data/text.idx")],
)
def test_what_is_not_there_is_refused_in_words_that_are_the_same_on_every_node(job, option, variable, file):
    said = refusal(reading(job, option, "/data/text"))
    assert said == f"{variable}: there is no {file} on this node; copy it to every host of the job."


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another account")
def test_what_the_account_cannot_read_is_refused(job, tmp_path):
    text = tmp_path / "text with a space"
    text.chmod(0o600)
    for folder in (tmp_path, *tmp_path.parents):
        if folder.owner() == "root" and str(folder).startswith("/tmp/"):
            folder.chmod(0o755)
    said = refusal(replace(reading(job, "--text", str(text)), user="nobody"))
    assert said == f"gaudi_training_text: nobody cannot read {text} on this node; let that user read it."


def test_a_storage_that_does_not_answer_is_said(job):
    hangs = CommandResult(124, "", "")
    assert refusal(reading(job, "--text", "/nfs/text"), lambda *_a, **_k: hangs) == (
        "/nfs/text could not be read within 60 s; see whether its storage answers."
    )
