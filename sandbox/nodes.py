# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Containers that play servers: made, started, waited for, made anew."""

from __future__ import annotations

import hashlib
import os
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .errors import SandboxError
from .paths import SIMULATOR
from .plan import ClusterPlan, NodePlan
from .podman import Container, labels, limits, podman
from .ssh_keys import PUBLIC_KEY, USER

SSH_PORT = 22
BOOT_SECONDS = 90
# What systemd and its networkd, lldpd, sshd, a process's priority and memory lock, a debugger, containers that a node
# starts, and the cards' device nodes need beyond podman's default set.
CAPABILITIES = "NET_ADMIN,NET_RAW,NET_BROADCAST,SYS_NICE,SYS_PTRACE,SYS_RESOURCE,IPC_LOCK,SYS_ADMIN,MKNOD"
# A disk of its own (disks.py): block devices of the loop driver, to read, write and make.
DEVICES = "b 7:* rwm"
LABEL_IDENTITY = "gaudi3.scale.sandbox.identity"
SIMULATOR_MOUNT = "/usr/lib/gaudi_simulator/gaudi_simulator"
# The simulated kernel's /sys and /proc. What comes over SSH and what is a service is told by files of the image.
KERNEL_ROOT = "/var/lib/gaudi_simulator/kernel"
# What all nodes see alike, as a site's NFS: most training scripts keep their checkpoints in such a place.
SHARED = "shared"
SHARED_MOUNT = "/shared"


def ensure_nodes(plan: ClusterPlan, image: str, state: Path, existing: list[Container]) -> list[str]:
    """Make what is missing and start what is stopped, all at once; returns the names of nodes that were made."""
    present = {container.name: container for container in existing}
    missing = [node for node in plan.nodes if node.container not in present]
    stopped = [n.container for n in plan.nodes if n.container in present and present[n.container].state != "running"]
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        list(pool.map(lambda node: create_node(plan, node, image, state), missing))
    if stopped:
        podman("start", *stopped)
    return [node.name for node in missing]


def create_node(plan: ClusterPlan, node: NodePlan, image: str, state: Path) -> None:
    """Start one virgin node; what it finds in the shared directory is what other nodes have left there."""
    podman(
        "run", "--detach",
        "--name", node.container,
        "--hostname", node.name,
        "--network", plan.network,
        "--ip", node.address,
        *(f"--add-host={name}:{address}" for name, address in plan.hosts if name != node.name),
        "--systemd", "always",
        "--restart", "always",  # a `reboot` inside ends the container's init; podman boots it again
        f"--cap-add={CAPABILITIES}",
        f"--device-cgroup-rule={DEVICES}",
        *limits(),
        "--memory", plan.memory,
        "--shm-size", "1g",  # gloo and data loaders share tensors there; podman's 64 MiB are too few
        "--env", f"GAUDI_SIMULATED_GENERATION={plan.cards.generation}",
        "--env", f"GAUDI_SIMULATED_CARDS={plan.cards.count}",
        "--env", f"GAUDI3_SCALE_KERNEL_ROOT={KERNEL_ROOT}",
        "--env", "OMP_WAIT_POLICY=PASSIVE",  # see sshd_config.d/sandbox.conf
        "--volume", f"{SIMULATOR}:{SIMULATOR_MOUNT}:ro",
        "--volume", f"{_shared_directory(state)}:{SHARED_MOUNT}",
        "--volume", f"{state / PUBLIC_KEY}:/etc/ssh/authorized_keys.d/{USER}:ro",
        "--label", f"{LABEL_IDENTITY}={identity(plan, state)}",
        *labels(plan.name),
        image, "/sbin/init",
    )  # fmt: skip


def identity(plan: ClusterPlan, state: Path) -> str:
    """What cannot be changed in a container that exists: cards, memory, what it may do, the key it opens to, mounts."""
    key = hashlib.sha256((state / PUBLIC_KEY).read_bytes()).hexdigest()[:12]
    places = f"{SHARED_MOUNT}, {KERNEL_ROOT}"
    return (
        f"{plan.cards.count} x {plan.cards.generation}, {plan.memory}, {CAPABILITIES}, {DEVICES}, key {key}, {places}"
    )


def _shared_directory(state: Path) -> Path:
    """The sandbox's own, gone with its state; whoever a job runs as may write there, as in /tmp."""
    shared = state / SHARED
    shared.mkdir(exist_ok=True)
    shared.chmod(0o1777)
    return shared


def wait_for_ssh(nodes: tuple[NodePlan, ...]) -> None:
    """Return when every node's sshd greets."""
    deadline = time.monotonic() + BOOT_SECONDS
    for node in nodes:
        while not _greets(node.address):
            if time.monotonic() > deadline:
                raise SandboxError(
                    f"{node.name} ({node.address}) does not answer on port {SSH_PORT} after {BOOT_SECONDS} s;"
                    f" see `podman exec {node.container} systemctl list-units --failed`."
                )
            time.sleep(0.1)


def _greets(address: str) -> bool:
    try:
        with socket.create_connection((address, SSH_PORT), timeout=2) as connection:
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False


def host_key(node: NodePlan) -> str:
    """The node's public host key, read through podman and not over the network it shall secure."""
    return podman("exec", node.container, "cat", "/etc/ssh/ssh_host_ed25519_key.pub").strip()


def in_node(node: NodePlan, *command: str, text_in: str | None = None) -> str:
    """Run a command as root in the node, past SSH."""
    interactive = ["--interactive"] if text_in is not None else []
    return podman("exec", *interactive, node.container, *command, text_in=text_in)
