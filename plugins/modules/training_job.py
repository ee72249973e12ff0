#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: training_job
short_description: Start or stop one node's worker group of a distributed training job
version_added: "1.0.0"
description:
  - Runs C(torchrun) as a systemd unit, so that the job outlives SSH, the controller and a job limit of AWX. The same
    options run it through Slurm or through C(mpirun) of Open MPI; see O(engine).
  - A job is known by its name. Starting a name that runs, or that has ended well, with the same description changes
    nothing. One that failed or was stopped is started again, and so is one whose description is a new one.
  - Another description for a job that runs is refused, and the difference is named, unless O(replace=true).
  - Run this on every node of O(hosts) with the same options; only O(host) differs.
options:
  state:
    description:
      - V(started) runs the job until it ends.
      - V(prepared) sees that the node has what the job needs, makes its directories, and starts nothing. Run it on all
        nodes before V(started), so that a job is started on none while one of them cannot run it.
      - V(stopped) ends every process of it on this node, and fails if one is left.
      - V(absent) also forgets its description. Checkpoints and logs are kept.
    type: str
    choices: [prepared, started, stopped, absent]
    default: started
  restart:
    description: Start a job again that runs or has ended well with the same description.
    type: bool
    default: false
  replace:
    description: End a job of this name that runs with another description, and start this one in its place.
    type: bool
    default: false
  engine:
    description:
      - What starts the ranks. V(torchrun) is one agent on each node, as a systemd unit.
      - V(slurm) is one batch job, submitted on the first of O(hosts), which needs Slurm's commands. On the other nodes
        O(state=started) is O(state=prepared). The job is found by its name in Slurm, from any host.
      - V(mpirun) is one systemd unit on the first of O(hosts), which reaches the other nodes by ssh as O(user). There
        O(state=started) is O(state=prepared).
    type: str
    choices: [torchrun, slurm, mpirun]
    default: torchrun
  bind:
    description:
      - To which cores each rank of a node is bound, with all that it starts. A share is of physical cores, with all
        their SMT siblings. E(OMP_NUM_THREADS) is their number, unless O(environment) or O(environment_files) set it.
      - V(numa) binds a rank to its share of the cores of its card's NUMA node, so that its memory is there too. Where
        the kernel names no such node it is as V(cores). With O(device=cpu) ranks are spread over all NUMA nodes.
      - V(cores) shares out all cores in the order of the ranks.
      - V(none) binds nothing.
      - More ranks than cores to share are refused.
      - Where O(mpi.cores_per_rank) is set, C(mpirun) binds the ranks instead. With O(slurm.cpus_per_rank) Slurm chooses
        the cores, which are then shared out as with V(cores).
    type: str
    choices: [numa, cores, none]
    default: numa
  slurm:
    description: What only Slurm is told.
    type: dict
    suboptions:
      partition:
        description: Partition; Slurm's default one without it. Several with commas between.
        type: str
        default: ""
      account:
        description: Account that the time is charged to.
        type: str
        default: ""
      qos:
        description: Quality of service.
        type: str
        default: ""
      time_limit:
        description: Minutes, hours:minutes:seconds or days-hours:minutes:seconds; the partition's without it.
        type: str
        default: ""
      signal_ahead:
        description:
          - Seconds before the time limit at which the ranks get C(SIGTERM), to write a checkpoint. At least 60.
          - With O(slurm.requeue) the job then goes on from it in another allocation, unless it was done.
        type: int
        default: 300
      requeue:
        description: Go on after the time limit, a lost node and preemption.
        type: bool
        default: true
      requeue_limit:
        description: How often a job may resume.
        type: int
        default: 100
      nodes:
        description:
          - V(hosts) asks for the nodes in O(hosts), by these names, and keeps the order of the ranks.
          - V(any) asks for as many of any, so that another node can take the place of a lost one. O(log_directory),
            O(state_directory) and the program then belong on a shared file system.
        type: str
        default: hosts
      gres:
        description:
          - Name of the cards in C(gres.conf), with a type as in C(gpu:hl225).
          - Without it that by which Slurm's nodes have Gaudi cards, else C(hpu), or C(gpu) with O(device=cuda).
        type: str
        default: ""
      cpus_per_rank:
        description: Processors of each rank. With 0 the job has its nodes for itself, with all processors and memory.
        type: int
        default: 0
      array:
        description:
          - A sweep. Each item has further arguments of O(command) for one point, which runs as a job of its own with a
            port of its own from O(rendezvous_port) on and directories of its own, as C(point-0).
        type: list
        elements: list
        default: []
      array_limit:
        description: How many points run at once; 0 for no limit.
        type: int
        default: 0
      arguments:
        description: Further options of C(sbatch), each one word such as C(--reservation=night).
        type: list
        elements: str
        default: []
  mpi:
    description: What only C(mpirun) is told.
    type: dict
    suboptions:
      mpirun:
        description: The program. It has to be Open MPI's and on every node; its version decides how it is told things.
        type: str
        default: mpirun
      addresses:
        description: Addresses of O(hosts), in their order, where their names do not resolve on the first one.
        type: list
        elements: str
        default: []
      cores_per_rank:
        description:
          - Lets C(mpirun) bind each rank to so many cores, of the sockets in the order of the ranks. O(bind) then does
            nothing.
          - 0 leaves it to O(bind).
        type: int
        default: 0
      sockets_per_node:
        description: Sockets over which the ranks of a node are spread when they are bound.
        type: int
        default: 2
      network:
        description: Subnet that Open MPI itself uses, as 192.0.2.0/24.
        type: str
        default: ""
      ssh_port:
        description: Port of the ssh servers; 0 for ssh's own choice.
        type: int
        default: 0
      prefix:
        description: Where Open MPI is installed on the other nodes, if it is not on their search path.
        type: str
        default: ""
      arguments:
        description: Further options of C(mpirun), each one word that begins with a dash.
        type: list
        elements: str
        default: []
  supervision:
    description:
      - How the job outlives its nodes. A supervisor runs on each of O(hosts) and O(supervision.spares), up to 64 nodes
        with O(supervision.witness), also while the controller is gone. It ends all ranks when one dies, starts them
        again from their last checkpoint, and lets a spare take a lost node's place.
      - For O(engine=torchrun) only. Without it C(torchrun) alone runs each node's worker group, and nothing is
        restarted.
      - Options with a time are in seconds.
    type: dict
    suboptions:
      spares:
        description: Nodes that stand by, in the order in which they are taken.
        type: list
        elements: str
        default: []
      witness:
        description:
          - A node that votes with O(hosts) on how the job continues and has no ranks of it. With it a job of two hosts
            outlives the loss of either one. It needs O(user), C(gaudi3_scale) and the control port, and no cards.
          - Empty for none.
        type: str
        default: ""
      addresses:
        description:
          - Addresses of O(hosts), then of the spares and the witness, by which they reach each other; else their names.
        type: list
        elements: str
        default: []
      control_port:
        description: UDP port by which supervisors speak with each other; 0 for the one after O(rendezvous_port).
        type: int
        default: 0
      min_nodes:
        description: The lowest number of nodes with which the job continues if no spare is left; 0 for as many as
          O(hosts).
        type: int
        default: 0
      max_restarts:
        description:
          - How often the ranks are started again at most, after a failure, a hang, or a run that got no further than
            the ones before it. Nodes that are lost, go down or come back while the job gets further do not count.
          - It does not matter whether the program reports its steps. Where it does not, nobody knows that a run got
            further than the ones before it, and every restart counts.
        type: int
        default: 3
      min_runtime:
        description:
          - Ranks that fail sooner after their start, without a step further than before, have failed early. The third
            early failure in a row ends the job, whatever O(supervision.max_restarts) still allows.
          - With 0 no failure is early.
        type: int
        default: 60
      lost_after:
        description:
          - A node that is not heard for so long is lost; at least 3. Its own ranks are ended before, after eight tenths
            of it, also where its supervisor hangs (C(WatchdogSec) of the unit).
        type: int
        default: 10
      join_timeout:
        description: How long too few nodes wait for another one before the job fails.
        type: int
        default: 600
      hang_timeout:
        description: A job whose ranks all make no step for so long hangs; 0 looks for none.
        type: int
        default: 1800
      start_timeout:
        description:
          - The same for the first step; 0 for no limit.
          - For the built-in trainer, and for a program that has a file in E(GAUDI3_SCALE_PROGRESS_DIR) or has told a
            step before. Any other one may be one that tells none.
        type: int
        default: 0
      failure_grace:
        description: Between SIGTERM and SIGKILL of the ranks after another one has died.
        type: int
        default: 1
      straggler_ratio:
        description: A node that takes so many times the median time for its own part of a step is named; 0 names none.
        type: float
        default: 1.3
      exclude_stragglers:
        description: Leave such a node out at the next restart, where a spare or O(supervision.min_nodes) allows it.
        type: bool
        default: false
      grow_after:
        description:
          - A job that continues with fewer nodes than O(hosts) has ends its ranks as for a stop, so that they write a
            checkpoint, and begins again with a node that has stood by for so long; 0 waits for the next restart.
          - For a node that is lost again the time doubles, each time.
        type: int
        default: 60
  key:
    description:
      - Secret of a run that another node has begun, which this one joins; C(key) in C(supervision.json) there.
      - Without it this node begins a run with a secret of its own.
    type: str
  new_key:
    description:
      - Secret of the run that this node begins; on a node where the job runs, or has ended well, it changes nothing.
      - Nodes that are given the same one can begin a run all at once.
    type: str
  controller_time:
    description: The controller's time in seconds since 1970, with which RV(clock_offset) is made.
    type: float
  global_batch_size:
    description:
      - Samples of one optimizer step over all ranks, which they have to be able to share alike. 0 for unknown.
      - The ranks find it as E(GAUDI3_SCALE_GLOBAL_BATCH_SIZE).
    type: int
    default: 0
  checkpoint_directory:
    description:
      - Directory for checkpoints, which has to be there on each node and to be writable by O(user). The ranks find it
        as E(GAUDI3_SCALE_JOB_DIR). Without it the job's own directory below O(state_directory) is.
      - A job with O(supervision) whose O(command) is not the built-in trainer has its checkpoints there, and no other
        job has. Where each node has its own, the newest whole one is copied to those that lack it before the ranks
        start.
    type: path
    default: ""
  allowed_networks:
    description:
      - Addresses and networks, such as V(10.0.0.0/24), with which the job may speak. They have to hold its nodes, its
        storage and whatever it asks for data; the node itself is always among them. None for no limit.
      - They become C(IPAddressAllow) of the job's unit beside C(IPAddressDeny=any). A container that may load no BPF
        does not enforce them. With O(engine=slurm) they are refused, since Slurm starts the ranks itself.
    type: list
    elements: str
    default: []
  hosts:
    description:
      - Names of all nodes of the job in the order of their ranks. The first one holds rank 0.
      - Required when O(state=started) or O(state=prepared).
    type: list
    elements: str
  host:
    description:
      - The name of this node in O(hosts) or O(supervision.spares), or O(supervision.witness).
      - Required when O(state=started) or O(state=prepared).
    type: str
  processes_per_node:
    description:
      - Ranks on each node. Required when O(state=started) or O(state=prepared).
      - With O(device=hpu) fewer than the node has cards are refused unless C(HABANA_VISIBLE_MODULES) in O(environment)
        names the cards, or Slurm allots them (O(engine=slurm)).
    type: int
  cards:
    description:
      - How many cards this node has; more processes are refused unless O(device=cpu).
      - Counted on the PCI bus when this is omitted and O(device=hpu).
    type: int
  rendezvous_address:
    description:
      - Address by which every node reaches the first one of O(hosts).
      - Required when O(state=started) or O(state=prepared).
    type: str
  rendezvous_port:
    description: Port on the first node; it has to be free there.
    type: int
    default: 29500
  command:
    description:
      - What each rank runs, one word per item. A script's path or V(-m) and a module, then arguments.
      - Every word reaches the program as it is; nothing in it is expanded.
      - Required when O(state=started) or O(state=prepared).
    type: list
    elements: str
  environment:
    description:
      - Variables of the job, which win over those in O(environment_files).
      - E(GAUDI3_SCALE_JOB), E(GAUDI3_SCALE_JOB_DIR) (for checkpoints) and E(GAUDI3_SCALE_METRICS) (JSON lines from
        rank 0) are set by the job. E(GLOO_SOCKET_IFNAME) and E(HCCL_SOCKET_IFNAME) name the interface towards the
        first node unless they are given here.
      - Where the files set C(PT_HPU_RECIPE_CACHE_CONFIG), the job gets a directory of its own below that cache, unless
        it is given here.
    type: dict
    default: {}
  environment_files:
    description:
      - Files of variables as systemd reads them. One with a C(-) before its path may be missing.
      - The node's flags with the paths of the vendor's software are in the default; name it first beside your own.
      - One that another account than root's may write is read with the rights of O(user).
    type: list
    elements: str
    default: ["-/etc/gaudi3_scale/environment"]
  venv:
    description:
      - The virtual environment with C(bin/torchrun).
      - With O(supervision) also the one that runs the supervisor, if C(gaudi3_scale) is in it. Else that of
        V(/opt/gaudi3_scale/venv) runs it.
    type: path
    default: /opt/gaudi3_scale/venv
  working_directory:
    description:
      - Directory in which the ranks start. Relative paths of the program are below it.
      - The job's own directory RV(job_directory) on each node when empty, whatever O(checkpoint_directory) is.
    type: path
    default: ""
  user:
    description:
      - Account that runs the job; it gets the job's directories.
      - The role P(gaudi3.scale.gaudi_venv#role) makes the default one.
    type: str
    default: gaudi
  device:
    description: What the ranks compute on. Decides only how O(processes_per_node) is checked.
    type: str
    choices: [hpu, cuda, cpu]
    default: hpu
  stop_timeout:
    description: Seconds between asking a job to stop and killing what is left of it. In them it writes a checkpoint.
    type: int
    default: 60
extends_documentation_fragment:
  - gaudi3.scale.job
author: The gaudi3.scale authors (@gaudi3-scale)
attributes:
  check_mode:
    support: full
    description: Shows what would be run. What the node has to bring (venv, script, free port) is not looked at.
  diff_mode:
    support: full
    description: Shows the unit, the job's environment and its description, without what sounds like a secret.
notes:
  - The environment of a job and its description are readable by root only. Where they are shown, in results, with
    C(--diff) and in check mode, values of variables that sound like secrets (as C(*_KEY) and C(*_TOKEN)) are left out.
  - What a supervisor is told is readable by O(user) only, has the secret of the run, and is never shown.
seealso:
  - module: gaudi3.scale.training_job_info
  - module: gaudi3.scale.training_job_follow
"""

EXAMPLES = r"""
- name: Start the worker group of each node
  gaudi3.scale.training_job:
    name: llama
    hosts: "{{ groups['gaudi'] }}"
    host: "{{ inventory_hostname }}"
    processes_per_node: 8
    rendezvous_address: 192.0.2.11
    command: [-m, gaudi3_scale.train, --text, /data/text, --max-steps, "1000"]
  become: true

- name: Run through Slurm, in allocations of half a day
  gaudi3.scale.training_job:
    name: llama
    engine: slurm
    slurm:
      partition: gaudi
      time_limit: "12:00:00"
    hosts: "{{ groups['gaudi'] }}"
    host: "{{ inventory_hostname }}"
    processes_per_node: 8
    rendezvous_address: 192.0.2.11
    command: [/data/train.py]
  become: true

- name: Stop the server
  gaudi3.scale.training_job:
    name: llama
    state: stopped
  become: true
"""

RETURN = r"""
state:
  description:
    - How the worker group stands now; V(running) also in check mode for one that would be started, and for a job that
      waits in Slurm's queue. V(prepared) where nothing runs yet, or where the engine reaches this node from the first
      one.
  returned: success
  type: str
  sample: running
unit:
  description: Name of the systemd unit.
  returned: success
  type: str
  sample: gaudi3-scale-job-llama.service
argv:
  description: The program that is started on this node. Empty where none is.
  returned: success
  type: list
  elements: str
launch:
  description:
    - What is, or in check mode would be, run on this node. Values of variables that sound like secrets are not shown.
    - Empty unless O(state=started) or O(state=prepared).
  returned: success
  type: dict
  contains:
    engine:
      description: As O(engine).
      type: str
    argv:
      description: As RV(argv).
      type: list
      elements: str
    environment:
      description: The job's own variables.
      type: dict
    file:
      description: Path of the unit, or of the batch script.
      type: str
    text:
      description: What is in it.
      type: str
    binding:
      description:
        - What each rank of this node is bound to, as the node stands now. Empty where ranks are not bound by O(bind),
          and where Slurm will choose the nodes or the cores.
      type: list
      elements: dict
      contains:
        local_rank:
          description: The rank among those of this node.
          type: int
        numa_node:
          description: NUMA node of its cores. V(null) where they are of several, or the kernel names none.
          type: int
        cpus:
          description: Its processors, as C(taskset -c) takes them.
          type: str
          sample: 0-7,64-71
        cores:
          description: How many physical cores these are.
          type: int
run:
  description: Name of the run that nodes with supervisors make together. Empty where there is none.
  returned: success
  type: str
  sample: 5f1f3c9a0d4b7e21
library:
  description:
    - Version of C(gaudi3_scale) that this node's supervisor is of; all nodes of a run have to have the same.
    - Empty without O(supervision).
  returned: success
  type: str
  sample: 1.0.0
clock_offset:
  description: Seconds by which this node's clock is ahead of O(controller_time). V(null) without that option.
  returned: success
  type: float
control_directory:
  description: Where what the job is told is kept, which is root's.
  returned: success
  type: str
  sample: /var/lib/gaudi3_scale/control/llama
job_directory:
  description: Where the job keeps its checkpoints.
  returned: success
  type: str
  sample: /var/lib/gaudi3_scale/jobs/llama
log_directory:
  description: Where C(metrics.jsonl) and the ranks' logs are.
  returned: success
  type: str
  sample: /var/log/gaudi3_scale/jobs/llama
jobs:
  description: The names of the jobs that this node knows.
  returned: when O(state=stopped) and it does not know this one
  type: list
  elements: str
  sample: [llama]
remarks:
  description: What is worth knowing of this node's part before it is measured, one message each.
  returned: when it is prepared
  type: list
  elements: str
differences:
  description: In what a running job differs from what was asked for.
  returned: when a start is refused for it
  type: list
  elements: str
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.accel_sysfs import pci_cards
from ansible_collections.gaudi3.scale.plugins.module_utils._job.clocks import clock_ahead
from ansible_collections.gaudi3.scale.plugins.module_utils._job.description import SLURM, engine_argument_spec
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JOB_ARGUMENTS, paths_from
from ansible_collections.gaudi3.scale.plugins.module_utils._job.plan import check, job_from
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.control import prepare, start
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.launch import StartOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.stop import remove, stop
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.kernel_tree import kernel_tree
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module

# A word of a command may be anything; a node without an address of its own is reached by its name.
EMPTY = ("command", "supervision.addresses")
NEEDED = ["hosts", "host", "processes_per_node", "rendezvous_address", "command"]


def main() -> None:
    # The values of O(environment) are nobody's business, also where Ansible itself refuses another option.
    run_module(
        AnsibleModule,
        answer,
        text=("command",),
        empty=EMPTY,
        argument_spec={
            **JOB_ARGUMENTS,
            "state": {"type": "str", "choices": ["prepared", "started", "stopped", "absent"], "default": "started"},
            "restart": {"type": "bool", "default": False},
            "replace": {"type": "bool", "default": False},
            "controller_time": {"type": "float"},
            **engine_argument_spec(),
            "hosts": {"type": "list", "elements": "str"},
            "host": {"type": "str"},
            "processes_per_node": {"type": "int"},
            "cards": {"type": "int"},
            "rendezvous_address": {"type": "str"},
            "rendezvous_port": {"type": "int", "default": 29500},
            "command": {"type": "list", "elements": "str"},
        },
        required_if=[("state", state, NEEDED) for state in ("prepared", "started")],
        supports_check_mode=True,
        # Else the environment, with the keys in it, would be in the node's journal.
        no_log=True,
    )


def answer(options: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    return {"clock_offset": clock_ahead(options["controller_time"]), **converge(options, module.check_mode)}


def converge(options: dict[str, Any], check_mode: bool) -> dict[str, Any]:
    paths = paths_from(options)
    if options["state"] in ("prepared", "started"):
        are_counted = options["cards"] is None and options["device"] == "hpu"
        job = check(job_from(options), len(pci_cards(kernel_tree())) if are_counted else options["cards"])
        begin = prepare if options["state"] == "prepared" else start
        wishes = StartOptions(options["restart"], options["replace"], check_mode, kernel_tree())
        return begin(job, paths, run_process, wishes)
    change = stop if options["state"] == "stopped" else remove
    user = options["user"] if options["engine"] == SLURM else ""
    return change(paths, run_process, check_mode=check_mode, slurm_user=user)


if __name__ == "__main__":
    main()
