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
  - All keys are always returned, even for a job that does not exist.
  - Rank 0 writes the metrics, so they are only on the first node of the job.
options:
  metrics_after:
    description:
      - Byte offset in the metrics file to start from; RV(metrics_offset) of the previous call.
      - A negative number counts from the end.
    type: int
    default: 0
  events_after:
    description: Byte offset in the events file to start from; RV(events_offset) of the previous call.
    type: int
    default: 0
  log_lines:
    description: Number of last lines of the agent's log to return.
    type: int
    default: 20
  wait:
    description: Wait on the node until the worker group has ended.
    type: bool
    default: false
  wait_for_event:
    description:
      - With O(wait), also return as soon as there is an event after O(events_after).
      - So a failure is known at once, and the node is not asked again and again meanwhile.
    type: bool
    default: false
  timeout:
    description: Maximum seconds to wait. After that RV(state) is V(running).
    type: int
    default: 600
  start_timeout:
    description:
      - Seconds for the ranks of this node to start. O(timeout) begins once all of them run.
      - For programs of this collection, whose ranks report their progress. Without it O(timeout) begins at once.
    type: int
  failure_in_logs:
    description:
      - Report a failure found in the logs even if there is no worker group, as on the other nodes of a Slurm job.
    type: bool
    default: false
extends_documentation_fragment:
  - gaudi3.scale.job
author: The gaudi3.scale authors (@gaudi3-scale)
attributes:
  check_mode:
    support: full
    description: Read-only. Does not wait, because check mode started nothing that could end.
  diff_mode:
    support: none
    description: Changes nothing, so there is no diff.
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
    - The job as passed to M(gaudi3.scale.training_job). Empty when absent.
    - Values of variables that look like secrets are not shown.
  returned: always
  type: dict
unit:
  description: Name of the systemd unit.
  returned: always
  type: str
started:
  description: Start time, in seconds since 1970.
  returned: always
  type: float
ended:
  description: End time, in seconds since 1970.
  returned: always
  type: float
result:
  description:
    - Result as reported by systemd, such as V(success), V(exit-code), V(oom-kill).
    - Through Slurm, its state there, also before it has ended, such as V(PENDING (Resources\)).
  returned: always
  type: str
nodes:
  description:
    - Nodes that have ranks of a Slurm job, or last had them, by their Slurm names.
    - Empty if Slurm does not choose them (O(gaudi3.scale.training_job#module:slurm.nodes=hosts)) or no longer knows.
  returned: always
  type: list
  elements: str
binding:
  description:
    - Binding of each rank of this node when systemd started the worker group, as
      RV(gaudi3.scale.training_job#module:launch.binding). Empty if nothing was bound, or not by this collection.
  returned: always
  type: list
  elements: dict
modules:
  description: Module ids of the cards of this node's ranks. Empty if they are not known, or no Gaudi cards.
  returned: always
  type: list
  elements: int
node_cards:
  description: How many cards the node had when the worker group was started. 0 if RV(modules) is empty.
  returned: always
  type: int
is_witness:
  description: Whether this node votes on how the job continues and has no ranks.
  returned: always
  type: bool
exit_codes:
  description:
    - Exit code by rank, negative for a signal. After success those of all ranks of the node, after failure the known
      ones.
  returned: always
  type: dict
  sample: {"8": 1, "9": -15}
failure:
  description:
    - First failure on this node. V(null) if nothing failed, or if the worker group was only asked to stop.
    - For a supervised job that has ended, the first failure on any node, the same on every node.
  returned: always
  type: dict
  contains:
    rank:
      description: Rank, or -1 for C(torchrun) itself.
      type: int
    local_rank:
      description: Local rank, or -1.
      type: int
    exit_code:
      description: Exit code, negative for a signal.
      type: int
    time:
      description: Time of the failure, in seconds since 1970.
      type: float
    exception:
      description: "Type of the exception. Empty: none."
      type: str
    message:
      description: Message of the exception.
      type: str
    lines:
      description: Last lines of the rank's standard error.
      type: list
      elements: str
    path:
      description: Path of the complete log on this node.
      type: str
    host:
      description:
        - The rank's node in a supervised job; its host if C(mpirun) forwarded its output to this one; or a host that
          was lost. Otherwise empty.
      type: str
    echo:
      description:
        - 0 for a cause. Otherwise the cause may be another rank - 1 lost a peer, 2 was stopped by its own agent, 3
          exited with status 0 while other ranks ran, 4 went on after a thread of it had failed, 5 was sent SIGTERM by
          something other than its agent.
      type: int
    kind:
      description:
        - Kind of the end, such as V(exception), V(import), V(arguments), V(nan), V(device), V(memory), V(disk),
          V(storage), V(server), V(signal), V(abort), V(hang), V(peer), V(left), V(node), V(limit), V(preempted) or
          V(status).
      type: str
    at:
      description: "Innermost frame of your own code, such as V(train.py, line 71, in main). Empty: none is known."
      type: str
    row:
      description: "Name of a known error of the vendor's software. Empty: it is none."
      type: str
    others:
      description: A line for each rank that ended because of this failure. Of many ranks the last line counts the rest.
      type: list
      elements: str
supervision:
  description: State of the whole job, as this node's supervisor knows it. Empty if it has none.
  returned: always
  type: dict
  contains:
    time:
      description: When this was reported, in seconds since 1970.
      type: float
    state:
      description: V(waiting) (for other nodes), V(running), V(stopping) or V(ended).
      type: str
    generation:
      description: Number of times that ranks were started, after a failure or on other nodes.
      type: int
    members:
      description: Nodes of this generation in rank order.
      type: list
      elements: str
    node_rank:
      description: Index of this node among them; V(null) for a spare.
      type: int
    leader:
      description: The first of them, which has rank 0.
      type: str
    restarts:
      description: Number of restarts that count against the limit.
      type: int
    alive:
      description: Nodes that are reachable.
      type: list
      elements: str
    step:
      description: Last finished step, if the ranks report it.
      type: int
    outcome:
      description: V(succeeded), V(failed) or V(stopped). Empty until the job has ended.
      type: str
    reason:
      description: Reason for this state.
      type: str
    failure:
      description: As RV(failure).
      type: dict
events:
  description: Events of a supervised job, starting at O(events_after).
  returned: always
  type: list
  elements: dict
  contains:
    time:
      description: Time of the event, in seconds since 1970.
      type: float
    kind:
      description:
        - Kind of event, such as V(run), V(rank_failed), V(node_lost), V(node_back), V(hang), V(straggler), V(spare),
          V(shrunk) or V(grown).
      type: str
    generation:
      description: Generation of the event.
      type: int
    host:
      description: Node of the event.
      type: str
    text:
      description: Description of the event.
      type: str
events_offset:
  description: Value of O(events_after) for the next call.
  returned: always
  type: int
metrics:
  description: Metrics starting at O(metrics_after), at most 1 MiB.
  returned: always
  type: list
  elements: dict
metrics_offset:
  description: Value of O(metrics_after) for the next call.
  returned: always
  type: int
last_metrics:
  description: "Last line of the metrics, of any kind. Empty: none."
  returned: always
  type: dict
last_step:
  description:
    - Last step line, with C(step), C(loss), C(tokens_per_second), C(tokens_per_second_per_card), C(seconds) (the parts
      of a step), C(memory_bytes), C(slowest), C(seconds_left) and C(ends_at), as far as the job reports them.
    - "Empty: none."
  returned: always
  type: dict
first_loss:
  description: Loss of the first step reported in this run.
  returned: always
  type: float
last_loss:
  description: Loss of the last step reported in this run.
  returned: always
  type: float
usage:
  description:
    - Last resource usage of the job on this node, as its supervisor sees it without asking the program. Each value may
      be V(null).
    - Empty if no supervisor has measured yet, and for engines other than C(torchrun).
  returned: always
  type: dict
  contains:
    time:
      description: Time of the measurement, in seconds since 1970.
      type: float
    generation:
      description: Generation of the ranks.
      type: float
    cores:
      description: Number of cores busy with the job.
      type: float
    of_cores:
      description: Number of cores of the node.
      type: float
    memory_bytes:
      description: Memory of its processes, without the page cache.
      type: float
    cards:
      description:
        - Number of cards that C(hl-smi) reports, all those of the node. This and the following values only with
          C(device=hpu).
      type: float
    utilization:
      description: Mean utilization of the cards, in percent.
      type: float
    lowest_utilization:
      description: Utilization of the least busy card, in percent.
      type: float
    card_memory_bytes:
      description: HBM in use on the fullest card.
      type: float
    held_memory_bytes:
      description: The most that one of the job's processes holds of a card, where Synapse reports it.
      type: float
    watts:
      description: Power of all cards on the 54 V rail, in W.
      type: float
rank_log:
  description: Last output of this node's first rank. Empty if it has written nothing.
  returned: always
  type: dict
  contains:
    path:
      description: File that was written last.
      type: str
    lines:
      description: Last lines, at most 10, without control characters.
      type: list
      elements: str
reached:
  description:
    - Progress of this node's ranks. All values are 0 if they report nothing, as while they load their libraries, or in
      a program that is not part of this collection.
  returned: always
  type: dict
  contains:
    started:
      description: Number of ranks that have loaded their libraries.
      type: int
    met:
      description: Number of ranks that have completed the rendezvous of all nodes.
      type: int
    measuring:
      description: Number of ranks that are in the measurement.
      type: int
    since:
      description: Time since which all of them run, in seconds since 1970. V(null) until all run.
      type: float
log:
  description: Last lines of the agent's log.
  returned: always
  type: list
  elements: str
log_directory:
  description: Log directory.
  returned: always
  type: str
job_directory:
  description: Checkpoint directory.
  returned: always
  type: str
jobs:
  description: Names of the jobs known on this node, if it does not know this one.
  returned: success
  type: list
  elements: str
  sample: []
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.report import (
    report,
    wait_for_event,
    wait_until_ended,
)
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
            "wait_for_event": {"type": "bool", "default": False},
            "timeout": {"type": "int", "default": 600},
            "start_timeout": {"type": "int"},
            "failure_in_logs": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )


def answer(options: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    paths = paths_from(options)
    if options["wait"] and options["wait_for_event"] and not module.check_mode:
        wait_for_event(paths, run_process, options["timeout"], options["events_after"])
    elif options["wait"] and not module.check_mode:
        wait_until_ended(paths, run_process, options["timeout"], start_timeout=options["start_timeout"])
    wishes = {name: options[name] for name in ("metrics_after", "events_after", "log_lines", "failure_in_logs")}
    result = report(paths, run_process, **wishes)
    return {"changed": False, **result}


if __name__ == "__main__":
    main()
