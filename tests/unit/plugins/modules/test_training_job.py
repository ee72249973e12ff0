# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The module as Ansible runs it, in check mode: what it would run, through each engine, and what it refuses."""

from __future__ import annotations

import pytest
import yaml
from ansible_collections.gaudi3.scale.plugins.doc_fragments import job
from ansible_collections.gaudi3.scale.plugins.module_utils._job.description import RANK_ARGUMENTS, engine_argument_spec
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JOB_ARGUMENTS
from ansible_collections.gaudi3.scale.plugins.modules import training_job
from ansible_collections.gaudi3.scale.tests.unit.module_call import call

OPTIONS = {
    "name": "no-such-job",
    "hosts": ["n1", "n2"],
    "host": "n1",
    "processes_per_node": 2,
    "rendezvous_address": "127.0.0.1",
    "command": ["/srv/train.py", "--lr", "0.1"],
    "device": "cpu",
}


@pytest.fixture
def options(tmp_path):
    return {**OPTIONS, "state_directory": str(tmp_path / "state"), "log_directory": str(tmp_path / "log")}


def test_the_options_of_the_engines_are_documented_as_they_are():
    documented = yaml.safe_load(training_job.DOCUMENTATION)["options"]
    for name, spec in engine_argument_spec().items():
        reported = documented[name]
        assert (reported["type"], reported.get("default"), reported.get("choices")) == (
            spec["type"],
            spec.get("default"),
            spec.get("choices"),
        ), name
        for part, inner in spec.get("options", {}).items():
            reported = documented[name]["suboptions"][part]
            assert {key: reported.get(key) for key in inner} == inner, f"{name}.{part}"
        assert set(documented[name].get("suboptions", {})) == set(spec.get("options", {}))


def test_the_options_that_find_a_job_are_documented_as_they_are():
    documented = yaml.safe_load(job.ModuleDocFragment.DOCUMENTATION)["options"]
    assert {
        name: {key: value for key, value in reported.items() if key != "description"}
        for name, reported in documented.items()
    } == JOB_ARGUMENTS


def test_the_options_of_the_ranks_are_documented_as_they_are():
    documented = yaml.safe_load(training_job.DOCUMENTATION)["options"]
    for name, spec in RANK_ARGUMENTS.items():
        assert {key: documented[name].get(key) for key in spec} == spec, name


def test_check_mode_tells_the_batch_script(options):
    result, status = call("training_job", check_mode=True, engine="slurm", slurm={"time_limit": "90"}, **options)
    assert status == 0, result
    assert (result["changed"], result["state"], result["argv"][0]) == (True, "running", "sbatch")
    assert "#SBATCH --time=90" in result["launch"]["text"]
    assert result["launch"]["environment"]["GAUDI3_SCALE_JOB"] == "no-such-job"
    assert result["diff"][0]["after"] == result["launch"]["text"]


def test_check_mode_tells_the_unit_of_mpirun(options):
    result, status = call("training_job", check_mode=True, engine="mpirun", **options)
    assert status == 0, result
    assert result["argv"][:3] == ["mpirun", "-n", "4"]
    as_root, _status = call("training_job", check_mode=True, engine="mpirun", user="root", **options)
    assert as_root["argv"][:4] == ["mpirun", "--allow-run-as-root", "-n", "4"]
    assert result["launch"]["text"].startswith("[Unit]\n")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"engine": "ray"}, "value of engine must be one of: torchrun, slurm, mpirun, got: ray"),
        ({"global_batch_size": 6}, "global_batch_size is 6, which 4 ranks cannot share evenly"),
        ({"engine": "slurm", "slurm": {"time_limit": "soon"}}, "slurm.time_limit 'soon' is not a time"),
        ({"engine": "slurm", "slurm": {"nodelist": "n1"}}, "nodelist"),
        ({"new_key": "tell me"}, "new_key is not the secret of a run; give at least 32 hexadecimal digits"),
    ],
)
def test_what_cannot_be_meant_is_refused(options, changes, said):
    result, status = call("training_job", check_mode=True, **{**options, **changes})
    assert status == 1
    assert said in result["msg"]


def test_a_state_that_starts_needs_a_description(options):
    result, status = call("training_job", name="x", state="prepared")
    assert status == 1
    assert "state is prepared but all of the following are missing: hosts" in result["msg"]
