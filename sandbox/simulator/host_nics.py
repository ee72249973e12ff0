# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A host's InfiniBand or RoCE card, as the fault ``host_nic`` gives one to a node: sysfs alone, no traffic.

Paths and contents follow the kernel (Documentation/ABI/stable/sysfs-class-infiniband, sysfs-bus-pci).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

FAULT = "host_nic"
KINDS = {"infiniband": "InfiniBand", "roce": "Ethernet"}
# What can be wrong with it: no link, no subnet manager, no RoCE v2, small frames, ACS on above it, no device node.
CONDITIONS = ("down", "init", "no_gid", "small_mtu", "acs", "no_node")
DEVICE, INTERFACE = "mlx5_0", "ens5np0"
ADDRESS, BRIDGE = "0000:5a:00.0", "0000:59:00.0"
UVERBS = "uverbs63"
_PORT_STATES = {"down": ("1: DOWN", "2: Polling"), "init": ("2: INIT", "5: LinkUp")}
_ACTIVE = ("4: ACTIVE", "5: LinkUp")
_ACS_OFFSET, _ACS_ON = 0x100, 0x1D


def parse(text: str) -> str:
    """``KIND[:CONDITION[,CONDITION...]]``; ValueError for anything else."""
    if not re.fullmatch(
        rf"(?:{'|'.join(KINDS)})(?::(?:{'|'.join(CONDITIONS)})(?:,(?:{'|'.join(CONDITIONS)}))*)?", text
    ):
        raise ValueError
    return text


def files(faults: Mapping[str, object]) -> dict[str, str]:
    """Path below the kernel root -> content; nothing without the fault."""
    text = faults.get(FAULT)
    if not isinstance(text, str):
        return {}
    kind, _colon, given = text.partition(":")
    conditions = given.split(",") if given else []
    found = {**_pci(conditions), **_device(kind, conditions), **_interface(kind, conditions)}
    if "no_node" not in conditions:
        found[f"dev/infiniband/{UVERBS}"] = ""
    return found


def _pci(conditions: list[str]) -> dict[str, str]:
    bridge, card = f"sys/bus/pci/devices/{BRIDGE}", f"sys/bus/pci/devices/{ADDRESS}"
    return {
        f"{bridge}/class": "0x060400\n",
        f"{bridge}/vendor": "0x8086\n",
        f"{bridge}/config": _bridge_config("acs" in conditions),
        f"{card}/class": "0x020700\n",
        f"{card}/vendor": "0x15b3\n",
        f"{card}/device": "0x1021\n",
    }


def _bridge_config(acs: bool) -> str:
    """Header of type 1 with the card's bus behind it, and the ACS capability; each byte is an ASCII character."""
    # As long as the kernel shows it to root.
    config = bytearray(0x1000)
    config[0x0E] = 1
    config[0x19] = config[0x1A] = int(ADDRESS[5:7], 16)
    config[_ACS_OFFSET : _ACS_OFFSET + 4] = (0x0001000D).to_bytes(4, "little")
    config[_ACS_OFFSET + 6] = _ACS_ON if acs else 0
    return config.decode("ascii")


def _device(kind: str, conditions: list[str]) -> dict[str, str]:
    device = f"sys/class/infiniband/{DEVICE}"
    port = f"{device}/ports/1"
    state, physical = next((_PORT_STATES[name] for name in conditions if name in _PORT_STATES), _ACTIVE)
    found = {
        "proc/kallsyms": "0000000000000000 T ib_umem_dmabuf_get\t[ib_uverbs]\n",
        f"{device}/device/vendor": "0x15b3\n",
        f"{device}/device/device": "0x1021\n",
        f"{device}/device/uevent": f"DRIVER=mlx5_core\nPCI_SLOT_NAME={ADDRESS}\n",
        f"{device}/device/net/{INTERFACE}/ifindex": "9\n",
        f"{port}/link_layer": f"{KINDS[kind]}\n",
        f"{port}/state": f"{state}\n",
        f"{port}/phys_state": f"{physical}\n",
        f"sys/class/infiniband_verbs/{UVERBS}/ibdev": f"{DEVICE}\n",
    }
    if kind == "roce":
        types = ["IB/RoCE v1"] + (["RoCE v2"] if "no_gid" not in conditions else [])
        found.update({f"{port}/gid_attrs/types/{index}": f"{name}\n" for index, name in enumerate(types)})
    return found


def _interface(kind: str, conditions: list[str]) -> dict[str, str]:
    interface = f"sys/class/net/{INTERFACE}"
    jumbo = "2044" if kind == "infiniband" else "9000"
    return {
        f"{interface}/operstate": "down\n" if "down" in conditions else "up\n",
        f"{interface}/flags": "0x1003\n",
        f"{interface}/mtu": "1500\n" if "small_mtu" in conditions else f"{jumbo}\n",
        f"{interface}/device/vendor": "0x15b3\n",
    }
