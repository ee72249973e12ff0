#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: training_job_info
short_description: Report the state of one node's worker group of a training job
version_added: "1.0.0"
description:
  - Returns state, exit codes, metrics, last log lines and, after a failure, the rank of this node that failed first.
  - The same keys are returned always, also for a job that does not exist.
  - Metrics are written by rank 0, hence found on the first node of the job only.
options:
  metrics_after:
    description:
      - Return metrics from this byte of their file on; RV(metrics_offset) of the call before.
      - A negative number counts from the end.
    type: int
    default: 0
  events_after:
    description: Return events from this byte of their file on; RV(events_offset) of the call before.
    type: int
    default: 0
  log_lines:
    description: How many of the last lines of the agent's log to return.
    type: int
    default: 20
  wait:
    description: Wait on the node until the worker group has ended.
    type: bool
    default: false
  timeout:
    description: Seconds to wait at most. Past them RV(state) is V(running).
    type: int
    default: 600
  start_timeout:
    description:
      - Seconds that the ranks of this node may take to start. O(timeout) begins once all of them run.
      - For programs of this collection, whose ranks tell how far they are. Without it O(timeout) begins at once.
    type: int
  failure_in_logs:
    description:
      - Tell a failure that the logs show also where no worker group is known, as on the other nodes of a job of
        Slurm's.
    type: bool
    default: false
extends_documentation_fragment:
  - gaudi3.scale.job
author: The gaudi3.scale authors (@gaudi3-scale)
attributes:
  check_mode:
    support: full
    description: Only reads. Does not wait, since nothing was started that could end.
  diff_mode:
    support: none
    description: Changes nothing, so there is nothing to show.
seealso:
  - module: gaudi3.scale.training_job
  - module: gaudi3.scale.training_job_follow
"""

EXAMPLES = r"""
- name: Wait for the job
  gaudi3.scale.training_job_info:
    name: llama
    wait: true
    timeout: 3600
  register: job
  become: true
  failed_when: job.state != 'succeeded'
"""

RETURN = r"""
state:
  description: V(running), V(succeeded), V(failed), V(stopped) (it was asked to stop) or V(absent).
  returned: always
  type: str
description:
  description:
    - The job as M(gaudi3.scale.training_job) was given it. Empty when absent.
    - Values of variables that sound like secrets are not shown.
  returned: always
  type: dict
unit:
  description: Name of the systemd unit.
  returned: always
  type: str
started:
  description: When it was started, in seconds since 1970.
  returned: always
  type: float
ended:
  description: When it ended, in seconds since 1970.
  returned: always
  type: float
result:
  description:
    - What systemd calls its end, such as V(success), V(exit-code), V(oom-kill).
    - Through Slurm its state there, also while it has not ended, such as V(PENDING (Resources\)).
  returned: always
  type: str
nodes:
  description:
    - The nodes that have ranks of a job of Slurm's, or had them last, by their names there.
    - Empty where Slurm does not choose them (O(gaudi3.scale.training_job#module:slurm.nodes=hosts)) or has forgotten.
  returned: always
  type: list
  elements: str
binding:
  description:
    - What each rank of this node was bound to when systemd started the worker group here, as
      RV(gaudi3.scale.training_job#module:launch.binding). Empty where nothing was bound, or not by us.
  returned: always
  type: list
  elements: dict
is_witness:
  description: Whether this node votes on how the job continues and has no ranks of it.
  returned: always
  type: bool
exit_codes:
  description: Exit code by rank, negative for a signal. All ranks of the node after success, those known after failure.
  returned: always
  type: dict
  sample: {"8": 1, "9": -15}
failure:
  description:
    - What failed first on this node. V(null) where nothing did, or where the worker group was only asked to stop.
    - Of a supervised job that is over, what failed first on any node, on every node alike.
  returned: always
  type: dict
  contains:
    rank:
      description: The rank, or -1 for C(torchrun) itself.
      type: int
    local_rank:
      description: The rank among those of this node, or -1.
      type: int
    exit_code:
      description: Exit code, negative for a signal.
      type: int
    time:
      description: When, in seconds since 1970.
      type: float
    exception:
      description: Type of the exception. Empty where there was none.
      type: str
    message:
      description: Its message.
      type: str
    lines:
      description: Last lines of the rank's standard error.
      type: list
      elements: str
    path:
      description: The whole log on this node.
      type: str
    host:
      description: >-
        The rank's node in a supervised job; its host where C(mpirun) brought its words to this one; or a host that was
        lost. Else empty.
      type: str
    echo:
      description: >-
        0 for a cause. Else the cause may be another rank - 1 lost a peer, 2 was ended by its own agent, 3 ended with
        exit status 0 while other ranks ran.
      type: int
supervision:
  description: How the whole job stands, as the supervisor of this node knows it. Empty where it has none.
  returned: always
  type: dict
  contains:
    time:
      description: When it said so, in seconds since 1970.
      type: float
    state:
      description: V(waiting) (for other nodes), V(running), V(stopping) or V(ended).
      type: str
    generation:
      description: How often ranks were started, whether after a failure or on other nodes.
      type: int
    members:
      description: The nodes of this generation in the order of their ranks.
      type: list
      elements: str
    node_rank:
      description: Place of this node among them; V(null) for one that stands by.
      type: int
    leader:
      description: The first of them, which has rank 0.
      type: str
    restarts:
      description: How many restarts count against the allowed ones.
      type: int
    alive:
      description: The nodes that are heard.
      type: list
      elements: str
    step:
      description: The last finished step, where the ranks tell it.
      type: int
    outcome:
      description: V(succeeded), V(failed) or V(stopped). Empty while the job is not over.
      type: str
    reason:
      description: Why it stands so, in a sentence.
      type: str
    failure:
      description: As RV(failure).
      type: dict
events:
  description: What happened to a supervised job, from O(events_after) on.
  returned: always
  type: list
  elements: dict
  contains:
    time:
      description: When, in seconds since 1970.
      type: float
    kind:
      description: Such as V(run), V(rank_failed), V(node_lost), V(node_back), V(hang), V(straggler), V(spare),
        V(shrunk) or V(grown).
      type: str
    generation:
      description: In which generation.
      type: int
    host:
      description: The node that it is about.
      type: str
    text:
      description: It in a sentence.
      type: str
events_offset:
  description: What O(events_after) has to be to get those that follow.
  returned: always
  type: int
metrics:
  description: The metrics from O(metrics_after) on, at most 1 MiB of them.
  returned: always
  type: list
  elements: dict
metrics_offset:
  description: What O(metrics_after) has to be to get those that follow.
  returned: always
  type: int
last_metrics:
  description: The last line of the metrics, of whatever kind. Empty where there is none.
  returned: always
  type: dict
last_step:
  description:
    - The last line of a step, with C(step), C(loss), C(tokens_per_second), C(tokens_per_second_per_card), C(seconds)
      (the parts of a step), C(memory_bytes), C(slowest), C(seconds_left) and C(ends_at), as far as the job reports
      them.
    - Empty where there is none.
  returned: always
  type: dict
first_loss:
  description: Loss of the first step that was reported in this run.
  returned: always
  type: float
last_loss:
  description: Loss of the last one.
  returned: always
  type: float
usage:
  description:
    - What the job used last on this node as its supervisor sees it, without asking the program. Each may be V(null).
    - Empty where no supervisor has looked yet, and for other engines than C(torchrun).
  returned: always
  type: dict
  contains:
    time:
      description: When, in seconds since 1970.
      type: float
    generation:
      description: In which generation of ranks.
      type: float
    cores:
      description: How many cores were busy with the job.
      type: float
    of_cores:
      description: How many cores the node has.
      type: float
    memory_bytes:
      description: Memory of its processes, without what the kernel keeps of files.
      type: float
    cards:
      description: How many cards C(hl-smi) named, all those of the node. This and what follows only on C(device=hpu).
      type: float
    utilization:
      description: How busy the cards were in per cent, the mean.
      type: float
    lowest_utilization:
      description: The same of the card that was least busy.
      type: float
    card_memory_bytes:
      description: Memory in use of the fullest card.
      type: float
    held_memory_bytes:
      description: The most that one of the job's processes holds of a card, where Synapse reports it.
      type: float
    watts:
      description: What all cards drew on the 54 V rail.
      type: float
rank_log:
  description: The end of what this node's first rank wrote. Empty where it has written nothing.
  returned: always
  type: dict
  contains:
    path:
      description: Its file that was written last.
      type: str
    lines:
      description: The last lines, 10 at most, without control characters.
      type: list
      elements: str
reached:
  description:
    - How far this node's ranks have come. All are 0 where they tell nothing, as those that still load their libraries,
      and those of a program that is not of this collection.
  returned: always
  type: dict
  contains:
    started:
      description: How many ranks have loaded their libraries.
      type: int
    met:
      description: How many have found the ranks of all nodes.
      type: int
    measuring:
      description: How many work on what is measured.
      type: int
    since:
      description: Since when all of them run, in seconds since 1970. V(null) while one does not.
      type: float
log:
  description: Last lines of the agent's log.
  returned: always
  type: list
  elements: str
log_directory:
  description: Where the logs are.
  returned: always
  type: str
job_directory:
  description: Where checkpoints are.
  returned: always
  type: str
jobs:
  description: The names of the jobs that this node knows, where it does not know this one.
  returned: success
  type: list
  elements: str
  sample: []
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.report import report, wait_until_ended
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JOB_ARGUMENTS, paths_from
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        signed=("metrics_after", "events_after"),
        argument_spec={
            **JOB_ARGUMENTS,
            "metrics_after": {"type": "int", "default": 0},
            "events_after": {"type": "int", "default": 0},
            "log_lines": {"type": "int", "default": 20},
            "wait": {"type": "bool", "default": False},
            "timeout": {"type": "int", "default": 600},
            "start_timeout": {"type": "int"},
            "failure_in_logs": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )


def answer(options: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    paths = paths_from(options)
    if options["wait"] and not module.check_mode:
        wait_until_ended(paths, run_process, options["timeout"], start_timeout=options["start_timeout"])
    wishes = {name: options[name] for name in ("metrics_after", "events_after", "log_lines", "failure_in_logs")}
    result = report(paths, run_process, **wishes)
    return {"changed": False, **result}


if __name__ == "__main__":
    main()
