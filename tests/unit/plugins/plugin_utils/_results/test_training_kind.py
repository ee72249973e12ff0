# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._play_outcome import play_outcome
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.training_kind import INFO, training_kind

GIVEN = {"job": "llama", "left_out": {}, "release": "", "failure": ""}
LOST = "Lost contact with job llama: none of its nodes has responded for 30 min."
RUNNING = {"state": "running", "description": {"name": "llama"}, "supervision": {}}


def made(given, *infos):
    hosts = {
        f"n{number}": {"inventory_hostname": f"n{number}", "__gaudi_training_info": info}
        for number, info in enumerate(infos, start=1)
    }
    return training_kind(Asked(hosts, {**GIVEN, **given}, check_mode=False))


def test_a_job_out_of_sight_is_shown_as_such_and_is_neither_well_nor_failed():
    shown = made({"out_of_sight": LOST}, {"skipped": True}, {"skipped": True})
    assert shown.refusal == ""
    assert shown.options["title"] == "Job llama: unreachable"
    assert shown.options["notes"][0] == LOST
    assert shown.options["data"]["state"] == "out_of_sight"
    assert [row["state"] for row in shown.options["rows"]] == ["unreachable", "unreachable"]
    assert play_outcome(inventory=["n1", "n2"], **shown.outcome)["verdict"] == "unclear"


def test_a_job_that_runs_is_well_and_one_whose_following_failed_is_not():
    assert play_outcome(inventory=["n1"], **made({}, RUNNING).outcome)["verdict"] == "ok"
    failed = made({"failure": "Job llama failed: it did."}, {**RUNNING, "state": "failed"})
    assert failed.refusal == "Job llama failed: it did."
    assert play_outcome(inventory=["n1"], **failed.outcome)["verdict"] == "failed"


LAUNCHES = {"n1": {"engine": "torchrun", "file": "/etc/systemd/system/x.service"}, "n2": "nothing"}
CHECKED = {**GIVEN, "would_start": LAUNCHES, "command": ["-m", "mine.train", "--run-name", "a b", "--token", "s3cret"]}
HOSTS = {node: {"inventory_hostname": node, INFO: {"state": "absent"}} for node in LAUNCHES}


def test_a_check_of_a_launch_says_what_would_be_started_and_shows_no_empty_table():
    made = training_kind(Asked(HOSTS, CHECKED, True))
    assert made.options["title"] == ("Job llama: would be started on 2 host(s); check mode, nothing was started")
    assert [row["file"] for row in made.options["rows"]] == ["/etc/systemd/system/x.service", "-"]
    assert made.options["notes"][0].startswith("each rank would run -m mine.train --run-name 'a b' --token ")
    assert "s3cret" not in str(made.options)
    assert (made.outcome["ok"], made.refusal) == (True, "")


@pytest.mark.parametrize(("given", "check_mode"), [({**CHECKED, "would_start": {}}, True), (CHECKED, False)])
def test_what_runs_is_shown_as_it_stands(given, check_mode):
    assert training_kind(Asked(HOSTS, given, check_mode)).options["title"] == "Job llama: absent"
