# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Bring a node's scale-out network up, and say which one it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._errors import GaudiError
from .._host.kernel.values import value_difference
from .._node import systemd_units
from .._node.commands import Run
from .._node.interface_names import check_interfaces
from .._node.kernel_tree import kernel_tree
from .._node.lock import alone, state_beside
from .._node.programs import Installed, is_installed
from .._node.rendered_files import FileChange, differences, pending, replaced, write
from . import ports as fabric_ports
from .chosen import ChosenNetwork, record
from .ip_addresses import management_interface
from .layer3 import state as layer3
from .layer3.port_addresses import ROUTED_LAYER, RoutedOptions
from .measurement import Measuring, measurable
from .other_starters import other_starters
from .provider import AUTO, GAUDI_ETHERNET, check_provider, choose, shortcomings, silent_ports
from .sysfs import CardPort, Network, card_ports, read_network


@dataclass(frozen=True)
class FabricOptions:
    """The operator's wishes; see the options of the module ``hpu_fabric``. ``link_timeout`` is in seconds."""

    provider: str = AUTO
    interface: str = ""
    link_timeout: float = 30.0
    routed: RoutedOptions = field(default_factory=RoutedOptions)
    measuring: Measuring = field(default_factory=Measuring)


@dataclass(frozen=True)
class Place:
    """Where the node's files are, and its clock."""

    kernel_root: str = field(default_factory=kernel_tree)
    etc: str = "/etc"
    tool: Callable[[str], str] = fabric_ports.tool
    sleep: Callable[[float], None] = time.sleep
    # Where netplan and others write what systemd-networkd shall do until the next boot.
    networkd_run: str = "/run/systemd/network"
    installed: Installed = is_installed

    @property
    def root(self) -> str:
        """What ``etc`` is in."""
        return str(Path(self.etc).parent)


def converge(options: FabricOptions, run: Run, check_mode: bool, place: Place) -> dict[str, Any]:
    """Bring the ports up where the node has any and is to use them; returns what an Ansible module returns."""
    check_provider(options.provider)
    check_interfaces("interface", options.interface)
    layer3.check(options.routed)
    with alone("fabric", state_beside(place.etc), check_mode=check_mode):
        return _converge(options, place, run, check_mode)


def _converge(options: FabricOptions, place: Place, run: Run, check_mode: bool) -> dict[str, object]:
    before = read_network(place.kernel_root)
    program = _program(options, before, place)
    if program and options.routed.layer == ROUTED_LAYER:
        layer3.check_plan(options.routed, place.kernel_root)
    changes = pending(fabric_ports.wanted_files(place.etc, program))
    enabled = program is None or systemd_units.is_enabled(run, fabric_ports.UNIT)
    if program and not check_mode and not Path(program).exists():
        raise GaudiError(f"{program} is not on this node; install the package habanalabs-qual first.")
    if not check_mode:
        _write(changes, run)
        if not enabled:
            systemd_units.enable(run, fabric_ports.UNIT)
        if program:
            _bring_up(before, options, place, run)
    routed = _routed(options, program, place, run, check_mode)
    after = read_network(place.kernel_root)
    interface = options.interface or management_interface(run)
    choice = choose(after, options.provider, interface)
    values = _differences(before.ports, after.ports, bool(program), check_mode)
    if not enabled:
        values.append(value_difference(fabric_ports.UNIT, "disabled", "enabled"))
    fact = {
        "provider": choice.provider,
        "reason": choice.reason,
        "interface": interface,
        "ports_expected": after.expected_ports,
        "ports_with_link": sum(port.link for port in after.ports),
        "layer": options.routed.layer if program else None,
    }
    values += routed.diff
    if not check_mode:
        for change in pending([record(place.root, ChosenNetwork(choice.provider, interface or ""))]):
            write(change)
    return {
        "changed": bool(changes or values),
        "diff": [*differences(changes), *values],
        "warnings": [
            *replaced(changes),
            *_warnings(after, options.provider, choice.provider, check_mode),
            *_without_ports(options, after, choice.provider),
            *(other_starters(place.root) if program else []),
            *routed.warnings,
        ],
        "fabric": fact,
        "ports": [vars(port) for port in after.ports],
        "addresses": routed.addresses,
        "missing_programs": routed.missing_programs,
        "backup": routed.backup,
        "host_nics": [{**vars(nic), "interfaces": list(nic.interfaces)} for nic in after.nics],
        "measurable": measurable(options.provider, choice, after, interface, options.measuring, run, place.root),
        "ansible_facts": {"gaudi_fabric": fact},
    }


def _routed(options: FabricOptions, program: str | None, place: Place, run: Run, check_mode: bool) -> layer3.Outcome:
    """Layer 3 where the cards' ports are used and it is wanted; elsewhere nothing of it is left."""
    if program is None or options.routed.layer != ROUTED_LAYER:
        return layer3.remove(run, check_mode, place)
    return layer3.converge(options.routed, program, options.link_timeout, run, check_mode, place)


def _program(options: FabricOptions, network: Network, place: Place) -> str | None:
    """The tool that brings the ports up; None where the cards have no such ports or they are not to be used."""
    if options.provider not in (AUTO, GAUDI_ETHERNET) or network.generation is None or not network.expected_ports:
        return None
    return place.tool(network.generation)


def _write(changes: Sequence[FileChange], run: Run) -> None:
    for change in changes:
        if change.wanted.content is None and change.wanted.path.endswith(fabric_ports.UNIT_FILE):
            systemd_units.disable(run, fabric_ports.UNIT)
        write(change)
    if any(change.wanted.path.endswith(fabric_ports.UNIT_FILE) for change in changes):
        systemd_units.reload_units(run)


def _bring_up(network: Network, options: FabricOptions, place: Place, run: Run) -> None:
    """Start the unit where a port is switched off, and wait for links. A port without a cable is not switched off."""
    if all(port.enabled for port in network.ports):
        return
    systemd_units.restart(run, fabric_ports.UNIT)
    ports = card_ports(place.kernel_root)
    waited = 0.0
    while waited < options.link_timeout and not all(port.link for port in ports):
        place.sleep(1.0)
        waited += 1.0
        ports = card_ports(place.kernel_root)
    off = [port.interface for port in ports if not port.enabled]
    if off:
        raise GaudiError(
            f"{fabric_ports.UNIT} ran and left {', '.join(off)} off; `systemctl status {fabric_ports.UNIT}` says why.",
            ports=off,
        )


def _differences(
    before: Sequence[CardPort], after: Sequence[CardPort], managed: bool, check_mode: bool
) -> list[dict[str, str]]:
    """The ports that were (in check mode: would be) switched on."""
    still_off = {port.interface for port in after if not port.enabled and not check_mode}
    switched = [port.interface for port in before if managed and not port.enabled and port.interface not in still_off]
    lines = ("\n".join(f"{interface} {state}" for interface in switched) for state in ("down", "up"))
    return [value_difference("external ports of the cards", *lines)] if switched else []


def _warnings(network: Network, requested: str, provider: str, check_mode: bool) -> list[str]:
    """In check mode the ports have not been brought up yet, so what they lack is no news."""
    if provider != GAUDI_ETHERNET:
        # Where another network was asked for, nobody waits for the cards' ports.
        return [*(silent_ports(network) if requested == AUTO else []), *shortcomings(network, provider)]
    return [] if check_mode else shortcomings(network, provider)


def _without_ports(options: FabricOptions, network: Network, provider: str) -> list[str]:
    """Layer 3 is asked for, and these cards show no port that could have an address."""
    if options.routed.layer != ROUTED_LAYER or options.provider not in (AUTO, GAUDI_ETHERNET):
        return []
    if not network.cards or network.expected_ports:
        return []
    boards = f"{' and '.join(network.silent)} cards" if network.silent else "cards"
    none = (
        f"layer 3: these {boards} show no external port, so that no port gets an address and there is no "
        f"gaudinet.json; set gaudi_fabric_layer to 2 for this host (what goes between nodes takes {provider})."
    )
    return [none]
