# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a sandbox consists of, as values: names, addresses, cards."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass

from .errors import SandboxError

DEFAULT_NAME = "gaudi3"
DEFAULT_NODES = 2
DEFAULT_MEMORY = "6g"
MOST_NODES = 16
MOST_CARDS = 8
GENERATIONS = ("gaudi3", "gaudi2")
REPOSITORY_HOST = "packages.sandbox.internal"

# Two sandboxes have fixed networks, so that the demo and the tests never meet; others take the first free one.
SUBNETS = {"gaudi3": "10.203.71.0/24", "gaudi3-test": "10.203.72.0/24"}
FREE_SUBNETS = tuple(f"10.203.{octet}.0/24" for octet in range(73, 120))

_REPOSITORY_OFFSET = 5
_SWITCH_OFFSET = 6
_FIRST_NODE_OFFSET = 11


@dataclass(frozen=True)
class Cards:
    """The simulated cards of every node."""

    generation: str
    count: int


@dataclass(frozen=True)
class NodePlan:
    """A container that plays a server."""

    name: str
    address: str
    container: str


@dataclass(frozen=True)
class ClusterPlan:
    """One sandbox: its network, its nodes, its package repository."""

    name: str
    subnet: str
    nodes: tuple[NodePlan, ...]
    cards: Cards
    memory: str

    @property
    def network(self) -> str:
        """The podman network's name."""
        return f"{self.name}-sandbox"

    @property
    def repository_container(self) -> str:
        """The container that serves the packages."""
        return f"{self.name}-repository"

    @property
    def repository_address(self) -> str:
        """The package repository's fixed address."""
        return address_in(self.subnet, _REPOSITORY_OFFSET)

    @property
    def switch(self) -> NodePlan:
        """The container at the other ends of the cards' cables, once `sandbox fabric` has made it."""
        return NodePlan("switch1", address_in(self.subnet, _SWITCH_OFFSET), f"{self.name}-switch1")

    @property
    def hosts(self) -> tuple[tuple[str, str], ...]:
        """(name, address) of everything a node may want to resolve, also of nodes that a later ``up`` adds."""
        nodes = tuple((f"node{number}", node_address(self.subnet, number)) for number in range(1, MOST_NODES + 1))
        return (*nodes, ("repository", self.repository_address), (REPOSITORY_HOST, self.repository_address))


def plan(name: str, subnet: str, nodes: int, cards: Cards, memory: str = DEFAULT_MEMORY) -> ClusterPlan:
    """The sandbox ``name`` with ``nodes`` nodes; refuses what cannot be made."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,30}", name):
        raise SandboxError(f"--name {name!r}: use up to 31 lower-case letters, digits and dashes.")
    if not 1 <= nodes <= MOST_NODES:
        raise SandboxError(f"--nodes {nodes}: a sandbox has 1 to {MOST_NODES} nodes.")
    if not 1 <= cards.count <= MOST_CARDS:
        raise SandboxError(f"--cards {cards.count}: a node has 1 to {MOST_CARDS} cards.")
    members = tuple(
        NodePlan(f"node{number}", node_address(subnet, number), f"{name}-node{number}")
        for number in range(1, nodes + 1)
    )
    return ClusterPlan(name, subnet, members, cards, memory)


def choose_subnet(name: str, taken: Iterable[str]) -> str:
    """The network of a sandbox that does not exist yet; ``taken`` are the subnets that podman uses already."""
    used = [ipaddress.ip_network(subnet) for subnet in taken]
    candidates = (SUBNETS[name],) if name in SUBNETS else FREE_SUBNETS
    for candidate in candidates:
        if not any(ipaddress.ip_network(candidate).overlaps(other) for other in used):
            return candidate
    raise SandboxError(
        f"No free network for the sandbox {name}: {', '.join(candidates[:2])} are in use;"
        " see `podman network ls`, and remove one with `podman network rm NAME`."
    )


def node_address(subnet: str, number: int) -> str:
    """The address of node ``number`` (from 1)."""
    return address_in(subnet, _FIRST_NODE_OFFSET + number - 1)


def address_in(subnet: str, offset: int) -> str:
    """The address at ``offset`` in ``subnet``."""
    return str(ipaddress.ip_network(subnet)[offset])
