# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Hundreds of hosts in few containers: each has an address of its own, behind which a real sshd answers.

The addresses are on the loopback interface of the sandbox's nodes, so one kernel and one disk stand for many hosts.
What changes a node cannot be measured so; what the controller has to do for each host can.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.playbook_run import ROOT, search_path
from sandbox import cluster
from sandbox.plan import NodePlan
from sandbox.podman import podman

# Reserved for benchmarks by RFC 2544, so no network of a sandbox or a site.
_NETWORK = "198.18"
# sshd drops a cold burst of connections above its own limit, and one stands here for many.
_SSHD = "MaxStartups 1000\\nMaxSessions 1000\\n"


def addresses(hosts: int, nodes: int) -> list[str]:
    """One for each host, the nodes by turns."""
    return [f"{_NETWORK}.{host % nodes}.{1 + host // nodes}" for host in range(hosts)]


def answer_on(sandbox: str, hosts: int) -> None:
    """Give the sandbox's nodes as many addresses as there are hosts, and the controller a way to them."""
    nodes = _nodes(sandbox)
    for number, node in enumerate(nodes):
        mine = [address for address in addresses(hosts, len(nodes)) if address.startswith(f"{_NETWORK}.{number}.")]
        script = "\n".join(f"ip address replace {address}/32 dev lo" for address in mine)
        restart = f"printf '{_SSHD}' > /etc/ssh/sshd_config.d/fleet.conf && systemctl restart ssh"
        podman("exec", node.container, "sh", "-ec", f"{script}\n{restart}")
        way = ["ip", "route", "replace", f"{_NETWORK}.{number}.0/24", "via", node.address]
        subprocess.run(way, check=True, capture_output=True)


def forget(sandbox: str) -> None:
    """Take the way away again; the addresses go with the nodes."""
    for number, _node in enumerate(_nodes(sandbox)):
        subprocess.run(["ip", "route", "delete", f"{_NETWORK}.{number}.0/24"], check=False, capture_output=True)


def write_inventory(sandbox: str, hosts: int, path: Path) -> None:
    """An inventory of the hosts, each with the variables of its node."""
    known = _hostvars(sandbox)
    nodes = [node.name for node in _nodes(sandbox)]
    given = {"ansible_ssh_common_args": "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"}
    fleet = {
        f"fleet-{number:04}": {**known[nodes[number % len(nodes)]], **given, "ansible_host": address}
        for number, address in enumerate(addresses(hosts, len(nodes)))
    }
    path.write_text(json.dumps({"gaudi": {"hosts": fleet}}), encoding="utf-8")


def _nodes(sandbox: str) -> Sequence[NodePlan]:
    return cluster.load(sandbox).nodes


def _hostvars(sandbox: str) -> dict[str, dict[str, Any]]:
    command = ["ansible-inventory", "-i", str(ROOT / "inventories" / "sandbox"), "--list"]
    environment = {**os.environ, "GAUDI_SANDBOX": sandbox, "PATH": search_path()}
    said = subprocess.run(command, check=True, capture_output=True, cwd=ROOT, env=environment).stdout
    found: dict[str, dict[str, Any]] = json.loads(said)["_meta"]["hostvars"]
    return found
