# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The network that the fabric layer has chosen, kept on the node for the layers that are played without it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from .._errors import GaudiError
from .._node.commands import Run
from .._node.interface_names import check_interfaces
from .._node.json_file import read_json
from .._node.rendered_files import WantedFile
from .ip_addresses import management_interface
from .provider import AUTO, PROVIDERS, check_provider, choose
from .sysfs import read_network

KEPT = "var/lib/gaudi3_scale/fabric.json"


@dataclass(frozen=True)
class ChosenNetwork:
    """``interface`` is the one over which the ranks find each other; empty where the node has no default route."""

    provider: str
    interface: str


def record(root: str, chosen: ChosenNetwork) -> WantedFile:
    """What the fabric layer keeps. No state that anyone wants: it is neither shown nor counted as a change."""
    text = json.dumps({"provider": chosen.provider, "interface": chosen.interface}, indent=2) + "\n"
    return WantedFile(str(Path(root, KEPT)), text)


def chosen_network(
    run: Run, kernel_root: str, provider: str = AUTO, interface: str = AUTO, root: str = "/"
) -> ChosenNetwork:
    """The network of this node; what is ``auto`` is what the fabric layer chose last.

    Where it never ran, or kept what nobody can read, the node is looked at as that layer does.
    """
    check_provider(provider)
    if provider != AUTO and interface != AUTO:
        return ChosenNetwork(provider, interface)
    kept = _kept(root)
    found = (kept.interface if kept else management_interface(run) or "") if interface == AUTO else interface
    if provider != AUTO:
        return ChosenNetwork(provider, found)
    return ChosenNetwork(kept.provider if kept else choose(read_network(kernel_root), AUTO, found).provider, found)


def _kept(root: str) -> ChosenNetwork | None:
    data = read_json(str(Path(root, KEPT))) or {}
    provider, interface = data.get("provider"), data.get("interface")
    if not isinstance(provider, str) or provider not in PROVIDERS or not isinstance(interface, str):
        return None
    try:
        check_interfaces(KEPT, interface)
    except GaudiError:
        return None
    return ChosenNetwork(provider, interface)
