# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Layer 3 on a node: addresses for the cards' ports by systemd-networkd, and ``gaudinet.json`` for HCL."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ..._cards.accel_sysfs import accel_devices, loaded_modules, pci_cards
from ..._cards.node_system import read_kernel
from ..._errors import GaudiError
from ..._host.kernel.values import value_difference
from ..._node import systemd_units
from ..._node.commands import Run
from ..._node.hand_edits import find_edit, record_of
from ..._node.programs import Installed
from ..._node.rendered_files import FileChange, WantedFile, differences, pending, read_text, write
from ..ip_addresses import ipv4_addresses
from ..sysfs import CardPort, card_ports
from . import flow_control, gaudinet, networkd
from .gateways import gateway_macs, known_mac
from .lldp import Neighbor, read_neighbors
from .networkd import RoutedPort
from .port_addresses import (
    LLDP,
    RoutedOptions,
    disagreements,
    from_lldp,
    plan_of,
    planned,
    refuse,
    silent,
    slots,
)

UNIT = "systemd-networkd.service"
WAIT_UNIT = "systemd-networkd-wait-online.service"
# A file of ours begins with no word of ours: it is JSON. Without a copy beside it, it is a person's.
_NO_HEADING = "\0"
_ASKED_LATER = "asked once the addresses are set"


class RoutedPlace(Protocol):
    """What layer 3 needs of ``state.Place``."""

    @property
    def kernel_root(self) -> str:
        """Where ``/sys`` and ``/proc`` are looked for."""

    @property
    def etc(self) -> str:
        """``/etc``."""

    @property
    def networkd_run(self) -> str:
        """Where systemd-networkd reads files of this boot."""

    @property
    def sleep(self) -> Callable[[float], None]:
        """Waits for seconds."""

    @property
    def installed(self) -> Installed:
        """Tells whether the node has a program."""


@dataclass
class Outcome:
    """What was, or would be, done."""

    diff: list[dict[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    addresses: list[dict[str, Any]] = field(default_factory=list)
    missing_programs: list[str] = field(default_factory=list)
    backup: str = ""


def check(options: RoutedOptions) -> None:
    """Refuse options that cannot be meant, before the node is looked at."""
    options.check()


def check_plan(options: RoutedOptions, kernel_root: str) -> None:
    """Refuse what makes no plan for this node, before anything is touched."""
    if options.addresses != LLDP:
        plan_of(options, [card.pci_id for card in pci_cards(kernel_root)]).of(options.host)


def converge(options: RoutedOptions, tool: str, wait: float, run: Run, check_mode: bool, place: RoutedPlace) -> Outcome:
    """Bring the ports' addresses, ``gaudinet.json`` and flow control to what is wanted; ``wait`` for links, seconds."""
    cards = {card.pci_address: card.pci_id for card in pci_cards(place.kernel_root)}
    plan = None if options.addresses == LLDP else plan_of(options, cards.values())
    missing = _missing_programs(options, place.installed)
    if missing and (not check_mode or not options.require_programs or plan is None):
        return _without_programs(missing, options, check_mode)
    ports = card_ports(place.kernel_root)
    if check_mode and (not ports or (plan is None and not all(port.enabled for port in ports))):
        return Outcome()  # the driver comes first, and the switch is heard once the ports are up
    if not ports:
        raise GaudiError(f"The cards have no external port yet; {_remedy(place.kernel_root)}.")
    modules = {one.pci_address: one.module_id for one in accel_devices(place.kernel_root)}
    at = slots(ports, {address: (pci_id, modules.get(address)) for address, pci_id in cards.items()})
    if plan is None:
        routed = from_lldp(at, _neighbors(options, run, check_mode, place, wait_for_all=True))
    else:
        routed = planned(plan, options.host, at)
        if missing:
            return _shown(routed, options, missing, place)
        is_new = bool(pending(_networkd_files(routed, options, place)))
        refuse(disagreements(routed, _neighbors(options, run, check_mode, place, wait_for_all=is_new)))
    return _apply(routed, options, tool, wait, run, check_mode, place)


def _remedy(kernel_root: str) -> str:
    """What brings the ports."""
    if accel_devices(kernel_root):
        return "the driver is loaded, so see whether habanalabs_en is, and dmesg"
    if read_kernel(kernel_root).iommu_in_the_way and not loaded_modules(kernel_root):
        return "restart the node with iommu=pt, for which the driver waits"
    return "load the driver (gaudi3.scale.driver) first"


def remove(run: Run, check_mode: bool, place: RoutedPlace) -> Outcome:
    """Back to layer 2: take away what layer 3 has written, and the addresses with it. What a person wrote stays."""
    outcome = Outcome()
    gone = pending([WantedFile(path, None) for path in _files_of_ours(place)])
    path = f"{place.etc}/{gaudinet.FILE}"
    written = read_text(record_of(path))
    if written is not None and read_text(path) not in (written, None):
        outcome.warnings.append(f"{path} was edited by hand and is kept; HCL uses layer 3 while it exists: remove it.")
    elif written is not None:
        gone += pending([WantedFile(path, None)])
    outcome.diff = differences(gone)
    if check_mode or not gone:
        return outcome
    for change in gone:
        write(change)
    for change in pending([WantedFile(record_of(path), None)] if written is not None else []):
        write(change)
    if systemd_units.is_active(run, UNIT):
        _call(["networkctl", "reload"], run)
    for port in card_ports(place.kernel_root):
        _call(["ip", "-4", "address", "flush", "dev", port.interface, "scope", "global"], run)
    return outcome


def _apply(
    ports: Sequence[RoutedPort],
    options: RoutedOptions,
    tool: str,
    wait: float,
    run: Run,
    check_mode: bool,
    place: RoutedPlace,
) -> Outcome:
    outcome = Outcome(warnings=_stale(ports, place))
    wanted = _networkd_files(ports, options, place)
    changes = pending(wanted)
    outcome.diff = differences(changes)
    enabled, active = systemd_units.is_enabled(run, UNIT), systemd_units.is_active(run, UNIT)
    if not enabled:
        outcome.diff.append(value_difference(UNIT, "disabled", "enabled"))
    if not check_mode:
        for change in changes:
            write(change)
        _enable(enabled, run)
        _reload(changes, active, run, place)
        _await_addresses(ports, wait, run, place)
    off = [port for port in card_ports(place.kernel_root) if not port.enabled]
    later = check_mode and bool(changes or off or not active)
    outcome.diff += _write_gaudinet(ports, outcome, run, check_mode, later, place)
    outcome.diff += flow_control.converge(tool, options.pfc_priorities, run, check_mode)
    return outcome


def _write_gaudinet(
    ports: Sequence[RoutedPort], outcome: Outcome, run: Run, check_mode: bool, later: bool, place: RoutedPlace
) -> list[dict[str, str]]:
    """The file for HCL, whole or not at all; what a person wrote is kept beside it."""
    path = f"{place.etc}/{gaudinet.FILE}"
    found = {port.interface: known_mac(port, run) for port in ports} if later else gateway_macs(ports, run)
    unknown = [port for port in ports if not found[port.interface]]
    if unknown and not later:
        sentences = [_unanswered(port) for port in unknown]
        refuse([f"{path} is not written: {sentences[0]}", *sentences[1:]])
    gateways = {interface: mac or _ASKED_LATER for interface, mac in found.items()}
    text = gaudinet.render(ports, gateways)
    outcome.addresses = [_fact(port, found[port.interface]) for port in ports]
    changes = pending([WantedFile(path, text)])
    edit = find_edit(path, _NO_HEADING) if changes else None
    if edit is not None:
        outcome.warnings.append(f"{path} was written by hand ({edit.phrase()}); a copy was saved next to it.")
    if not check_mode:
        for change in changes:
            kept = write(FileChange(WantedFile(path, text, backup=edit is not None), change.before, change.before_mode))
            outcome.backup = kept or ""
        for change in pending([WantedFile(record_of(path), text)]):
            write(change)
    return differences(changes)


def _unanswered(port: RoutedPort) -> str:
    one = port.planned
    where = f"{port.interface} (port {one.port} of card {one.module_id})"
    if not port.link:
        return f"{where} has no link; check cable and switch."
    return f"no answer for {one.switch} on {where}; check that the switch's port has {one.announced}."


def _stale(ports: Sequence[RoutedPort], place: RoutedPlace) -> list[str]:
    """Sentences about what names a MAC address that is gone, and about the legacy file."""
    here = {port.mac for port in ports}
    found = []
    for path in _files_of_ours(place):
        mac = networkd.mac_in(read_text(path) or "")
        if mac and mac not in here:
            found.append(f"{path} was for {mac}, which this node no longer has; it is replaced or removed.")
    path = f"{place.etc}/{gaudinet.FILE}"
    gone = [mac for mac in gaudinet.macs_in(read_text(path) or "") if mac not in here]
    if gone:
        found.append(f"{path} has entries for {', '.join(gone)}, which this node no longer has; it is rewritten.")
    legacy = f"{place.etc}/{gaudinet.LEGACY_FILE}"
    if os.path.lexists(legacy):
        found.append(f"{legacy} is of an older release; HCL reads it only without {path}: remove it.")
    return found


def _networkd_files(ports: Sequence[RoutedPort], options: RoutedOptions, place: RoutedPlace) -> list[WantedFile]:
    manager = Path(place.etc, networkd.NETWORK_MANAGER).is_dir() and place.installed(networkd.NETWORK_MANAGER)
    ours = [networkd.file_of(place.etc, port.planned) for port in ports]
    others = [
        path
        for directory in (f"{place.etc}/{networkd.DIRECTORY}", place.networkd_run)
        for path in map(str, Path(directory).glob("*.network"))
        if not Path(path).name.startswith(networkd.PREFIX)
    ]
    wanted = networkd.wanted_files(place.etc, ports, options.mtu, network_manager=manager, alone=not others)
    left = [WantedFile(path, None) for path in _port_files(place) if path not in ours]
    return [*wanted, *left]


def _port_files(place: RoutedPlace) -> list[str]:
    return sorted(map(str, Path(place.etc, networkd.DIRECTORY).glob(networkd.FILES)))


def _files_of_ours(place: RoutedPlace) -> list[str]:
    fixed = [f"{place.etc}/{networkd.FOREIGN_FILE}", f"{place.etc}/{networkd.NETWORK_MANAGER_FILE}"]
    return [*_port_files(place), *fixed]


def _enable(enabled: bool, run: Run) -> None:
    """At each boot; without the unit that comes with it and waits for links of networks that are not its own."""
    if enabled:
        return
    waited = systemd_units.is_enabled(run, WAIT_UNIT)
    systemd_units.enable(run, UNIT)
    if not waited and systemd_units.is_enabled(run, WAIT_UNIT):
        systemd_units.disable(run, WAIT_UNIT)


def _reload(changes: Sequence[FileChange], active: bool, run: Run, place: RoutedPlace) -> None:
    paths = [change.wanted.path for change in changes]
    if f"{place.etc}/{networkd.NETWORK_MANAGER_FILE}" in paths and systemd_units.is_active(
        run, f"{networkd.NETWORK_MANAGER}.service"
    ):
        _call(["nmcli", "general", "reload", "conf"], run)
    if not active or f"{place.etc}/{networkd.FOREIGN_FILE}" in paths:
        systemd_units.restart(run, UNIT)
    elif paths:
        _call(["networkctl", "reload"], run)


def _await_addresses(ports: Sequence[RoutedPort], wait: float, run: Run, place: RoutedPlace) -> None:
    """Until each port with a link has its address, and no longer than ``wait``: who has none is told by its gateway."""
    wanted = {(port.interface, port.planned.address) for port in ports if port.link}
    waited = 0.0
    while waited < wait and not wanted <= _addresses(run):
        place.sleep(0.5)
        waited += 0.5


def _addresses(run: Run) -> set[tuple[str, str]]:
    return {(name, one.partition("/")[0]) for name, found in ipv4_addresses(run).items() for one in found}


def _neighbors(
    options: RoutedOptions, run: Run, check_mode: bool, place: RoutedPlace, *, wait_for_all: bool
) -> tuple[Neighbor, ...]:
    """What lldpd has heard; switches speak every half minute, and a port that just came up has heard nobody."""
    waited, ports = 0.0, card_ports(place.kernel_root)
    found = _of(ports, read_neighbors(run))
    while wait_for_all and not check_mode and waited < options.lldp_timeout and silent(ports, found):
        place.sleep(1.0)
        waited, ports = waited + 1.0, card_ports(place.kernel_root)
        found = _of(ports, read_neighbors(run))
    return found


def _of(ports: Sequence[CardPort], neighbors: Sequence[Neighbor]) -> tuple[Neighbor, ...]:
    names = {port.interface for port in ports}
    return tuple(one for one in neighbors if one.interface in names)


def _missing_programs(options: RoutedOptions, installed: Installed) -> list[str]:
    needed = ["networkctl", "lldpctl", "ping", *(["lldptool", "ethtool"] if options.pfc_priorities else [])]
    return [program for program in needed if not installed(program)]


def _without_programs(missing: Sequence[str], options: RoutedOptions, check_mode: bool) -> Outcome:
    if options.require_programs and not check_mode:
        raise GaudiError(
            f"Layer 3 needs {', '.join(missing)}, which this node lacks; install systemd-networkd, lldpd, lldpad, "
            "iputils and ethtool (on RHEL 9 the first two are in EPEL)."
        )
    return Outcome(missing_programs=list(missing))


def _shown(ports: Sequence[RoutedPort], options: RoutedOptions, missing: Sequence[str], place: RoutedPlace) -> Outcome:
    """What check mode can say of a node that the programs are still to come to."""
    gateways = {port.interface: _ASKED_LATER for port in ports}
    wanted = [
        *_networkd_files(ports, options, place),
        WantedFile(f"{place.etc}/{gaudinet.FILE}", gaudinet.render(ports, gateways)),
    ]
    return Outcome(differences(pending(wanted)), _stale(ports, place), missing_programs=list(missing))


def _fact(port: RoutedPort, gateway: str | None) -> dict[str, Any]:
    one = port.planned
    return {
        "interface": port.interface,
        "module_id": one.module_id,
        "port": one.port,
        "mac": port.mac,
        "address": one.address,
        "prefix": one.prefix,
        "gateway": one.switch,
        "gateway_mac": gateway,
    }


def _call(argv: Sequence[str], run: Run) -> None:
    done = run(argv)
    if done.rc != 0:
        raise GaudiError(f"`{' '.join(argv)}` failed: {(done.stderr or done.stdout).strip()}.")
