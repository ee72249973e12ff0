# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The firewall of a node's job ports as a setting: planned, loaded into the kernel, and taken away again."""

from __future__ import annotations

from collections.abc import Sequence

from .._errors import GaudiError
from .._node import systemd_units
from .._node.commands import Run
from .._node.networks import parse_networks
from .._node.rendered_files import FileChange, WantedFile
from . import firewall
from .kernel.values import value_difference
from .node import Node, Setting


def plan_firewall(wanted: bool, nodes: Sequence[str], ports: Sequence[str], node: Node) -> Setting:
    """Rules and unit, neither where it is not ``wanted``; refused where it would close the ports to everybody."""
    rule_file, unit = node.in_etc(firewall.RULE_FILE), unit_file(node)
    if not wanted:
        return Setting(
            [WantedFile(unit, None, only_ours=True), WantedFile(rule_file, None, only_ours=True)],
            {"nodes": [], "ports": []},
            [],
        )
    named, opened = parse_networks("firewall_nodes", nodes), firewall.parse_ports(ports)
    if not named or not opened:
        empty = "firewall_ports" if named else "firewall_nodes"
        raise GaudiError(
            f"{empty} is empty while firewall is true; name the cluster's there, or set firewall to false."
        )
    files = [
        WantedFile(rule_file, firewall.rules_text(named, opened)),
        WantedFile(unit, firewall.unit_text(rule_file)),
    ]
    return Setting(files, {"nodes": list(named), "ports": list(opened)}, [])


def load_rules(
    wanted: bool, setting: Setting, node: Node, run: Run, changes: Sequence[FileChange], check_mode: bool
) -> dict[str, str] | None:
    """Load the rules where the kernel has others or none, at every boot too; the step made (in check mode: to make)."""
    if not wanted:
        return None
    if not node.installed("nft"):
        if check_mode:  # the package may be on its way: the role's own task comes before
            return value_difference(f"nftables: table {firewall.TABLE}", None, "loaded")
        raise GaudiError("firewall: nft is not on this node; install its package nftables, or set firewall to false.")
    mark = firewall.mark_of(setting.files[0].content or "")
    in_force = mark in _listed(run)
    enabled = systemd_units.is_enabled(run, firewall.UNIT)
    new = any(change.wanted.path in (file.path for file in setting.files) for change in changes)
    if not check_mode:
        if not enabled:
            systemd_units.enable(run, firewall.UNIT)
        if not in_force or new:
            systemd_units.restart(run, firewall.UNIT)
            if mark not in _listed(run):
                raise GaudiError(f"firewall: {firewall.UNIT} ran and table {firewall.TABLE} is not there; see its log.")
    if not in_force:
        return value_difference(f"nftables: table {firewall.TABLE}", None, f"loaded ({mark})")
    return None if enabled or new else value_difference(firewall.UNIT, "disabled", "enabled")


def unit_file(node: Node) -> str:
    """Where the unit is."""
    return node.in_etc(f"{systemd_units.UNIT_DIRECTORY}/{firewall.UNIT}")


def _listed(run: Run) -> str:
    return run([firewall.PROGRAM, "list", "table", *firewall.TABLE.split()]).stdout
