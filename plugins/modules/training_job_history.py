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
  - Reads all metric lines of a job that this node has, also those of runs whose logs were put away, and thins them
    there, so that a job of weeks gives a full curve. The highest and lowest values are kept.
  - Steps that a later run made once more are left out of the earlier one.
  - Metrics are written by rank 0, so ask the node of rank 0; where its node was replaced, ask all of them.
options:
  points:
    description: How many points to return at most, over all runs; at least 4 of each.
    type: int
    default: 600
extends_documentation_fragment:
  - gaudi3.scale.job
author: The gaudi3.scale authors (@gaudi3-scale)
attributes:
  check_mode:
    support: full
    description: Only reads.
  diff_mode:
    support: none
    description: Changes nothing, so there is nothing to show.
seealso:
  - module: gaudi3.scale.training_job_info
  - module: gaudi3.scale.report
    description: Makes a page of what this module returns (O(gaudi3.scale.report#module:kind=training)).
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
  description: The runs of the job in the order of time. Empty where this node has no metrics.
  returned: always
  type: list
  elements: dict
  contains:
    start:
      description: The line C(start) of the run, with versions, hosts and flags. V(null) where a script wrote none.
      type: dict
    points:
      description: Thinned lines C(step), each with C(step), C(time), C(loss) and what else was measured.
      type: list
      elements: dict
    means:
      description: Tokens a second and the parts of a step, averaged over about 120 stretches of the job.
      type: list
      elements: dict
    last:
      description: The last line C(step) of the run, with all that it has. V(null) where there is none.
      type: dict
    nodes:
      description: The last line C(nodes) of the run. V(null) where there is none.
      type: dict
    end:
      description: The line C(end) of the run. V(null) where it did not come to its end.
      type: dict
    remarks:
      description: The last lines of other kinds.
      type: list
      elements: dict
    lost:
      description: Steps at the end of the run that a later one had to make once more.
      type: int
events:
  description: What the job's supervisor on this node noted, the last 200.
  returned: always
  type: list
  elements: dict
usage:
  description:
    - What the present run used on this node as its supervisor saw it, 240 samples at most, as
      RV(gaudi3.scale.training_job_info#module:usage). Each is the mean of a stretch of time, and the highest of memory.
    - Empty for other engines than C(torchrun).
  returned: always
  type: list
  elements: dict
sweep:
  description: The points of a sweep (O(gaudi3.scale.training_job#module:slurm.array)). Empty for any other job.
  returned: always
  type: list
  elements: dict
  contains:
    point:
      description: Its number, from 0 on.
      type: int
    arguments:
      description: Its further arguments. V(null) on a node that has no description of the job.
      type: list
      elements: str
    state:
      description: V(succeeded), V(failed) or V(stopped). V(null) where no end was recorded on this node.
      type: str
    curve:
      description: C(step) and C(loss) over its runs, thinned.
      type: list
      elements: dict
    last:
      description: Its last line C(step). V(null) where this node has none.
      type: dict
    restarts:
      description: How often it went on after its first run.
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
