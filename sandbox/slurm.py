# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A real Slurm on a sandbox's nodes, from the distribution's packages: node1 is the controller, every node computes.

What is not as on servers: a card is a number (``Gres=hpu:8`` without device files), so Slurm counts cards and gives no
process a particular one; and processes are tracked by their parents, since a container does not own its cgroups.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from .commands import step
from .errors import SandboxError
from .nodes import in_node
from .packages_in_nodes import install, write_files
from .plan import ClusterPlan, NodePlan

CONTROLLER_PACKAGES = ("munge", "slurmctld", "slurmd", "slurm-client")
NODE_PACKAGES = ("munge", "slurmd", "slurm-client")
MUNGE_KEY = "/etc/munge/munge.key"
REGISTER_SECONDS = 60
LOST_SECONDS = 30
AGAIN_SECONDS = 40
START_SECONDS = 120
MEBIBYTES = {"k": 1 / 1024, "m": 1.0, "g": 1024.0}

# A container may not raise its limits, and a unit that asks for more than it has does not start.
DROP_IN = "[Service]\nLimitNOFILE=\nLimitMEMLOCK=\nLimitSTACK=\n"


def ensure_slurm(cluster: ClusterPlan) -> str:
    """Bring Slurm up on every node; does nothing where it is. Returns what ``sinfo`` says."""
    controller, *others = cluster.nodes
    with step(f"Slurm on {len(cluster.nodes)} nodes, controlled by {controller.name}"), ThreadPoolExecutor() as pool:
        list(pool.map(lambda node: _install(node, node == controller), cluster.nodes))
        _share_munge_key(controller, others)
        changed = list(pool.map(lambda node: _write_files(node, files(cluster)), cluster.nodes))
        if any(changed):
            # One configuration for the whole cluster: where it is new for one node, it is new for the controller too.
            in_node(controller, "systemctl", "restart", "slurmctld")
            list(pool.map(lambda node: in_node(node, "systemctl", "restart", "slurmd"), cluster.nodes))
        _wait_until_registered(cluster)
    return in_node(controller, "sinfo", "--Node", "--format=%N %T %G %E")


def files(cluster: ClusterPlan) -> dict[str, str]:
    """Slurm's configuration, the same on every node: path to text."""
    cards = cluster.cards.count
    names = ",".join(node.name for node in cluster.nodes)
    memory = _mebibytes(cluster.memory)
    nodes = [
        # A processor a card, so that a job can have a process a card; config_overrides makes slurmd believe it.
        f"NodeName={node.name} NodeAddr={node.address} CPUs={cards} RealMemory={memory} Gres=hpu:{cards} State=UNKNOWN"
        for node in cluster.nodes
    ]
    slurm = [
        f"ClusterName={cluster.name}",
        f"SlurmctldHost={cluster.nodes[0].name}({cluster.nodes[0].address})",
        "SlurmUser=slurm",
        "StateSaveLocation=/var/lib/slurm/slurmctld",
        "SlurmdSpoolDir=/var/lib/slurm/slurmd",
        "SlurmctldLogFile=/var/log/slurm/slurmctld.log",
        "SlurmdLogFile=/var/log/slurm/slurmd.log",
        "SlurmdParameters=config_overrides",
        "ProctrackType=proctrack/linuxproc",
        "TaskPlugin=task/none",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core",
        "GresTypes=hpu",
        "ReturnToService=1",
        # Slurm's own are minutes: until a silent node counts as lost, and until a job that is queued again may start.
        f"SlurmdTimeout={LOST_SECONDS}",
        f"AuthInfo=cred_expire={AGAIN_SECONDS}",
        # And 10 s for a node to start a batch script, or it queues the job again: little where nodes share one machine.
        f"BatchStartTimeout={START_SECONDS}",
        # A partition of a lower tier than that of `gaudi`, 1, loses its jobs to it, into the queue; tests make theirs.
        "PreemptType=preempt/partition_prio",
        "PreemptMode=REQUEUE",
        # Where it has a grace time, jobs get their own signal then, that of --signal.
        "SlurmctldParameters=preempt_send_user_signal",
        *nodes,
        f"PartitionName=gaudi Nodes={names} Default=YES MaxTime=INFINITE State=UP",
    ]
    return {
        "/etc/slurm/slurm.conf": "\n".join(slurm) + "\n",
        "/etc/slurm/gres.conf": f"NodeName={names} Name=hpu Count={cards}\n",
        "/etc/systemd/system/slurmctld.service.d/sandbox.conf": DROP_IN,
        "/etc/systemd/system/slurmd.service.d/sandbox.conf": DROP_IN,
    }


def _mebibytes(memory: str) -> int:
    """Podman's ``6g`` as Slurm counts memory."""
    unit = memory[-1].lower()
    return int(float(memory.rstrip("bkmgBKMG")) * MEBIBYTES.get(unit, 1 / 1024**2))


def _install(node: NodePlan, is_controller: bool) -> None:
    install(node, *(CONTROLLER_PACKAGES if is_controller else NODE_PACKAGES))


def _share_munge_key(controller: NodePlan, others: list[NodePlan]) -> None:
    """Every node trusts whoever has the controller's key."""
    key = in_node(controller, "base64", MUNGE_KEY)
    for node in others:
        if in_node(node, "base64", MUNGE_KEY) != key:
            in_node(node, "sh", "-c", f"base64 --decode > {MUNGE_KEY}", text_in=key)
            in_node(node, "systemctl", "restart", "munge")


def _write_files(node: NodePlan, wanted: dict[str, str]) -> bool:
    changed = write_files(node, wanted)
    if changed:
        in_node(node, "systemctl", "daemon-reload")
    return changed


def _wait_until_registered(cluster: ClusterPlan) -> None:
    """Return when every node has told the controller what it has; the state in which it then is may be any."""
    deadline = time.monotonic() + REGISTER_SECONDS
    missing = [node.name for node in cluster.nodes]
    while missing:
        if time.monotonic() > deadline:
            raise SandboxError(
                f"Slurm does not know {', '.join(missing)} after {REGISTER_SECONDS} s;"
                f" see /var/log/slurm/slurmd.log there and `podman exec {cluster.nodes[0].container} sinfo`."
            )
        time.sleep(0.5)
        missing = _unregistered(cluster)


def _unregistered(cluster: ClusterPlan) -> list[str]:
    try:
        listed = in_node(cluster.nodes[0], "scontrol", "--oneliner", "show", "nodes")
    except SandboxError:  # the controller is just starting
        return [node.name for node in cluster.nodes]
    # A node that has registered tells its Slurm's version, and one that answers has no star and no flag that says so.
    known = {
        line.split()[0].removeprefix("NodeName=")
        for line in listed.splitlines()
        if " Version=" in line and "NOT_RESPONDING" not in line and "* " not in line
    }
    return [node.name for node in cluster.nodes if node.name not in known]
