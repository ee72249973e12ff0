# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""What AWX and Automation Controller do to a run, told by the variables that they give each job; pure.

Their names are those of ``awx_meta_vars`` in AWX's source; older ones begin with ``tower_`` and are given as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def slice_refusal(variables: Mapping[str, Any]) -> str:
    """A sentence where the job is a slice of a template, which sees a part of the inventory; else nothing.

    A sliced template runs as a workflow that has the template's name.
    """
    template, workflow = variables.get("awx_job_template_name"), variables.get("awx_workflow_job_name")
    if not template or template != workflow:
        return ""
    return (
        f"This job is a slice of the template {template} and sees only some of the nodes, where all of them are needed "
        "together; set its job slicing to 1."
    )


def lost_report(variables: Mapping[str, Any], target: str, page: str) -> str:
    """A sentence where a page was kept in a container that is gone after its job; else nothing.

    ``target``: what the site says of the place. A directory that it names may be one that outlives the container.
    """
    if target or not page or "awx_job_id" not in variables:
        return ""
    return (
        f"{page} is gone with this job's container; set gaudi_report_target to s3://bucket/prefix, or to a directory "
        "that outlives it."
    )
