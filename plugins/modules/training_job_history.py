#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: training_job_history
short_description: Return a downsampled job history for charts
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Reads all metric lines of a job on this node, including those of archived runs, and downsamples them there, so that
    weeks of training give a complete curve. The highest and lowest values are kept.
  - Steps that a later run repeated are omitted from the earlier run.
  - Rank 0 writes the metrics, so query the node of rank 0; if that node was replaced, query all of them.
options:
  points:
    description: Maximum number of points over all runs, with at least 4 per run.
    type: int
    default: 600
extends_documentation_fragment:
  - gaudi3.scale.job
author: The gaudi3.scale authors (@gaudi3-scale)
attributes:
  check_mode:
    support: full
    description: Read-only.
  diff_mode:
    support: none
    description: Changes nothing, so there is no diff.
seealso:
  - module: gaudi3.scale.training_job_info
  - module: gaudi3.scale.report
    description: Creates a page from the result of this module (O(gaudi3.scale.report#module:kind=training)).
"""

EXAMPLES = r"""
- name: Read the loss curve
  gaudi3.scale.training_job_history:
    name: llama
  register: course
  become: true

- name: Show the last data point
  ansible.builtin.debug:
    var: course.runs[-1].points[-1]
"""

RETURN = r"""
runs:
  description: Runs of the job in order of time. Empty if this node has no metrics.
  returned: always
  type: list
  elements: dict
  contains:
    start:
      description: The C(start) line of the run, with versions, hosts and flags. V(null) if a script wrote none.
      type: dict
    points:
      description: Downsampled C(step) lines, each with C(step), C(time), C(loss) and other measured values.
      type: list
      elements: dict
    means:
      description: Tokens per second and the parts of a step, averaged over about 120 sections of the job.
      type: list
      elements: dict
    last:
      description: The complete last C(step) line of the run. V(null) if there is none.
      type: dict
    nodes:
      description: The last C(nodes) line of the run. V(null) if there is none.
      type: dict
    end:
      description: The C(end) line of the run. V(null) if it did not finish.
      type: dict
    remarks:
      description: Last lines of other kinds.
      type: list
      elements: dict
    lost:
      description: Steps at the end of the run that a later run had to repeat.
      type: int
events:
  description: The last 200 events recorded by the job's supervisor on this node.
  returned: always
  type: list
  elements: dict
usage:
  description:
    - Resource usage of the current run on this node as its supervisor saw it, at most 240 samples, as
      RV(gaudi3.scale.training_job_info#module:usage). Each is the mean over an interval, for memory the maximum.
    - Empty for engines other than C(torchrun).
  returned: always
  type: list
  elements: dict
sweep:
  description: Points of a sweep (O(gaudi3.scale.training_job#module:slurm.array)). Empty for any other job.
  returned: always
  type: list
  elements: dict
  contains:
    point:
      description: Number of the point, from 0.
      type: int
    arguments:
      description: Its additional arguments. V(null) on a node without a description of the job.
      type: list
      elements: str
    state:
      description: V(succeeded), V(failed) or V(stopped). V(null) if no end was recorded on this node.
      type: str
    curve:
      description: C(step) and C(loss) over its runs, downsampled.
      type: list
      elements: dict
    last:
      description: Its last C(step) line. V(null) if this node has none.
      type: dict
    restarts:
      description: Number of times that it resumed after its first run.
      type: int
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.history import POINTS, read_history
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.sweep import read_sweep
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JOB_ARGUMENTS, paths_from
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        argument_spec={
            **JOB_ARGUMENTS,
            "points": {"type": "int", "default": POINTS},
        },
        supports_check_mode=True,
    )


def answer(options: dict[str, Any], _module: AnsibleModule) -> dict[str, Any]:
    paths = paths_from(options)
    history = read_history(paths, options["points"])
    return {"changed": False, **history, "sweep": read_sweep(paths, options["points"])}


if __name__ == "__main__":
    main()
