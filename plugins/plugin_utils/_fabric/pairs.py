# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Which two nodes are measured together, and over which networks. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.provider import (
    AUTO,
    EFA,
    ETHERNET,
    GAUDI_ETHERNET,
    PROVIDERS,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.profiles import PLAIN_TCP, network_flags

# What each node's hpu_fabric_networks answered.
Looks = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Pair:
    """Two nodes in the order of their ranks. ``owners`` are those whose verdict it is: of an odd number of nodes the
    last one is measured with a node that has had its own measurement before."""

    nodes: tuple[str, str]
    owners: tuple[str, ...]


@dataclass(frozen=True)
class Candidate:
    """A network that a pair can be measured over. ``interfaces``: node -> interface for sockets; ``flags`` are those of
    its profile, with what it needs where the cards' own ports come first."""

    provider: str
    interfaces: Mapping[str, str]
    flags: Mapping[str, str]


def pairs_of(looks: Looks) -> list[Pair]:
    """Neighbors in the order of the list, among nodes of one network; nobody is paired who is alone in his."""
    found = []
    for provider in dict.fromkeys(str(look["provider"]) for look in looks.values()):
        nodes = [node for node, look in looks.items() if look["provider"] == provider]
        found += [Pair(pair, pair) for pair in zip(nodes[::2], nodes[1::2])]
        if len(nodes) > 1 and len(nodes) % 2:
            found.append(Pair((nodes[-1], nodes[0]), (nodes[-1],)))
    return found


def mixed(looks: Looks) -> dict[str, str]:
    """Node -> why it may not be in one job with the others: it found another network than most, by itself.

    Where the operator has said which one, groups may differ. Where there is no majority, all are named.
    """
    found = {node: str(look["provider"]) for node, look in looks.items() if look["requested"] == AUTO}
    nodes_of = {provider: [node for node in found if found[node] == provider] for provider in found.values()}
    if len(nodes_of) < 2:
        return {}
    (most, count), (_next, second) = Counter(found.values()).most_common(2)
    listed = "; ".join(f"{provider} on {', '.join(nodes)}" for provider, nodes in nodes_of.items())
    remedy = "repair the network of the minority, or set gaudi_fabric_provider for them in a separate group"
    return {
        node: f"its network is {provider} ({looks[node]['reason']}), and not all have the same one: {listed}; {remedy}."
        for node, provider in found.items()
        if provider != most or count == second
    }


def candidates_of(pair: Pair, looks: Looks) -> list[Candidate]:
    """The chosen network, and the next one that both can use, as far as either can be used."""
    chosen = str(looks[pair.nodes[0]]["provider"])
    usable = [provider for provider in PROVIDERS if all(_usable(looks[node], provider) for node in pair.nodes)]
    others = [provider for provider in usable if provider != chosen][:1]
    ports = any(_usable(looks[node], GAUDI_ETHERNET) for node in pair.nodes)
    return [
        Candidate(
            provider,
            {node: str(_network(looks[node], provider)["interface"]) for node in pair.nodes},
            {
                **network_flags(provider, instead=ports and provider != GAUDI_ETHERNET),
                # Both would be one and the same measurement: the library chooses between them by itself.
                **(PLAIN_TCP if provider == ETHERNET and EFA in usable else {}),
            },
        )
        for provider in ([chosen] if chosen in usable else []) + others
    ]


def why_not(pair: Pair, looks: Looks) -> str:
    """Why the chosen network cannot be measured; empty where it can."""
    for node in pair.nodes:
        network = _network(looks[node], str(looks[pair.nodes[0]]["provider"]))
        if not network["usable"]:
            return f"{network['provider']} cannot be measured on {node}: {network['reason']}."
    return ""


def _usable(look: Mapping[str, Any], provider: str) -> bool:
    return bool(_network(look, provider)["usable"])


def _network(look: Mapping[str, Any], provider: str) -> Mapping[str, Any]:
    """The node's word on a network; one of which it has none is none that it can use."""
    networks: Sequence[Mapping[str, Any]] = look["networks"]
    unknown = {"provider": provider, "usable": False, "interface": "", "reason": "it does not report it"}
    return next((one for one in networks if one["provider"] == provider), unknown)
