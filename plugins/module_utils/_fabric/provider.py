# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Which network carries the traffic between nodes. A pure choice over what ``sysfs.py`` read."""

from __future__ import annotations

from typing import NamedTuple

from .._errors import GaudiError
from .sysfs import EFA as EFA_NIC
from .sysfs import Network

AUTO = "auto"
GAUDI_ETHERNET = "gaudi_ethernet"
INFINIBAND = "infiniband"
ROCE = "roce"
EFA = "efa"
ETHERNET = "ethernet"
PROVIDERS = (GAUDI_ETHERNET, INFINIBAND, ROCE, EFA, ETHERNET)
# Providers that are verbs devices of the host: what `sysfs.HostNic.kind` calls them too.
VERBS = (INFINIBAND, ROCE)


_EFA_REMARK = (
    "efa: no adapter of this host is active; check that the instance has interfaces of the type efa, and its driver, "
    "which gaudi_fabric_efa_version installs."
)
# There is no evidence that the libraries of Gaudi 2 and 3 use EFA: there it is never chosen, only asked for.
USES_EFA = (None, "gaudi")


class Choice(NamedTuple):
    """A provider and the sentence that says why."""

    provider: str
    reason: str


def check_provider(requested: str) -> None:
    """Raises GaudiError for what is neither a provider nor ``auto``."""
    if requested not in (AUTO, *PROVIDERS):
        raise GaudiError(f"provider={requested!r} is not known; use {AUTO}, {', '.join(PROVIDERS)}.")


def choose(network: Network, requested: str, interface: str | None) -> Choice:
    """The provider for this node; ``interface`` is the one that management traffic takes.

    The order is that of the vendor's library (HCL looks for the cards' own ports, then for a host network card).
    A RoCE card that carries the management traffic is taken for what it is used for.
    """
    if requested != AUTO:
        return Choice(requested, "it was asked for")
    with_link = [port for port in network.ports if port.link]
    if with_link:
        return Choice(
            GAUDI_ETHERNET, f"{len(with_link)} of {len(network.ports)} external ports of the cards have a link"
        )
    if network.expected_ports and not network.ports and not network.taken:
        return Choice(GAUDI_ETHERNET, "the cards have external ports; their state shows once the driver is loaded")
    for kind in VERBS:
        nic = next(
            (nic for nic in network.nics if nic.kind == kind and nic.link and interface not in nic.interfaces), None
        )
        if nic:
            return Choice(kind, f"{nic.device} has a link, and no external port of the cards has one")
    efa = next((nic for nic in network.nics if nic.kind == EFA_NIC), None)
    if efa and network.generation in USES_EFA:
        return Choice(EFA, f"{efa.device} is an Elastic Fabric Adapter, and no external port of the cards has a link")
    if network.ports:
        return Choice(
            GAUDI_ETHERNET, "the cards have external ports, though none has a link, and the host has no RDMA card"
        )
    if network.silent:
        return Choice(ETHERNET, "the loaded driver shows no external port of the cards and the host has no RDMA card")
    return Choice(ETHERNET, "the cards have no external ports and the host has no RDMA card")


def silent_ports(network: Network) -> list[str]:
    """A sentence where a loaded driver shows no port of cards that have some in hardware; where it may, no fault."""
    if not network.silent or network.ports:
        return []
    boards = " and ".join(network.silent)
    if not network.expected_ports:
        none = (
            f"gaudi_ethernet: the driver is loaded and these {boards} cards show no external port; they are built "
            "into servers without any, so the host's network carries what goes between nodes."
        )
        return [none]
    missed = (
        f"gaudi_ethernet: the driver is loaded and shows none of the {network.expected_ports} external ports that "
        f"{boards} cards have; see whether habanalabs_en is loaded, and dmesg."
    )
    return [missed]


def shortcomings(network: Network, provider: str) -> list[str]:
    """What blocks ``provider`` on this node, one sentence each."""
    if provider == GAUDI_ETHERNET:
        return _port_shortcomings(network)
    if provider == EFA:
        return [] if any(nic.kind == EFA_NIC and nic.link for nic in network.nics) else [_EFA_REMARK]
    if provider in VERBS and not any(nic.kind == provider and nic.link for nic in network.nics):
        what = "cable and subnet manager" if provider == INFINIBAND else "cable and switch"
        return [f"{provider}: no such card of this host has a link; check its driver, {what}."]
    return []


def _port_shortcomings(network: Network) -> list[str]:
    if not network.ports:
        return silent_ports(network)
    found = []
    if len(network.ports) < network.expected_ports:
        count = f"{len(network.ports)} of {network.expected_ports}"
        found.append(
            f"gaudi_ethernet: {count} external ports are there; look for missing cards with hl-smi and in dmesg."
        )
    without = [port for port in network.ports if not port.link]
    if without:
        names = ", ".join(f"{port.interface} (card {port.pci_address} port {port.number})" for port in without)
        found.append(f"gaudi_ethernet: no link on {names}; check cables and switch.")
    return found
