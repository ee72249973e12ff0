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
  - Runs C(torchrun) as a systemd unit, so the job outlives SSH, the controller and AWX's job timeout. The same options
    run it through Slurm or Open MPI's C(mpirun); see O(engine).
  - A job is identified by its name. Starting a job that runs or has succeeded with the same description changes
    nothing. A failed or stopped job is started again, and so is a finished job with a new description.
  - A different description for a running job is refused, and the difference is reported, unless O(replace=true).
  - Run this on every node of O(hosts) with the same options; only O(host) differs.
options:
  state:
    description:
      - V(started) runs the job until it ends.
      - V(prepared) checks the node's requirements, creates the job's directories, and starts nothing. Run it on all
        nodes before V(started), so that the job starts on no node while one of them cannot run it.
      - V(stopped) stops all processes of the job on this node, and fails if one is left.
      - V(absent) also removes its description. Checkpoints and logs are kept.
    type: str
    choices: [prepared, started, stopped, absent]
    default: started
  restart:
    description: Restart a job that runs or has succeeded with the same description.
    type: bool
    default: false
  replace:
    description: Stop a running job of this name that has a different description, and start this one instead.
    type: bool
    default: false
  engine:
    description:
      - Engine that starts the ranks. V(torchrun) is one agent on each node, as a systemd unit.
      - V(slurm) is one batch job, submitted on the first of O(hosts), which needs Slurm's commands. On the other nodes
        O(state=started) does the same as O(state=prepared). The job is found by its name in Slurm, from any host.
      - V(mpirun) is one systemd unit on the first of O(hosts), which reaches the other nodes over ssh as O(user). On
        those O(state=started) does the same as O(state=prepared).
    type: str
    choices: [torchrun, slurm, mpirun]
    default: torchrun
  bind:
    description:
      - Cores to bind each rank of a node and its child processes to. Cores are divided as physical cores with all their
        SMT siblings. E(OMP_NUM_THREADS) is set to their number, unless O(environment) or O(environment_files) set it.
      - V(numa) binds a rank to its share of the cores of its card's NUMA node, so that its memory is there too. If the
        kernel reports no such node, it is the same as V(cores). With O(device=cpu) ranks are spread over all NUMA
        nodes.
      - V(cores) divides all cores in the order of the ranks.
      - V(none) binds nothing.
      - More ranks than available cores are refused.
      - With O(mpi.cores_per_rank), C(mpirun) binds the ranks instead. With O(slurm.cpus_per_rank) Slurm chooses the
        cores, which are then divided as with V(cores).
    type: str
    choices: [numa, cores, none]
    default: numa
  slurm:
    description: Options for Slurm only.
    type: dict
    suboptions:
      partition:
        description: Partition. Several are separated by commas. By default Slurm's default partition.
        type: str
        default: ""
      account:
        description: Account to charge.
        type: str
        default: ""
      qos:
        description: Quality of service.
        type: str
        default: ""
      time_limit:
        description:
          - Time limit as minutes, hours:minutes:seconds or days-hours:minutes:seconds. By default that of the
            partition.
        type: str
        default: ""
      signal_ahead:
        description:
          - Seconds before the time limit at which the ranks get C(SIGTERM) to write a checkpoint. At least 60.
          - With O(slurm.requeue) the job then resumes from it in another allocation, unless it was finished.
        type: int
        default: 300
      requeue:
        description: Resume after the time limit, a lost node or preemption.
        type: bool
        default: true
      requeue_limit:
        description: Maximum number of times that the job resumes.
        type: int
        default: 100
      nodes:
        description:
          - V(hosts) requests the nodes in O(hosts), by these names, and keeps the order of the ranks.
          - V(any) requests the same number of any nodes, so that another node can replace a lost one. O(log_directory),
            O(state_directory) and the program must then be on a shared file system.
        type: str
        default: hosts
      gres:
        description:
          - Name of the cards in C(gres.conf), optionally with a type as in C(gpu:hl225).
          - By default the name that Slurm's nodes use for Gaudi cards, else C(hpu), or C(gpu) with O(device=cuda).
        type: str
        default: ""
      cpus_per_rank:
        description: "CPUs per rank. V(0): the job has its nodes exclusively, with all CPUs and memory."
        type: int
        default: 0
      array:
        description:
          - A sweep. Each item has additional arguments of O(command) for one point, which runs as a separate job with a
            separate port from O(rendezvous_port) on and separate directories, such as C(point-0).
        type: list
        elements: list
        default: []
      array_limit:
        description: Maximum number of points that run at once; 0 for no limit.
        type: int
        default: 0
      arguments:
        description: More options of C(sbatch), one argument per item, such as C(--reservation=night).
        type: list
        elements: str
        default: []
  mpi:
    description: Options for C(mpirun) only.
    type: dict
    suboptions:
      mpirun:
        description:
          - Path of C(mpirun). It must be Open MPI's and exist on every node; its version determines how options are
            passed to it.
        type: str
        default: mpirun
      addresses:
        description: Addresses of O(hosts), in the same order, if their names do not resolve on the first host.
        type: list
        elements: str
        default: []
      cores_per_rank:
        description:
          - Number of cores that C(mpirun) binds each rank to, from the sockets in rank order. O(bind) then has no
            effect.
          - "V(0): O(bind) applies."
        type: int
        default: 0
      sockets_per_node:
        description: Sockets to spread a node's ranks over when they are bound.
        type: int
        default: 2
      network:
        description: Subnet that Open MPI uses for its own communication, such as 192.0.2.0/24.
        type: str
        default: ""
      ssh_port:
        description: Port of the ssh servers; 0 for ssh's default.
        type: int
        default: 0
      prefix:
        description: Installation prefix of Open MPI on the other nodes, if it is not in their search path.
        type: str
        default: ""
      arguments:
        description: More options of C(mpirun), one argument per item, each starting with a dash.
        type: list
        elements: str
        default: []
  supervision:
    description:
      - Fault tolerance of the job. A supervisor runs on each of O(hosts) and O(supervision.spares), up to 64 nodes with
        O(supervision.witness), also while the controller is down. When a rank dies, it stops all ranks, restarts them
        from their last checkpoint, and replaces a lost node with a spare.
      - For O(engine=torchrun) only. Without it C(torchrun) alone runs each node's worker group, and nothing is
        restarted.
      - Times are in seconds.
    type: dict
    suboptions:
      spares:
        description: Spare nodes, in the order in which they are used.
        type: list
        elements: str
        default: []
      witness:
        description:
          - Node that votes with O(hosts) on how the job continues and has no ranks. With it a job of two hosts survives
            the loss of either one. It needs O(user), C(gaudi3_scale) and the control port, but no cards.
          - "Empty: none."
        type: str
        default: ""
      addresses:
        description:
          - Addresses of O(hosts), then of the spares and the witness, for their communication. By default their names.
        type: list
        elements: str
        default: []
      control_port:
        description: UDP port for communication between supervisors; 0 for the one after O(rendezvous_port).
        type: int
        default: 0
      min_nodes:
        description:
          - Minimum number of nodes with which the job continues if no spare is left; 0 for as many as O(hosts).
        type: int
        default: 0
      max_restarts:
        description:
          - Maximum number of restarts after a failure, a hang, or a run that got no further than those before it. Nodes
            that are lost, shut down or return while the job makes progress do not count.
          - This applies whether or not the program reports its steps. If it does not, progress cannot be detected, and
            every restart counts.
        type: int
        default: 3
      min_runtime:
        description:
          - Seconds before which ranks that fail without progress count as an early failure. The third early failure in
            a row ends the job, whatever O(supervision.max_restarts) still allows.
          - A program that fails twice in a row at the same place, by its own fault and without progress, ends the job
            after the second time.
          - With 0 no failure is early, and only O(supervision.max_restarts) counts.
        type: int
        default: 60
      lost_after:
        description:
          - Seconds without contact after which a node is lost; at least 3. The node stops its own ranks earlier, after
            eight tenths of this time, even if its supervisor hangs (C(WatchdogSec) of the unit).
        type: int
        default: 10
      join_timeout:
        description: Seconds that too few nodes wait for another one before the job fails.
        type: int
        default: 600
      hang_timeout:
        description: Seconds without a step on any rank after which the job counts as hung; 0 disables the check.
        type: int
        default: 1800
      start_timeout:
        description:
          - Seconds without a first step after which the job counts as hung; 0 for no limit.
          - Applies to the built-in trainer, and to a program that has a file in E(GAUDI3_SCALE_PROGRESS_DIR) or has
            reported a step before. Other programs might not report steps at all.
        type: int
        default: 0
      failure_grace:
        description: Seconds between SIGTERM and SIGKILL of the ranks after another rank has died.
        type: int
        default: 1
      straggler_ratio:
        description:
          - Report a node as a straggler if its own part of a step takes this many times the median; 0 disables it.
        type: float
        default: 1.3
      exclude_stragglers:
        description: Exclude stragglers at the next restart, if a spare or O(supervision.min_nodes) allows it.
        type: bool
        default: false
      grow_after:
        description:
          - Seconds that a node must have stood by before a job with fewer nodes than O(hosts) stops its ranks, so that
            they write a checkpoint, and restarts with that node; 0 waits for the next restart.
          - The time doubles for a node each time it is lost again.
        type: int
        default: 60
  key:
    description:
      - Secret of a run that another node has started, for this node to join; C(key) in C(supervision.json) there.
      - Without it this node starts a run with a new secret.
    type: str
  new_key:
    description:
      - Secret of the run that this node starts. It changes nothing on a node where the job runs or has succeeded.
      - Nodes with the same secret can all start the run at once.
    type: str
  controller_time:
    description: The controller's time in seconds since 1970, used for RV(clock_offset).
    type: float
  global_batch_size:
    description:
      - "Samples per optimizer step over all ranks. They must be divisible evenly among the ranks. 0: unknown."
      - The ranks get it as E(GAUDI3_SCALE_GLOBAL_BATCH_SIZE).
    type: int
    default: 0
  checkpoint_directory:
    description:
      - Directory for checkpoints. It must exist on each node and be writable by O(user). The ranks get it as
        E(GAUDI3_SCALE_JOB_DIR). By default the job's directory below O(state_directory).
      - A job with O(supervision) whose O(command) is not the built-in trainer must keep its checkpoints there, and no
        other job may use the directory. If each node has a local directory, the newest complete checkpoint is copied to
        nodes that lack it before the ranks start.
    type: path
    default: ""
  allowed_networks:
    description:
      - "Addresses and networks, such as V(10.0.0.0/24), that the job may communicate with. They must include its nodes,
        its storage and its data sources; the node itself is always included. Empty: no limit."
      - They become C(IPAddressAllow) of the job's unit together with C(IPAddressDeny=any). A container that may load no
        BPF does not enforce them. Refused with O(engine=slurm), because Slurm starts the ranks itself.
    type: list
    elements: str
    default: []
  image:
    description:
      - "Container image in which the ranks run, with its digest, such as V(registry.example.org/team/train@sha256:...).
        Empty: they run on the node."
      - It must have been unpacked on the node, as P(gaudi3.scale.gaudi_training#role) does, and contain C(python3) with
        PyTorch. podman runs it as O(user), in the job's unit or in Slurm's step, without privileges and read-only.
      - The container sees the cards of the job, its directories, the directory of its script, and O(mounts).
      - Refused if it belongs to another release than the node's driver.
    type: str
    default: ""
  mounts:
    description:
      - Further directories that the container sees, as HOST, HOST:CONTAINER or HOST:CONTAINER:ro.
    type: list
    elements: str
    default: []
  hosts:
    description:
      - Names of all nodes of the job in rank order. The first one has rank 0.
      - Required when O(state=started) or O(state=prepared).
    type: list
    elements: str
  host:
    description:
      - Name of this node in O(hosts) or O(supervision.spares), or O(supervision.witness).
      - Required when O(state=started) or O(state=prepared).
    type: str
  processes_per_node:
    description:
      - Ranks per node. Required when O(state=started) or O(state=prepared).
      - With O(device=hpu) and fewer ranks than cards, the job takes part of the node. Its cards are O(modules), or
        C(HABANA_VISIBLE_MODULES) in O(environment) or O(environment_files), or those that Slurm allocates
        (O(engine=slurm)), or those in O(allotted). A job of one host chooses them itself if none is given.
      - Cards that another job or process has are refused, with its name.
    type: int
  modules:
    description:
      - Module ids of the cards that the job takes on each node, one per rank. A module id is not a device's index.
      - "Empty: chosen if there are fewer ranks than cards. With O(device=hpu) only, and not with O(engine=slurm)."
    type: list
    elements: int
    default: []
  allotted:
    description:
      - What a launch over all nodes has chosen for this run, alike on all of them. It is no part of the job's
        description.
    type: dict
    suboptions:
      modules:
        description: Module ids, if O(modules) is empty.
        type: list
        elements: int
        default: []
      rendezvous_port:
        description: Port instead of O(rendezvous_port); V(0) for none.
        type: int
        default: 0
  cards:
    description:
      - Number of cards on this node; more ranks are refused unless O(device=cpu).
      - By default counted on the PCI bus with O(device=hpu).
    type: int
  rendezvous_address:
    description:
      - Rendezvous address, the address of the first of O(hosts) as reached from every node.
      - Required when O(state=started) or O(state=prepared).
    type: str
  rendezvous_port:
    description:
      - Rendezvous port on the first node. It must be free there.
      - If another job of this collection has V(29500), M(gaudi3.scale.training_job_launch) takes the next free one.
    type: int
    default: 29500
  command:
    description:
      - Command of each rank, one argument per item. A script's path or V(-m) and a module, then arguments.
      - Arguments are passed to the program unchanged, without any expansion.
      - Required when O(state=started) or O(state=prepared).
    type: list
    elements: str
  environment:
    description:
      - Environment variables of the job. They override those in O(environment_files).
      - The job sets E(GAUDI3_SCALE_JOB), E(GAUDI3_SCALE_JOB_DIR) (for checkpoints) and E(GAUDI3_SCALE_METRICS) (JSON
        lines from rank 0). E(GLOO_SOCKET_IFNAME) and E(HCCL_SOCKET_IFNAME) are set to the interface towards the first
        node, unless given here.
      - If the files set C(PT_HPU_RECIPE_CACHE_CONFIG), the job gets a separate directory below that cache, unless it is
        given here.
    type: dict
    default: {}
  environment_files:
    description:
      - Environment files in systemd's format. A C(-) before a path makes that file optional.
      - The default holds the node's flags and the paths of the vendor's software. When you add files, list it first.
      - A file that accounts other than root can write is read with the permissions of O(user).
    type: list
    elements: str
    default: ["-/etc/gaudi3_scale/environment"]
  venv:
    description:
      - Virtual environment with C(bin/torchrun).
      - With O(supervision) it also runs the supervisor, if it contains C(gaudi3_scale). Otherwise
        V(/opt/gaudi3_scale/venv) does.
    type: path
    default: /opt/gaudi3_scale/venv
  working_directory:
    description:
      - Working directory of the ranks. Relative paths of the program start here.
      - "Empty: the job's directory RV(job_directory) on each node, regardless of O(checkpoint_directory)."
    type: path
    default: ""
  user:
    description:
      - Account that runs the job and owns the job's directories.
      - The role P(gaudi3.scale.gaudi_venv#role) creates the default account.
    type: str
    default: gaudi
  device:
    description: Device that the ranks compute on. It affects only how O(processes_per_node) is checked.
    type: str
    choices: [hpu, cuda, cpu]
    default: hpu
  stop_timeout:
    description:
      - Seconds between asking a job to stop and killing what is left of it. The job writes a checkpoint in this time.
    type: int
    default: 60
extends_documentation_fragment:
  - gaudi3.scale.job
author: The gaudi3.scale authors (@gaudi3-scale)
attributes:
  check_mode:
    support: full
    description: Shows what would run. The node's requirements (venv, script, free port) are not checked.
  diff_mode:
    support: full
    description: Shows the unit, the job's environment and its description, without values that look like secrets.
notes:
  - The environment of a job and its description are readable only by root. In results, with C(--diff) and in check
    mode, values of variables whose names look like secrets (such as C(*_KEY) and C(*_TOKEN)) are omitted.
  - A supervisor's control file is readable only by O(user), contains the secret of the run, and is never shown.
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
    - State of the worker group. V(running) also in check mode for one that would be started, and for a job that waits
      in Slurm's queue. V(prepared) if nothing runs yet, or if the engine reaches this node from the first one.
  returned: success
  type: str
  sample: running
unit:
  description: Name of the systemd unit.
  returned: success
  type: str
  sample: gaudi3-scale-job-llama.service
argv:
  description: "Command that is started on this node. Empty: none."
  returned: success
  type: list
  elements: str
launch:
  description:
    - What is run on this node, or would be in check mode. Values of variables that look like secrets are not shown.
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
      description: Variables set by the job.
      type: dict
    file:
      description: Path of the unit, or of the batch script.
      type: str
    text:
      description: Content of the file.
      type: str
    modules:
      description: Module ids of the cards of this node's ranks. Empty if they are not known, or no Gaudi cards.
      type: list
      elements: int
    rendezvous_port:
      description: Rendezvous port of the run.
      type: int
    binding:
      description:
        - Binding of each rank of this node, in the node's current state. Empty if ranks are not bound by O(bind), or if
          Slurm will choose the nodes or the cores.
      type: list
      elements: dict
      contains:
        local_rank:
          description: Local rank.
          type: int
        numa_node:
          description: NUMA node of its cores. V(null) if they are on several, or the kernel reports none.
          type: int
        cpus:
          description: Its CPUs, in the format of C(taskset -c).
          type: str
          sample: 0-7,64-71
        cores:
          description: Number of physical cores.
          type: int
run:
  description: "Name of the run that nodes with supervisors share. Empty: none."
  returned: success
  type: str
  sample: 5f1f3c9a0d4b7e21
library:
  description:
    - Version of C(gaudi3_scale) in this node's supervisor. All nodes of a run must have the same.
    - Empty without O(supervision).
  returned: success
  type: str
  sample: 1.0.0
clock_offset:
  description: Seconds by which this node's clock is ahead of O(controller_time). V(null) without that option.
  returned: success
  type: float
control_directory:
  description: Directory of the job's control files, owned by root.
  returned: success
  type: str
  sample: /var/lib/gaudi3_scale/control/llama
job_directory:
  description: Directory of the job's checkpoints.
  returned: success
  type: str
  sample: /var/lib/gaudi3_scale/jobs/llama
log_directory:
  description: Directory of C(metrics.jsonl) and the ranks' logs.
  returned: success
  type: str
  sample: /var/log/gaudi3_scale/jobs/llama
jobs:
  description: Names of the jobs known on this node.
  returned: with O(state=stopped), if the node does not know this job
  type: list
  elements: str
  sample: [llama]
remarks:
  description: Remarks on this node's part that do not need a measurement, one message each.
  returned: with O(state=prepared)
  type: list
  elements: str
offer:
  description: What O(allotted) can be chosen from, for M(gaudi3.scale.training_job_launch).
  returned: with O(state=prepared)
  type: dict
  contains:
    allotted:
      description: O(allotted) of the run that this node is in. Empty if there is none.
      type: dict
    cards:
      description: The node's modules, which of them are taken and by whom, and which belong together.
      type: dict
    ports:
      description: Free ports whose next one is free too, for a job with the default O(rendezvous_port).
      type: list
      elements: int
    port_holder:
      description: The job that has the default port. Empty if none has.
      type: str
taken:
  description: Whether a start was refused because another launch has taken cards or a port since they were chosen.
  returned: when a start is refused because of that
  type: bool
differences:
  description: Differences between a running job and the requested one.
  returned: when a start is refused because of them
  type: list
  elements: str
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.accel_sysfs import pci_cards
from ansible_collections.gaudi3.scale.plugins.module_utils._job.clocks import clock_ahead
from ansible_collections.gaudi3.scale.plugins.module_utils._job.description import SLURM, engine_argument_spec
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JOB_ARGUMENTS, paths_from
from ansible_collections.gaudi3.scale.plugins.module_utils._job.plan import DEFAULT_PORT, check, job_from
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
            "rendezvous_port": {"type": "int", "default": DEFAULT_PORT},
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
