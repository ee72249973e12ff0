# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Over which networks a node could be measured, and what it keeps of that, so that the next run need not measure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._node.commands import Run
from .._node.interface_names import check_interfaces
from .._node.json_file import read_json
from .._node.kernel_tree import kernel_tree
from .._node.rendered_files import WantedFile, differences, pending, write
from .ip_addresses import ipv4_addresses, management_interface
from .ofi_wrapper import wrapper_file
from .provider import AUTO, Choice, check_provider, choose
from .sysfs import Network, read_network
from .usable import Sight, usable_networks

KEPT = "var/lib/gaudi3_scale/fabric_benchmark.json"


@dataclass(frozen=True)
class Measuring:
    """What would compute in a measurement, and the venv of its ranks."""

    device: str = "hpu"
    venv: str = "/opt/gaudi3_scale/venv"


@dataclass(frozen=True)
class MeasurementOptions:
    """See the options of the module ``hpu_fabric_networks``."""

    provider: str = AUTO
    interface: str = ""
    measuring: Measuring = field(default_factory=Measuring)
    measurement: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Place:
    """Where the node's files are."""

    kernel_root: str = field(default_factory=kernel_tree)
    root: str = "/"


def look(options: MeasurementOptions, run: Run, check_mode: bool, place: Place) -> dict[str, Any]:
    """What the module ``hpu_fabric_networks`` returns; keeps ``options.measurement`` where one is given."""
    check_provider(options.provider)
    check_interfaces("interface", options.interface)
    changes = pending(_wanted(options.measurement, place))
    if not check_mode:
        for change in changes:
            write(change)
    network = read_network(place.kernel_root)
    management = options.interface or management_interface(run)
    choice = choose(network, options.provider, management)
    found = measurable(options.provider, choice, network, management, options.measuring, run, place.root)
    return {"changed": bool(changes), "diff": differences(changes), **found}


def measurable(
    requested: str,
    choice: Choice,
    network: Network,
    management: str | None,
    measuring: Measuring,
    run: Run,
    root: str,
) -> dict[str, Any]:
    """Over which networks this node could be measured, what is known of it already, and what would measure it."""
    sight = Sight(network, ipv4_addresses(run), wrapper_file(root).exists(), management)
    return {
        "requested": requested,
        "provider": choice.provider,
        "reason": choice.reason,
        "networks": [usable._asdict() for usable in usable_networks(sight, measuring.device)],
        "cards": network.cards,
        "links": sum(port.link for port in network.ports),
        "library": _library(measuring.venv),
        "measurement": read_json(str(Path(root, KEPT))) or {},
    }


def _wanted(measurement: Mapping[str, Any] | None, place: Place) -> list[WantedFile]:
    if measurement is None:
        return []
    return [WantedFile(str(Path(place.root, KEPT)), json.dumps(measurement, indent=2, sort_keys=True) + "\n")]


def _library(venv: str) -> str:
    """The version of the node library in the venv, by the name of its metadata; empty where it has none."""
    found = sorted(path.name for path in Path(venv).glob("lib/python3*/site-packages/gaudi3_scale-*.dist-info"))
    return found[-1][len("gaudi3_scale-") : -len(".dist-info")] if found else ""
