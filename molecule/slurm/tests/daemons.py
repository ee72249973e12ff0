# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Slurm's daemons on this scenario's nodes, of which node1 has the controller."""

from __future__ import annotations

from testinfra.host import Host


def restart(nodes: dict[str, Host]) -> None:
    nodes["node1"].check_output("systemctl restart slurmctld")
    for host in nodes.values():
        host.check_output("systemctl restart slurmd")
