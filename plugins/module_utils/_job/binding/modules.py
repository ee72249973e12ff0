# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Which cards a job takes that has fewer than its node: by module id, which is not the number of a card's device.

The driver numbers devices (``/dev/accel/accelN``, ``hl-smi``'s index, Slurm's) as it finds them, and the map differs
from node to node and from boot to boot. A rank takes the card whose module id its local rank names, whoever has it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..._cards.accel_sysfs import accel_devices
from ..._errors import GaudiError
from .topology import HPU, VISIBLE

VARIABLE = VISIBLE[HPU]


@dataclass(frozen=True)
class Share:
    """``ranks`` of a job on a node, and what ``HABANA_VISIBLE_MODULES`` says to them; "": nothing."""

    ranks: int
    host: str
    visible: str = ""


def modules_of(devices: Iterable[int], kernel_root: str = "/") -> tuple[int, ...]:
    """The module ids of these devices, in their order; raises GaudiError for a device that sysfs does not show."""
    known = modules_by_device(kernel_root)
    wanted = tuple(devices)
    absent = [device for device in wanted if device not in known]
    if absent:
        raise GaudiError(
            f"device accel{absent[0]} has no module id in {kernel_root.rstrip('/')}/sys/class/accel; the node shows "
            f"{', '.join(f'accel{device}' for device in known) or 'none'}: see whether the driver is loaded."
        )
    return tuple(known[device] for device in wanted)


def modules_by_device(kernel_root: str = "/") -> dict[int, int]:
    """Device index to module id, as far as sysfs tells, in the order of the devices."""
    devices = sorted(accel_devices(kernel_root), key=lambda device: device.index)
    return {device.index: device.module_id for device in devices if device.module_id is not None}


def addresses_of(modules: Iterable[int], kernel_root: str = "/") -> tuple[str, ...]:
    """The PCI addresses of the cards with these module ids; raises GaudiError for one that sysfs does not show."""
    known = {device.module_id: device.pci_address for device in accel_devices(kernel_root)}
    wanted = tuple(modules)
    absent = [module for module in wanted if module not in known]
    if absent:
        raise GaudiError(
            f"modules names {absent[0]}, and {kernel_root.rstrip('/')}/sys/class/accel shows no card with that module "
            "id; see whether the driver is loaded."
        )
    return tuple(known[module] for module in wanted)


def check_share(share: Share, kernel_root: str = "/") -> None:
    """Raises GaudiError where a job would take fewer cards than the node has, and nobody says which.

    Two such jobs would both take module 0, and the second one end with "Device already acquired".
    """
    known = modules_by_device(kernel_root)
    if share.visible.strip():
        _check_named(share, known)
    elif known and share.ranks < len(known):
        first = ",".join(str(module) for module in sorted(known.values())[: share.ranks])
        raise GaudiError(
            f"processes_per_node is {share.ranks} and {share.host} has {len(known)} cards: another job there would "
            f"take the same ones, since ranks take modules 0 to {share.ranks - 1} unless others are assigned. Ask for "
            f"all {len(known)}, or name this job's modules in environment, as {VARIABLE}: '{first}'; a module id is "
            f"not a device's index ({_map(known)}: `hl-smi -Q index,module_id -f csv`)."
        )


def _check_named(share: Share, known: dict[int, int]) -> None:
    words = [word.strip() for word in share.visible.split(",")]
    strange = [word for word in words if not word.isdecimal() or (known and int(word) not in known.values())]
    if strange:
        raise GaudiError(
            f"{VARIABLE}={share.visible} names {strange[0]!r}, and no card of {share.host} has that module id "
            f"({_map(known)}); name modules that are there."
        )
    if len(words) < share.ranks:
        raise GaudiError(
            f"{VARIABLE}={share.visible} names {len(words)} module(s) and processes_per_node is {share.ranks}; name "
            "one for each rank."
        )


def _map(known: dict[int, int]) -> str:
    return "device:module " + " ".join(f"{device}:{module}" for device, module in known.items())
