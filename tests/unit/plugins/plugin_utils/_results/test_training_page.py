# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import copy

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.history import current, means, split_runs
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.page import report_page
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.training_charts import GIB, training_charts
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.training_page import training_report

PARTS = {"data": 0.01, "forward": 0.1, "backward": 0.2, "optimizer": 0.03, "communication": 0.05, "other": 0.01}
INFO = {
    "state": "running",
    "description": {
        "hosts": ["n1", "n2"],
        "processes_per_node": 8,
        "command": ["-m", "gaudi3_scale.train", "--max-steps", "40"],
        "environment": {"WANDB_API_KEY": "f00ba4", "PT_HPU_LAZY_MODE": "0"},
        "spares": [],
    },
    "last_metrics": {"kind": "checkpoint", "step": 40},
    "log_directory": "/log/jobs/a",
    "job_directory": "/state/jobs/a",
}


def step(number, loss, **more):
    return {
        "kind": "step",
        "step": number,
        "time": 1000.0 + number,
        "loss": loss,
        "tokens_per_second": 16000.0,
        "lr": 6e-4,
        "memory_bytes": 60 << 30,
        "seconds": {"step": 0.4, **PARTS},
        **more,
    }


def node(busy):
    return {
        "ranks": 8,
        "busy_seconds": busy,
        "seconds": PARTS,
        "memory_bytes": 60 << 30,
        "slowest_rank": 3,
        "slowest_busy_seconds": busy,
    }


def start(number, time, hosts):
    return {
        "kind": "start",
        "time": time,
        "step": number,
        "world_size": 16,
        "nodes": 2,
        "hosts": hosts,
        "versions": {"torch": "2.9.0", "driver": "1.24.1"},
        "flags": {"PT_HPU_LAZY_MODE": "0", "HCCL_SOCKET_IFNAME": "eth0"},
        "memory_limit_bytes": 94 << 30,
    }


LINES = [
    start(0, 1000.0, ["n1", "n2"]),
    step(10, 5.0),
    step(20, 4.0),
    step(30, 3.5),
    {"kind": "checkpoint", "time": 1020.5, "step": 20, "path": "/c"},
    {"kind": "checkpoint_failed", "time": 1030.5, "step": 30, "message": "the disk is full"},
    start(20, 1100.0, ["n1", "n3"]),
    step(30, 3.6),
    step(40, 3.0, max_steps=60, seconds_left=90.0),
    {"kind": "nodes", "time": 1200.0, "step": 40, "steps": 20, "nodes": {"n1": node(0.1), "n3": node(0.15)}},
]
EVENTS = [{"time": 1050.0, "kind": "node_lost", "host": "n2", "text": "n2 was not heard from for 15 s."}]


def history(lines):
    runs = current(split_runs(lines))
    return {"runs": [{**run, "means": means(run["points"], 120)} for run in runs], "events": EVENTS}


@pytest.fixture
def hosts():
    empty = {"runs": [], "events": EVENTS}
    return copy.deepcopy(
        [
            {"inventory_hostname": "n1", "__gaudi_training_info": INFO, "__gaudi_training_history": history(LINES)},
            {
                "inventory_hostname": "n2",
                "__gaudi_training_info": {**INFO, "state": "failed"},
                "__gaudi_training_history": empty,
            },
        ]
    )


def section(report, title):
    return next(one for one in report["sections"] if one["title"] == title)


def test_the_table_says_how_each_node_stands(hosts):
    report = training_report(hosts)
    assert report["data"]["state"] == "running"
    assert [(row["node"], row["state"], row["loss"]) for row in report["rows"]] == [
        ("n1", "running", "5.000 (step 10) to 3.000 (step 40)"),
        ("n2", "failed", "5.000 (step 10) to 3.000 (step 40)"),
    ]
    assert report["notes"] == [
        "at step 40 of 60",
        "16,000 tokens/s, 1,000 a card: the median over the job",
        "started 2 times, 10 step(s) were repeated; lines in the charts mark the restarts",
        "a checkpoint was not written; last at step 30: the disk is full",
        "1 min 30 s left, by the speed of the last lines",
    ]


def test_curves_are_of_all_runs_with_the_restart_marked(hosts):
    charts = {chart["title"]: chart for chart in training_report(hosts)["charts"]}
    assert charts["Loss"]["points"] == [[10, 5.0], [20, 4.0], [30, 3.6], [40, 3.0]]
    assert [mark["value"] for mark in charts["Loss"]["marks"]] == [20.0]
    assert charts["Speed"]["points"][0] == [10, 16.0]
    split = charts["Where a step's time goes"]["series"]
    assert [part["label"] for part in split] == list(PARTS)
    assert split[1]["points"][0] == [10, pytest.approx(100)]
    memory = charts["Memory of the fullest rank"]
    assert memory["points"][0] == [10, 60.0]
    assert {"axis": "y", "value": 94.0, "label": "limit of a card", "tone": "bad"} in memory["marks"]
    assert charts["Learning rate"]["points"][0] == [10, pytest.approx(600)]


def test_a_slow_node_is_told_from_the_others(hosts):
    rows = section(training_report(hosts), "Speed of each node")["rows"]
    assert [(row["node"], row["of the median"]) for row in rows] == [("n1", "1.00"), ("n3", "slow: 1.50")]


def test_events_of_supervisor_and_trainer_are_in_the_order_of_time_without_the_routine(hosts):
    rows = section(training_report(hosts), "Events")["rows"]
    assert [(row["kind"], row["text"]) for row in rows] == [
        ("checkpoint_failed", "checkpoint failed at step 30: the disk is full"),
        ("node_lost", "n2 was not heard from for 15 s."),
    ]


def test_what_the_ranks_of_each_node_were_bound_to(hosts):
    assert not [one for one in training_report(hosts)["sections"] if one["title"] == "Binding"]
    worker_group = {"local_rank": 1, "numa_node": 0, "cpus": "8-15,72-79", "cores": 8}
    hosts[0]["__gaudi_training_info"] = {**hosts[0]["__gaudi_training_info"], "binding": [worker_group]}
    assert section(training_report(hosts), "Binding")["rows"] == [
        {"node": "n1", "local rank": 1, "NUMA node": 0, "CPUs": "8-15,72-79", "cores": 8}
    ]


def test_configuration_flags_and_versions_have_no_secret(hosts):
    report = training_report(hosts, "1.24.1")
    options = {row["option"]: row["value"] for row in section(report, "Configuration")["rows"]}
    assert options == {
        "engine": "torchrun",
        "binding": "numa",
        "hosts": "n1 n2",
        "ranks per node": "8",
        "command": "-m gaudi3_scale.train --max-steps 40",
    }
    assert section(report, "Flags and environment")["rows"] == [
        {"variable": "HCCL_SOCKET_IFNAME", "value": "eth0", "from": "the node"},
        {"variable": "PT_HPU_LAZY_MODE", "value": "0", "from": "the job"},
        {"variable": "WANDB_API_KEY", "value": "(not shown)", "from": "the job"},
    ]
    versions = {row["what"]: row["version"] for row in section(report, "Versions")["rows"]}
    assert versions == {"release (wanted)": "1.24.1", "torch": "2.9.0", "driver": "1.24.1"}
    assert "f00ba4" not in str(report)


def test_a_job_without_a_step_has_a_page_too():
    info = {"state": "failed", "description": INFO["description"]}
    report = training_report([{"inventory_hostname": "n1", "__gaudi_training_info": info}])
    assert (report["notes"], report["charts"]) == (["no step was measured"], [])
    assert [one["title"] for one in report["sections"]] == ["Configuration", "Flags and environment"]


def test_a_script_that_writes_steps_and_losses_only_has_curves_of_these():
    lines = [{"kind": "step", "step": number, "loss": 5.0 - number} for number in (1, 2, 3)]
    host = {
        "inventory_hostname": "n1",
        "__gaudi_training_info": INFO,
        "__gaudi_training_history": {**history(lines), "events": []},
    }
    report = training_report([host])
    assert [chart["title"] for chart in report["charts"]] == ["Loss"]


@pytest.mark.parametrize(
    ("reported", "title", "label", "cell", "note"),
    [
        ({"samples_per_second": 640.0}, "Speed", "samples/s", 640, "640 samples/s, 40 a card"),
        ({}, "Time of a step", "milliseconds", None, "250 ms a step"),
    ],
)
def test_what_counts_no_tokens_has_its_speed_too(reported, title, label, cell, note):
    begun = {"kind": "start", "step": 0, "time": 1.0, "world_size": 16}
    lines = [{"kind": "step", "step": number, "seconds": {"step": 0.25}, **reported} for number in (1, 2, 3)]
    host = {
        "inventory_hostname": "n1",
        "__gaudi_training_info": INFO,
        "__gaudi_training_history": {**history([begun, *lines]), "events": []},
    }
    report = training_report([host])
    assert [(chart["title"], chart["y_label"]) for chart in report["charts"]] == [(title, label)]
    # Under the heading of what was counted, which is tokens where nothing was.
    counted = "samples/s" if cell else "tokens/s"
    assert (counted in report["columns"], report["rows"][0][counted]) == (True, cell)
    assert f"{note}: the median over the job" in report["notes"]


def test_a_loss_that_became_no_number_is_said_and_not_drawn(hosts):
    hosts[0]["__gaudi_training_history"]["runs"][-1]["points"][-1]["loss"] = float("nan")
    report = training_report(hosts)
    assert "the loss is not a number from step 40 on: the training has diverged" in report["notes"]
    assert report["charts"][0]["points"][-1] == [30, 3.6]


def test_what_a_step_tells_beside_its_time_has_curves_too():
    parts = {"weights": GIB, "gradients": GIB, "optimizer": 2 * GIB, "activations": 3 * GIB, "rest": 0}
    told = {"gradient_norm": 0.7, "mfu": 0.41, "memory_parts": parts, "graph_compilations": 12}
    points = [{"step": step, **told} for step in (10, 20)]
    remarks = [{"kind": "validation", "step": step, "validation_loss": 3.0 - step / 100} for step in (5, 15)]
    run = {"start": None, "points": points, "means": points, "last": None, "nodes": None, "end": None}
    charts = {chart["title"]: chart for chart in training_charts([{**run, "remarks": remarks}])}
    assert charts["Loss of held-out data"]["points"] == [[5, 2.95], [15, 2.85]]
    assert charts["Norm of the gradients"]["points"] == [[10, 0.7], [20, 0.7]]
    assert charts["Use of the cards"]["points"] == [[10, 41.0], [20, 41.0]]
    assert charts["Graphs compiled"]["points"] == [[10, 12], [20, 12]]
    memory = charts["What the fullest rank's memory is used for"]["series"]
    assert [(part["label"], part["points"][0]) for part in memory] == [
        ("weights", [10, 1.0]),
        ("gradients", [10, 1.0]),
        ("optimizer", [10, 2.0]),
        ("activations", [10, 3.0]),
        ("rest", [10, 0.0]),
    ]


def test_what_the_report_says_becomes_a_page(hosts):
    report = training_report(hosts, "1.24.1")
    sections = [{"notes": [], **one} for one in report["sections"]]
    parts = {name: report[name] for name in ("rows", "columns", "notes", "charts")}
    page = report_page("Job a", subtitle="today", **parts, sections=sections)
    assert page.count("<svg") == 5
    assert '<td class="bad">slow: 1.50</td>' in page
    assert '<td class="bad">node_lost</td>' in page
    assert "nan" not in page


def test_a_job_with_part_of_its_nodes_says_which_cards(hosts):
    told = {"modules": [4, 5, 6, 7], "node_cards": 8}
    for host in hosts:
        if host.get("__gaudi_training_info"):
            host["__gaudi_training_info"] = {**host["__gaudi_training_info"], **told}
    options = {row["option"]: row["value"] for row in section(training_report(hosts), "Configuration")["rows"]}
    assert options["modules"] == "4 5 6 7"
