# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import copy

from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.page import report_page
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.training_page import training_report
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.usage_report import (
    outside_line,
    usage_charts,
    usage_words,
)

INFO = {"state": "running", "description": {"hosts": ["n1", "n2"], "processes_per_node": 8}, "log_directory": "/log"}


def sample(time, **more):
    reported = {"time": time, "cores": 2.0, "of_cores": 160.0, "memory_bytes": float(8 << 30)}
    cards = {
        "cards": 8.0,
        "utilization": 85.0,
        "lowest_utilization": 80.0,
        "card_memory_bytes": float(60 << 30),
        "watts": 4120.0,
    }
    return {**reported, **cards, **more}


def host(name, samples, **more):
    log = {"path": "/log/0/stdout.log", "lines": ["epoch 1", "loss\x1b[2J <b>"]}
    info = {**INFO, "rank_log": log, **more}
    events = [{"kind": "run", "generation": number, "time": 1000.0 + number, "text": ""} for number in (1, 120)]
    history = {"runs": [], "events": events, "usage": samples}
    return {"inventory_hostname": name, "__gaudi_training_info": info, "__gaudi_training_history": history}


def test_a_job_that_tells_nothing_is_told_of_from_outside():
    samples = [sample(1000.0, cores=None), sample(1300.0, cores=4.0), sample(1600.0)]
    report = training_report([host("n1", samples), host("n2", [sample(1300.0)])])
    cards = "8 cards 85 % busy (the least busy one 80 %), the fullest with 60.0 GiB, 4,120 W"
    (note,) = report["notes"]
    assert note == (
        "the program reports no steps; process activity over 10 min 00 s (averages, and peak memory): "
        f"a node uses 2.5 of 160 cores, 8.0 GiB, {cards}"
    )
    assert report["columns"][3:7] == ["cores", "memory", "cards", "power"]
    row = report["rows"][0]
    assert [row[column] for column in report["columns"][3:7]] == [
        "3.0 of 160 cores",
        "8.0 GiB",
        "8 cards 85 % busy",
        "4,120 W",
    ]
    assert [chart["title"] for chart in report["charts"]] == [
        "Processor of each node",
        "Memory of each node's ranks",
        "Cards of each node: busy",
        "Cards of each node: memory",
        "Cards of each node: power",
    ]
    (first, *_rest) = report["charts"]
    # One sample makes no line, and what is not known no point.
    assert first["series"] == [{"label": "n1", "points": [[5.0, 4.0], [10.0, 2.0]]}]
    assert [mark["value"] for mark in first["marks"]] == [2.0]
    (log,) = [section for section in report["sections"] if section["title"].startswith("Last lines")]
    assert [row["line"] for row in log["rows"]][:2] == ["epoch 1", "loss [2J <b>"]


def test_the_page_of_it_is_drawn():
    report = training_report([host("n1", [sample(1000.0 + 10 * number, cores=number % 3) for number in range(9)])])
    sections = [{"notes": [], **section} for section in report["sections"]]
    reported = {key: report[key] for key in ("rows", "columns", "notes", "charts")}
    page = report_page("Job a", subtitle="", **reported, sections=sections)
    assert page.count("<svg") == 5
    assert "loss [2J &lt;b&gt;" in page


def test_a_job_that_tells_its_steps_keeps_its_table_and_has_the_charts():
    one = host("n1", [sample(1000.0), sample(1010.0)])
    points = [{"step": number, "time": 1000.0 + number, "loss": 2.0, "tokens_per_second": 9.0} for number in (1, 2)]
    run = {"start": None, "points": points, "means": [], "last": points[-1], "nodes": None, "end": None, "remarks": []}
    reported = copy.deepcopy(one)
    reported["__gaudi_training_history"]["runs"] = [run]
    report = training_report([reported])
    assert report["columns"][3:5] == ["loss", "tokens/s"]
    assert report["notes"][0] == "at step 2"
    assert "Processor of each node" in [chart["title"] for chart in report["charts"]]


def test_without_a_supervisor_it_is_said_that_nothing_was_seen():
    described = {**INFO["description"], "engine": "slurm"}
    (note,) = training_report([host("n1", [], description=described)])["notes"]
    assert (
        note == "no step was measured; the resource usage of a job is measured only with gaudi_training_engine torchrun"
    )


def test_of_many_nodes_the_lowest_and_the_highest_are_drawn():
    usage = {f"n{number}": [sample(0.0, cores=number), sample(7 * 3600.0, cores=number)] for number in range(20)}
    chart = usage_charts(usage, [])[0]
    assert [one["label"] for one in chart["series"]] == ["n0", "n1", "n2", "n17", "n18", "n19"]
    assert chart["title"] == "Processor of each node (6 of 20: the lowest and the highest)"
    assert chart["x_label"].startswith("hours")
    assert chart["series"][0]["points"][-1][0] == 7.0


def test_a_job_of_which_nothing_is_known_yet_has_no_line():
    assert outside_line("n1", {"usage": {}, "rank_log": {}}) is None


def test_what_the_job_holds_is_beside_what_the_card_has_in_use():
    words = usage_words(sample(1000.0, held_memory_bytes=float(58 << 30)))
    assert words.endswith("the fullest with 60.0 GiB (58.0 GiB held by the job), 4,120 W")
