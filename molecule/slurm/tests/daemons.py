# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Slurm's daemons on this scenario's nodes, of which node1 has the controller."""

from __future__ import annotations

from testinfra.host import Host


def restart(nodes: dict[str, Host]) -> None:
    """The controller last: one that hears of a node's cards by their number alone, from a slurmd that has not read
    gres.conf again, takes no files for the same number later (Slurm 22.05)."""
    for host in nodes.values():
        host.check_output("systemctl restart slurmd")
    nodes["node1"].check_output("systemctl restart slurmctld")
