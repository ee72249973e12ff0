# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which nodes a job's last launch had, and from when to when: what is billed is what was run."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from ansible_collections.gaudi3.scale.plugins.module_utils._cost.launch import Launch, end_of, launch_of
from ansible_collections.gaudi3.scale.tests.unit.template_engine import filled_in

ROLE = Path(__file__).parents[5] / "roles/gaudi_cost"
FRIDAY, MONDAY = 1000.0, 5000.0
NOW = 9000.0


def info(started=MONDAY, ended=None, state="running", hosts=("n1", "n2"), **more):
    told = {"supervision": {}, "usage": {}, "last_metrics": {}, **more}
    return {"state": state, "started": started, "ended": ended, "description": {"hosts": list(hosts)}, **told}


def test_a_launch_begins_with_its_first_node_and_ends_with_its_last():
    infos = {"n1": info(MONDAY, 7000.0, "succeeded"), "n2": info(MONDAY + 2, 7001.0, "succeeded")}
    assert launch_of(infos, NOW) == Launch(("n1", "n2"), MONDAY, 7001.0)


def test_a_node_that_came_back_was_launched_later_and_is_in_the_launch_of_the_others():
    assert launch_of({"n1": info(MONDAY), "n2": info(MONDAY + 2000)}, NOW) == Launch(("n1", "n2"), MONDAY, NOW)


@pytest.mark.parametrize(
    "left",
    [
        info(FRIDAY, 2000.0, "stopped", hosts=("n1", "n2", "n4")),
        info(FRIDAY, None, "failed", hosts=("n1", "n2", "n4")),
        info(FRIDAY, 2000.0, "stopped"),
        info(FRIDAY, None, "failed", usage={"time": 2000.0}),
        info(MONDAY, None, is_witness=True),
        {"state": "absent", "started": None},
        {"unreachable": True},
    ],
)
def test_what_was_not_in_the_last_launch_is_left_out(left):
    assert launch_of({"n4": left, "n1": info(), "n2": info()}, NOW) == Launch(("n1", "n2"), MONDAY, NOW)


def test_a_job_that_nobody_knows_has_no_nodes():
    assert launch_of({"n1": {"state": "absent"}, "n2": {"unreachable": True}}, NOW) == Launch((), None, None)


def test_a_job_whose_start_nobody_knows_has_its_nodes():
    assert launch_of({"n1": info(None, 7000.0, "failed")}, NOW) == Launch(("n1",), None, 7000.0)


ENDS = [
    (info(), NOW),
    (info(ended=7000.0, state="failed", usage={"time": 7500.0}), 7000.0),
    (info(state="failed"), None),
    (info(state="failed", supervision={"time": 6000.0}), 6000.0),
    (info(state="failed", usage={"time": 6000.0}, last_metrics={"time": 6500.0, "kind": "step"}), 6500.0),
    # Of an earlier launch; of the future; of a script that writes anything.
    (info(state="failed", supervision={"time": FRIDAY}, usage={"time": None}), None),
    (info(state="failed", usage={"time": 6000.0}, last_metrics={"time": NOW + 1}), 6000.0),
    (info(state="failed", usage={"time": 6000.0}, last_metrics={"time": float("nan")}), 6000.0),
    (info(state="failed", usage={"time": 6000.0}, last_metrics={"time": {"a": 1}}), 6000.0),
]


@pytest.mark.parametrize(("told", "end"), ENDS)
def test_a_node_without_an_end_is_billed_until_it_last_told_anything(told, end):
    assert end_of(told, NOW) == end


@pytest.mark.parametrize(("told", "end"), ENDS)
def test_energy_is_asked_for_until_the_same_end(told, end):
    internal = yaml.safe_load((ROLE / "vars/main.yml").read_text())
    asked = {"__gaudi_cost_job": told, "__gaudi_cost_asked": {"cost": {"now": NOW}}}
    task = next(
        one for one in yaml.safe_load((ROLE / "tasks/job.yml").read_text()) if "gaudi3.scale.hpu_energy_info" in one
    )
    # The module's option is a number.
    assert float(filled_in(task["gaudi3.scale.hpu_energy_info"]["end"], {**internal, **asked})) == (end or 0)
