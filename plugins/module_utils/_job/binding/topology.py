# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A node's cores and the NUMA node of each rank's card, read from sysfs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..._cards.accel_sysfs import accel_devices, attribute, pci_cards
from .cpus import parse_cpus

HPU, CUDA = "hpu", "cuda"
NVIDIA_VENDOR = "0x10de"
# PCI class 0x0300 is a VGA controller, 0x0302 a 3D controller: a GPU is one of them.
DISPLAY_CLASS = "0x03"
# What says which cards a job may use, in the order of its ranks.
VISIBLE = {HPU: "HABANA_VISIBLE_MODULES", CUDA: "CUDA_VISIBLE_DEVICES"}


@dataclass(frozen=True)
class Core:
    """A physical core: those of its processors (SMT siblings) that may be used. ``numa_node`` None: none is named."""

    cpus: tuple[int, ...]
    numa_node: int | None


def read_cores(allowed: Iterable[int], kernel_root: str = "/") -> tuple[Core, ...]:
    """The cores that have one of the ``allowed`` processors, by NUMA node and then by their first processor."""
    system = Path(kernel_root, "sys/devices/system")
    online = attribute(system / "cpu", "online")
    left = set(allowed) if online is None else set(allowed) & parse_cpus(online)
    nodes = _numa_nodes(system / "node")
    cores = []
    for cpu in sorted(left):
        if cpu in left:
            siblings = parse_cpus(attribute(system / f"cpu/cpu{cpu}/topology", "thread_siblings_list") or str(cpu))
            own = tuple(sorted({cpu, *siblings} & left))
            left -= set(own)
            cores.append(Core(own, nodes.get(cpu)))
    return tuple(sorted(cores, key=lambda core: (core.numa_node is None, core.numa_node or 0, core.cpus)))


def _numa_nodes(directory: Path) -> dict[int, int]:
    """NUMA node by processor; empty for a kernel that was built without NUMA."""
    return {
        cpu: int(place.name[len("node") :])
        for place in directory.glob("node[0-9]*")
        for cpu in parse_cpus(attribute(place, "cpulist") or "")
    }


def read_card_nodes(
    device: str, ranks: int, environment: Mapping[str, str], kernel_root: str = "/"
) -> tuple[int | None, ...]:
    """The NUMA node of the card that each local rank takes; None where it is not known.

    On ``hpu`` local rank n takes the card whose module id is the n-th of HABANA_VISIBLE_MODULES, or n without that
    (hccl/__init__.py of the bridge; docs.habana.ai, Gaudi_Assignment). Of CUDA's order no more is documented than that
    CUDA_DEVICE_ORDER can make it that of the PCI addresses, which is taken here.
    """
    cards = _module_nodes(kernel_root) if device == HPU else dict(enumerate(_gpu_nodes(kernel_root)))
    order = _visible(environment.get(VISIBLE[device], ""), ranks)
    return tuple(cards.get(order[rank]) if rank < len(order) else None for rank in range(ranks))


def _module_nodes(kernel_root: str) -> dict[int, int | None]:
    nodes = {card.pci_address: card.numa_node for card in pci_cards(kernel_root)}
    devices = accel_devices(kernel_root)
    return {one.module_id: nodes.get(one.pci_address) for one in devices if one.module_id is not None}


def _gpu_nodes(kernel_root: str) -> list[int | None]:
    places = sorted(Path(kernel_root, "sys/bus/pci/devices").glob("*"))
    gpus = [
        place
        for place in places
        if attribute(place, "vendor") == NVIDIA_VENDOR and (attribute(place, "class") or "").startswith(DISPLAY_CLASS)
    ]
    named = [attribute(place, "numa_node") or "" for place in gpus]
    return [int(text) if text.isdecimal() else None for text in named]


def _visible(text: str, ranks: int) -> Sequence[int]:
    """A list of anything but numbers, such as CUDA's UUIDs, tells nothing of an order that is known here."""
    words = [word.strip() for word in text.split(",")] if text.strip() else []
    if not words:
        return range(ranks)
    return [int(word) if word.isdecimal() else -1 for word in words]
