# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The module as Ansible runs it, with a program in the place of the venv's Python that writes what a trial would."""

from __future__ import annotations

import getpass
import sys

import pytest
from ansible_collections.gaudi3.scale.tests.unit.module_call import call

# The last argument is the request; a setting with the option ``fast`` takes half the time of the base.
PYTHON = (
    f"#!{sys.executable}\n"
    """import json, sys
if sys.argv[1] == "-c":
    # It finds every module.
    print("{}")
    sys.exit()
request = json.loads(sys.argv[-1])
seconds = 0.1 if request["options"].get("fast") else 0.2
steps = [seconds + 0.001 * number for number in range(request["steps"])]
result = {"outcome": "ok", "message": "", "peak_memory_bytes": 1000, "step_seconds": seconds,
          "seconds_of_steps": steps, "losses": [2.0] * len(steps)}
open(request["result"], "w").write(json.dumps(result))
"""
)


@pytest.fixture
def options(tmp_path):
    python = tmp_path / "venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(PYTHON)
    python.chmod(0o755)
    return {
        "venv": str(tmp_path / "venv"),
        "user": getpass.getuser(),
        "state_directory": str(tmp_path / "state"),
        "kernel_root": str(tmp_path),
        "environment_files": [],
        "device": "cpu",
        "rounds": 3,
        "base": {"batch_size": 4},
        "settings": [{"name": "fast", "options": {"fast": True}}],
    }


def test_each_call_makes_one_run_and_the_last_has_the_verdict(options):
    results = []
    while not results or results[-1]["next"]:
        result, status = call("hpu_compare_settings", **options)
        assert status == 0, result
        results.append(result)
    assert [len(result["runs"]) for result in results] == list(range(1, 8))
    assert results[-1]["verdicts"][0]["verdict"] == "helps"
    assert results[-1]["verdicts"][0]["speed"]["estimate"] == pytest.approx(2.0, rel=0.1)
    again, _status = call("hpu_compare_settings", **options)
    assert (again["changed"], again["cached"]) == (False, True)


def test_a_flag_alone_is_a_setting_of_its_own(options):
    flags = "OMP_NUM_THREADS=1,MKL_NUM_THREADS=2"
    result, _status = call("hpu_compare_settings", check_mode=True, **{**options, "settings": [], "flags": flags})
    assert [one["name"] for one in result["verdicts"]] == ["OMP_NUM_THREADS", "MKL_NUM_THREADS"]
    assert result["settings"]["MKL_NUM_THREADS"]["flags"] == {"MKL_NUM_THREADS": "2"}


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"processes": 0}, "processes is 0; give at least 1."),
        ({"warm_up": -1}, "warm_up is -1; give 0 or more."),
        ({"memory_limit": "much"}, "memory_limit is 'much'; give bytes, or a number with KiB, MiB or GiB."),
        ({"venv": "/nowhere"}, "/nowhere/bin/python is missing; install the training stack first, or set its venv."),
        ({"baseline": "{}", "baseline_file": "/x/f"}, "baseline: /x/f is not a baseline (KeyError: 'hosts');"),
        ({"baseline": '{"hosts": {}}', "baseline_node": "n1"}, "baseline: the baseline has no node but not n1;"),
        ({"baseline": "{}", "tolerance": 2}, "tolerance is 2; give a fraction from 0 to below 1."),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(options, wrong, sentence):
    result, status = call("hpu_compare_settings", **{**options, **wrong})
    assert status == 1
    assert result["msg"].startswith(sentence)
    assert result["runs"] == []
