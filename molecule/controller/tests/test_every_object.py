# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Each object of a controller is made by awx.awx's own modules, against the contract that was recorded.

A process for each, so this takes minutes; that it needs no node lets it run where processors are free.
"""

from __future__ import annotations

import json

import pytest

from tests.controller_runs import GATEWAY, Configure, configure, with_operator
from tests.controller_stub import TOKEN, served

__all__ = ["configure"]


@pytest.mark.parametrize(
    ("prefix", "option"), [("/api/", ""), pytest.param(GATEWAY, GATEWAY, id="gateway", marks=pytest.mark.long)]
)
def test_everything_is_made_and_a_second_run_changes_nothing(configure: Configure, prefix: str, option: str) -> None:
    controller = with_operator(prefix)
    with served(controller) as host:
        given = {"gaudi_controller_host": host, "gaudi_controller_api_prefix": option}
        status, screen = configure(given)
        assert status == 0, screen
        assert TOKEN not in screen
        assert {"Gaudi: Site", "Gaudi: Launch a training", "Gaudi: Verify"} <= {*controller.names("job_templates")}
        assert len(controller.names("workflow_job_templates")) == 3
        assert controller.names("schedules") == ["Gaudi: Audit the cluster"]
        launch = controller.named("job_templates", "Gaudi: Launch a training")
        assert json.loads(launch["extra_vars"]) == {"gaudi_training_timeout": 13500}
        steps = controller.survey_of("job_templates", "Gaudi: Launch a training")["spec"]
        assert next(one for one in steps if one["variable"] == "gaudi_training_max_steps")["default"] == 200
        canary = controller.named("workflow_job_template_nodes", "canary")
        assert controller.related["workflow_job_template_nodes", canary["id"], "success_nodes"]
        before = len(controller.writes)
        status, screen = configure(given)
        assert (status, controller.writes[before:]) == (0, [])
        assert "changed=0" in screen


@pytest.mark.long
def test_check_mode_behind_a_gateway_tells_what_would_be_made_and_makes_nothing(configure: Configure) -> None:
    controller = with_operator(GATEWAY)
    with served(controller) as host:
        given = {"gaudi_controller_host": host, "gaudi_controller_api_prefix": GATEWAY}
        status, screen = configure(given, "--check")
        assert status == 0, screen
        assert controller.writes == []
        assert "project gaudi3.scale: would be made" in screen
        assert "job template Gaudi: Site: would be created after the objects it refers to" in screen
