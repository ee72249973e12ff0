# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The podman network of a sandbox."""

from __future__ import annotations

from pathlib import Path

from .errors import SandboxError
from .paths import CHECKOUT
from .plan import ClusterPlan, choose_subnet
from .podman import LABEL_CHECKOUT, LABEL_NAME, labels, networks, podman, stubborn


def subnet_of(name: str) -> str:
    """The subnet of the sandbox ``name``: the one it has, or the one it will get."""
    existing = networks()
    for network in existing:
        if _labels(network).get(LABEL_NAME) == name:
            return _subnets(network)[0]
    return choose_subnet(name, [subnet for network in existing for subnet in _subnets(network)])


def ensure_network(plan: ClusterPlan) -> None:
    """Make the sandbox's network unless it is there."""
    if not any(network["name"] == plan.network for network in networks()):
        podman("network", "create", "--subnet", plan.subnet, *labels(plan.name), plan.network)


def remove_networks(name: str) -> list[str]:
    """Remove the networks of the sandbox ``name``; returns their names."""
    mine = [str(network["name"]) for network in networks() if _labels(network).get(LABEL_NAME) == name]
    for network in mine:
        stubborn("network", "rm", "--force", network)
    return mine


def refuse_foreign(name: str) -> None:
    """Refuse to touch a sandbox of this name that another checkout made, unless that checkout is gone."""
    for network in networks():
        found = _labels(network)
        owner = found.get(LABEL_CHECKOUT, "")
        if found.get(LABEL_NAME) == name and owner != str(CHECKOUT) and Path(owner).exists():
            raise SandboxError(
                f"The sandbox {name} belongs to the checkout {owner}; use --name OTHER here,"
                f" or run `python3 -m sandbox down --name {name}` there."
            )


def _labels(network: dict[str, object]) -> dict[str, str]:
    found = network.get("labels")
    return found if isinstance(found, dict) else {}


def _subnets(network: dict[str, object]) -> list[str]:
    listed = network.get("subnets")
    return [item["subnet"] for item in listed] if isinstance(listed, list) else []
