# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The power limits of a node's cards: read, and set by ``hl-smi``.

``-p`` and ``-i`` are in the vendor's manual of hl-smi; it names no exit codes, so what counts is what a card shows
afterwards. ``power.max`` is in no list of the manual's (UNVERIFIED: two programs of others query it). Where hl-smi does
not tell it, the driver's ``max_power`` does, which is in mW. What a limit may be HLML tells, where it can be asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from .._cards.accel_sysfs import AccelDevice, accel_devices, attribute, pci_cards
from .._cards.hardware import generation_of
from .._cards.hl_smi import parse_query
from .._cards.hlml import HlmlCard, HlmlReading, ask_hlml
from .._cards.hlml_fields import named
from .._cards.readings import reading, whole
from .._errors import GaudiError
from .._node.commands import CommandResult, Run, last_line
from .._node.kernel_modules import Holder, find_holders
from .plan import PowerCard

# A card in reset can hold hl-smi for as long as the driver's own time-out of 30 s, twice for a listing of several.
READ_TIMEOUT_S, SET_TIMEOUT_S = 90, 45
_RANGE = named("power_least_limit", "power_most_limit")
# What Run itself says of a program that did not come to its end.
_DID_NOT_RUN = (124, 126, 127)
# The device on which a process computes. A monitor has the card's other one open (accel_controlD3), and is not slowed.
_COMPUTING = re.compile(r"accel(\d+)")


def read_cards(run: Run, kernel_root: str = "/", proc: str = "/proc") -> tuple[PowerCard, ...]:
    """The cards by module id. Raises GaudiError where no driver has one, or hl-smi does not come to its end."""
    found, devices = pci_cards(kernel_root), {device.pci_address: device for device in accel_devices(kernel_root)}
    if found and not devices:
        raise GaudiError("No driver has a card of this node, so none has a power limit; run driver.yml first.")
    limits = read_limits(run, devices.values(), kernel_root) if devices else {}
    told = ask_hlml(run, list(devices), _RANGE) if devices else HlmlReading()
    holders = find_holders(kernel_root, proc)
    cards = [
        PowerCard(
            pci_address=card.pci_address,
            pci_id=card.pci_id,
            generation=generation_of(card.pci_id),
            module_id=devices[card.pci_address].module_id if card.pci_address in devices else None,
            limit=limits.get(card.pci_address),
            holders=_of_card(holders, devices.get(card.pci_address)),
            own_range=_own_range(told.card(card.pci_address)),
        )
        for card in found
    ]
    return tuple(sorted(cards, key=lambda card: (card.module_id is None, card.module_id or 0, card.pci_address)))


def read_limits(run: Run, devices: Iterable[AccelDevice], kernel_root: str = "/") -> dict[str, int]:
    """PCI address -> W, of the cards that tell a limit."""
    asked = run(("hl-smi", "-Q", "bus_id,power.max", "-f", "csv"), timeout=READ_TIMEOUT_S)
    if asked.rc in _DID_NOT_RUN:
        raise GaudiError(
            f"The power limits cannot be read ({last_line(asked.stderr)}); look at `dmesg` for a card that hangs, or "
            "run driver.yml where hl-smi is not there."
        )
    rows = {str(row["bus_id"]).lower(): row for row in parse_query(asked.stdout) if row.get("bus_id")}
    limits = {device.pci_address: _limit(rows.get(device.pci_address, {}), device, kernel_root) for device in devices}
    return {address: limit for address, limit in limits.items() if limit is not None}


def set_limit(run: Run, address: str, watts: int) -> CommandResult:
    """Have one card's limit set; what hl-smi said is told where the card shows another one afterwards."""
    return run(("hl-smi", "-i", address, "-p", str(watts)), timeout=SET_TIMEOUT_S)


def _limit(row: Mapping[str, str | None], device: AccelDevice, kernel_root: str) -> int | None:
    limit = whole("power.max", row.get("power.max"))
    if limit is not None:
        return limit
    of_driver = Path(kernel_root, f"sys/class/accel/accel{device.index}/device")
    milliwatts = reading("max_power", attribute(of_driver, "max_power"))
    return None if milliwatts is None else round(milliwatts / 1000)


def _own_range(told: HlmlCard) -> tuple[int, int] | None:
    """In whole W within what the card says; None where it says none, or one whose ends are swapped."""
    least, most = told.number("power_least_limit"), told.number("power_most_limit")
    return None if least is None or most is None or least > most else (-(-least // 1000), most // 1000)


def _of_card(holders: Iterable[Holder], device: AccelDevice | None) -> tuple[Holder, ...]:
    if device is None:
        return ()
    return tuple(holder for holder in holders if any(_computes(name, device.index) for name in holder.devices))


def _computes(name: str, index: int) -> bool:
    found = _COMPUTING.fullmatch(name)
    return found is not None and int(found[1]) == index
