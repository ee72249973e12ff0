# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._awx_job import lost_report, slice_refusal

LAUNCH = "Gaudi: Launch a training"


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"awx_job_template_name": LAUNCH},
        {"awx_job_template_name": LAUNCH, "awx_workflow_job_name": "Gaudi: Qualify, then launch"},
        {"awx_workflow_job_name": LAUNCH},
    ],
)
def test_a_whole_job_is_none_of_slices(variables):
    assert slice_refusal(variables) == ""


def test_a_slice_is_refused_with_its_template():
    said = slice_refusal({"awx_job_template_name": LAUNCH, "awx_workflow_job_name": LAUNCH})
    assert said.startswith(f"This job is a slice of the template {LAUNCH} and sees only some of the nodes")
    assert said.endswith("set its job slicing to 1.")


@pytest.mark.parametrize(
    ("variables", "target", "page"),
    [({}, "", "/tmp/site.html"), ({"awx_job_id": 7}, "/srv", "/srv/site.html"), ({"awx_job_id": 7}, "", "")],
)
def test_a_page_that_stays_is_no_reason_for_a_word(variables, target, page):
    assert lost_report(variables, target, page) == ""


def test_a_page_in_a_container_is_lost_with_it():
    said = lost_report({"awx_job_id": 7}, "", "/runner/project/gaudi3_scale_reports/site.html")
    assert said.startswith("/runner/project/gaudi3_scale_reports/site.html is gone with this job's container; set")
