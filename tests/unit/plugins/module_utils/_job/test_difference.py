# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from dataclasses import replace

from ansible_collections.gaudi3.scale.plugins.module_utils._job.description import SlurmOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._job.difference import (
    description_differences,
    refuse_difference,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._job.plan import describe
from ansible_collections.gaudi3.scale.tests.unit.described_job import described_job

JOB = described_job(environment={"A": "1", "KEY": "s3cret"})


def differences(running, asked):
    return description_differences(json.loads(json.dumps(describe(running))), describe(asked))


def test_another_engine_is_named():
    assert differences(JOB, replace(JOB, engine="slurm")) == ["engine is 'torchrun', asked for 'slurm'"]
    assert differences(replace(JOB, engine="slurm"), JOB) == ["engine is 'slurm', asked for 'torchrun'"]


def test_another_binding_is_named_and_the_default_is_that_of_older_descriptions():
    assert "bind" not in describe(JOB)
    assert differences(JOB, replace(JOB, bind="none")) == ["bind is 'numa', asked for 'none'"]


def test_of_an_engines_options_those_that_differ_are_named():
    slurm = replace(JOB, engine="slurm", slurm=SlurmOptions(partition="a", time_limit="60"))
    other = replace(slurm, slurm=replace(slurm.slurm, time_limit="90"))
    assert differences(slurm, other) == ["slurm.time_limit is '60', asked for '90'"]
    assert differences(slurm, replace(slurm, slurm=SlurmOptions())) == [
        "slurm.partition is 'a', asked for ''",
        "slurm.time_limit is '60', asked for ''",
    ]
    assert differences(slurm, replace(slurm)) == []


def test_a_description_from_before_the_engines_is_no_other_one():
    before = {key: value for key, value in describe(JOB).items() if key not in ("engine", "slurm", "mpi")}
    assert description_differences(before, describe(JOB)) == []


def test_of_the_environment_the_names_are_told_and_no_values():
    found = differences(JOB, replace(JOB, environment={"A": "1", "KEY": "other", "NEW": "x"}))
    assert found == ["environment differs in KEY, NEW"]


def test_the_refusal_names_the_differences_and_the_ways_out():
    error = refuse_difference("llama", ["user is 'a', asked for 'b'"])
    assert str(error) == (
        "job llama is running with another description: user is 'a', asked for 'b'; "
        "stop it first (playbooks/stop_training.yml), give the new job another name, or set replace: true."
    )
    assert error.facts == {"differences": ["user is 'a', asked for 'b'"]}
