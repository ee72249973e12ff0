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
  - Of a job with supervisors it also shows what they do - restarts, nodes that are lost and replaced, hangs. They end
    and restart the job by themselves. The task fails when it is over and has not succeeded.
  - As soon as a node says that its worker group of a job without supervisors has failed, ends the job on the others.
    Nothing else ends a job here. Nodes that do not answer are waited for.
  - A failure is reported with the rank that failed first - its node, exception and last lines, and where its log is.
  - One task follows all nodes, so run it with C(run_once). With a task on each host, hosts beyond C(forks) would not be
    looked at before the job has ended on the first ones.
  - A job continues when the task, the play or the controller is interrupted. Run the task again to follow it further.
options:
  hosts:
    description: Names of all nodes of the job, as given to M(gaudi3.scale.training_job); the first one holds rank 0.
    type: list
    elements: str
    required: true
  spares:
    description: Names of the nodes that stand by for a supervised job. Any of them may take the first one's place.
    type: list
    elements: str
    default: []
  witness:
    description: Name of the node that only votes on how a supervised job continues. Empty for none.
    type: str
    default: ""
  log_hosts:
    description:
      - Further nodes that have ranks but no worker group of the job, since Slurm started it on them. After a failure
        their logs are read, to name the rank that failed first.
      - Nodes that Slurm has chosen itself (O(gaudi3.scale.training_job#module:slurm.nodes=any)) need not be given. They
        are found in the inventory by their names or by C(ansible_host).
    type: list
    elements: str
    default: []
  interval:
    description: Seconds between two looks.
    type: float
    default: 5
  supervised:
    description:
      - Whether the job was launched with supervisors (O(gaudi3.scale.training_job#module:supervision)), where the play
        knows it. Without it the nodes are asked until one knows the job.
    type: bool
  timeout:
    description: Seconds to follow. Past them the task fails and the job continues. Without it there is no limit.
    type: int
  answer_timeout:
    description: Seconds after which one look at a node that does not answer is given up.
    type: int
    default: 30
  unreachable_timeout:
    description:
      - Seconds for which all nodes of the job may be silent. Past them the task ends without an error, and RV(state)
        is V(out_of_sight). The job is left alone.
      - A node is silent from the first question on that it did not respond, however long this play itself stood still.
    type: int
    default: 1800
  settle_time:
    description: Seconds that the other nodes get to fail by themselves, so that they tell why.
    type: int
    default: 10
extends_documentation_fragment:
  - gaudi3.scale.job
author: The gaudi3.scale authors (@gaudi3-scale)
attributes:
  check_mode:
    support: full
    description: Returns at once, since nothing was started that could be followed.
  diff_mode:
    support: none
    description: Changes no file.
notes:
  - Runs on the controller and connects to the nodes by their own connection variables.
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
  description: Whether there was anything to follow; V(false) in check mode.
  returned: always
  type: bool
state:
  description:
    - State of the whole job - V(succeeded), or with an error V(failed), V(stopped) or V(running).
    - V(out_of_sight), without an error, where no node has answered for O(unreachable_timeout) seconds. RV(msg) says so.
  returned: always
  type: str
msg:
  description: Why the task failed, or how the job got out of sight.
  returned: when the job has not succeeded
  type: str
nodes:
  description:
    - State of each node's worker group. Of a supervised job also V(spare), V(witness) and V(lost) for nodes that have
      no ranks of it.
  returned: always
  type: dict
  sample: {"gaudi-01": "succeeded", "gaudi-02": "succeeded"}
supervision:
  description: What M(gaudi3.scale.training_job_info) returned as RV(gaudi3.scale.training_job_info#module:supervision).
  returned: for a supervised job
  type: dict
last_metrics:
  description: The last line of the metrics.
  returned: always
  type: dict
last_step:
  description: The last line of a step, as M(gaudi3.scale.training_job_info) returns it.
  returned: always
  type: dict
first_loss:
  description: The first loss of this run.
  returned: always
  type: float
last_loss:
  description: The last loss of this run.
  returned: always
  type: float
started:
  description: When rank 0's node started it, in seconds since 1970.
  returned: always
  type: float
ended:
  description: When it ended there.
  returned: always
  type: float
log_directory:
  description: Where the logs are on each node.
  returned: always
  type: str
job_directory:
  description: Where checkpoints are.
  returned: always
  type: str
"""
