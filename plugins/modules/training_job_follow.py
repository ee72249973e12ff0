#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
---
module: training_job_follow
short_description: Follow a training job, and report why it failed
version_added: "1.0.0"
description:
  - Prints a line for each new metric of rank 0, such as step, loss, tokens per second and time left, until the job has
    ended on all O(hosts).
  - For a job with supervisors it also shows restarts, lost and replaced nodes, and hangs. Supervisors stop and restart
    the job automatically. The task fails if the job ends without success.
  - For a job without supervisors, as soon as one node reports that its worker group failed, the job is stopped on the
    others. Nothing else stops a job here. Nodes that do not respond are waited for.
  - A failure is reported with the rank that failed first - its node, exception and last lines, and the path of its log.
  - One task follows all nodes, so run it with C(run_once). With one task per host, hosts beyond C(forks) would not be
    polled until the job has ended on the first ones.
  - A job continues when the task, the play or the controller is interrupted. Run the task again to keep following it.
options:
  hosts:
    description: Names of all nodes of the job, as given to M(gaudi3.scale.training_job). The first one has rank 0.
    type: list
    elements: str
    required: true
  spares:
    description: Names of the spares of a supervised job. Any of them may replace the first node.
    type: list
    elements: str
    default: []
  witness:
    description: "Name of the node that only votes on how a supervised job continues. Empty: none."
    type: str
    default: ""
  log_hosts:
    description:
      - Other nodes that have ranks but no worker group of the job, because Slurm started it there. After a failure
        their logs are read to find the rank that failed first.
      - Nodes that Slurm has chosen (O(gaudi3.scale.training_job#module:slurm.nodes=any)) need not be given. They are
        found in the inventory by name or by C(ansible_host).
    type: list
    elements: str
    default: []
  interval:
    description: Seconds between polls.
    type: float
    default: 5
  supervised:
    description:
      - Whether the job was launched with supervisors (O(gaudi3.scale.training_job#module:supervision)), if the play
        knows it. By default the nodes are asked until one knows the job.
    type: bool
  timeout:
    description: Seconds to follow. After that the task fails and the job continues. By default there is no limit.
    type: int
  answer_timeout:
    description: Seconds after which a poll of a node that does not respond is abandoned.
    type: int
    default: 30
  unreachable_timeout:
    description:
      - Seconds for which all nodes of the job may be silent. After that the task ends without an error, RV(state) is
        V(out_of_sight), and the job is left alone.
      - A node counts as silent from the first query it did not answer, regardless of how long this play itself was
        suspended.
    type: int
    default: 1800
  settle_time:
    description: Seconds for the other nodes to fail on their own, so that they report why.
    type: int
    default: 10
extends_documentation_fragment:
  - gaudi3.scale.job
author: The gaudi3.scale authors (@gaudi3-scale)
attributes:
  check_mode:
    support: full
    description: Returns at once, because check mode started nothing that could be followed.
  diff_mode:
    support: none
    description: Changes no file.
notes:
  - Runs on the controller and connects to the nodes with their own connection variables.
seealso:
  - module: gaudi3.scale.training_job
  - module: gaudi3.scale.training_job_info
"""

EXAMPLES = r"""
- name: Follow the job on all its nodes
  gaudi3.scale.training_job_follow:
    name: llama
    hosts: "{{ groups['gaudi'] }}"
  run_once: true
  become: true
"""

RETURN = r"""
followed:
  description: Whether there was a job to follow; V(false) in check mode.
  returned: always
  type: bool
state:
  description:
    - State of the whole job - V(succeeded), or with an error V(failed), V(stopped) or V(running).
    - V(out_of_sight), without an error, if no node responded for O(unreachable_timeout) seconds. RV(msg) has the
      details.
  returned: always
  type: str
msg:
  description: Why the task failed, or why the job is out of sight.
  returned: when the job has not succeeded
  type: str
nodes:
  description:
    - State of each node's worker group. For a supervised job also V(spare), V(witness) and V(lost) for nodes without
      ranks.
  returned: always
  type: dict
  sample: {"gaudi-01": "succeeded", "gaudi-02": "succeeded"}
supervision:
  description: RV(gaudi3.scale.training_job_info#module:supervision) as returned by M(gaudi3.scale.training_job_info).
  returned: for a supervised job
  type: dict
last_metrics:
  description: Last line of the metrics.
  returned: always
  type: dict
last_step:
  description: Last step line of the metrics, as M(gaudi3.scale.training_job_info) returns it.
  returned: always
  type: dict
first_loss:
  description: First loss of this run.
  returned: always
  type: float
last_loss:
  description: Last loss of this run.
  returned: always
  type: float
started:
  description: When rank 0's node started the job, in seconds since 1970.
  returned: always
  type: float
ended:
  description: When it ended there, in seconds since 1970.
  returned: always
  type: float
log_directory:
  description: Log directory on each node.
  returned: always
  type: str
job_directory:
  description: Checkpoint directory.
  returned: always
  type: str
"""
