# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.training_row import training_row

STEPS = [
    {"kind": "start", "step": 0},
    {"kind": "step", "step": 1, "loss": 5.6123, "tokens_per_second": None},
    {"kind": "step", "step": 10, "loss": 4.0, "tokens_per_second": 7000.4},
    {"kind": "step", "step": 20, "loss": 2.5, "tokens_per_second": 7100.0},
    {"kind": "step", "step": 30, "loss": 2.25, "tokens_per_second": 6900.0},
]
INFO = {
    "state": "succeeded",
    "description": {"processes_per_node": 2},
    "job_directory": "/var/lib/gaudi3_scale/jobs/a",
    "log_directory": "/var/log/gaudi3_scale/jobs/a",
}


def test_a_node_of_a_job():
    assert training_row({"inventory_hostname": "n2", "__gaudi_training_info": INFO}, {"metrics": STEPS}) == {
        "node": "n2",
        "state": "succeeded",
        "ranks": 2,
        "loss": "5.612 (step 1) to 2.250 (step 30)",
        "tokens/s": 7000,
        "checkpoints": "/var/lib/gaudi3_scale/jobs/a/checkpoints",
        "logs": "/var/log/gaudi3_scale/jobs/a",
    }


def test_a_job_without_metrics_has_a_row_too():
    row = training_row({"inventory_hostname": "n2"}, {"metrics": []})
    assert row["node"] == "n2"
    assert {row[key] for key in ("state", "ranks", "loss", "tokens/s", "checkpoints", "logs")} == {None}


def test_a_node_that_the_engine_reaches_stands_as_the_job_does():
    info = {**INFO, "state": "absent", "description": {}}
    whole = {"engine": "slurm", "hosts": ["n1", "n2"], "processes_per_node": 8, "checkpoint_directory": "/big"}
    first = {"metrics": [], "state": "running", "description": whole}
    row = training_row({"inventory_hostname": "n2", "__gaudi_training_info": info}, first)
    assert (row["state"], row["ranks"], row["checkpoints"]) == ("running", 8, "/big/checkpoints")
    other = training_row({"inventory_hostname": "n9", "__gaudi_training_info": info}, first)
    assert (other["state"], other["ranks"]) == ("absent", None)
    torchrun = {**first, "description": {"hosts": ["n1", "n2"]}}
    assert training_row({"inventory_hostname": "n2", "__gaudi_training_info": info}, torchrun)["state"] == "absent"
