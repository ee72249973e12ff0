# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Over which networks two nodes could speak: what a measurement may compare. Pure.

What is told of the cards' library is that of HCL 1.21 (setScaleoutMode, hl_ofi.cpp): the cards' own ports come first,
and libfabric is asked for verbs before TCP.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .ofi_wrapper import VENDOR_LIBRARIES, WRAPPER
from .provider import EFA, ETHERNET, GAUDI_ETHERNET, USES_EFA, VERBS
from .sysfs import HostNic, Network

CARDS = "hpu"


class Usable(NamedTuple):
    """Whether a measurement can be made over ``provider``, and why it cannot; ``interface`` is that of a host's card,
    for sockets, and empty where the cards' library finds its way by itself."""

    provider: str
    usable: bool
    interface: str = ""
    reason: str = ""


class Sight(NamedTuple):
    """What of a node matters here. ``addresses``: interface -> its addresses. ``wrapper``: whether HCCL's wrapper of
    libfabric is there. ``management``: the interface of the default route."""

    network: Network
    addresses: Mapping[str, Sequence[str]]
    wrapper: bool
    management: str | None


def usable_networks(sight: Sight, device: str) -> list[Usable]:
    """All of :data:`provider.PROVIDERS`, in their order, for ranks on ``device``."""
    cards = device == CARDS
    ports = _over_ports(sight.network) if cards else Usable(GAUDI_ETHERNET, False, reason=_ONLY_CARDS)
    hosts = [_over_nic(sight, kind, cards) for kind in (*VERBS, EFA)]
    return [ports, *hosts, _over_tcp(sight, cards)]


def _over_ports(network: Network) -> Usable:
    if any(port.link for port in network.ports):
        return Usable(GAUDI_ETHERNET, True)
    return Usable(GAUDI_ETHERNET, False, reason="none of the cards' external ports has a link")


def _over_nic(sight: Sight, kind: str, cards: bool) -> Usable:
    nic = next((nic for nic in sight.network.nics if nic.kind == kind and nic.link), None)
    if nic is None:
        return Usable(kind, False, reason="the host has no such card with a link")
    if not cards:
        interface = next((name for name in nic.interfaces if sight.addresses.get(name)), "")
        return Usable(
            kind, bool(interface), interface, "" if interface else f"no interface of {nic.device} has an address"
        )
    if kind == EFA and sight.network.generation not in USES_EFA:
        return Usable(kind, False, reason="there is no evidence that the library of these cards uses EFA")
    return Usable(kind, True) if sight.wrapper else Usable(kind, False, reason=_NO_WRAPPER)


def _over_tcp(sight: Sight, cards: bool) -> Usable:
    if not sight.management:
        return Usable(ETHERNET, False, reason="the node has no default route")
    if not cards:
        return Usable(ETHERNET, True, sight.management)
    if not sight.wrapper:
        return Usable(ETHERNET, False, reason=_NO_WRAPPER)
    before = _before_tcp(sight.network.nics)
    return Usable(ETHERNET, False, reason=f"HCCL takes {before.device} before it") if before else Usable(ETHERNET, True)


def _before_tcp(nics: Sequence[HostNic]) -> HostNic | None:
    return next((nic for nic in nics if nic.kind in VERBS and nic.link), None)


_ONLY_CARDS = "only cards send over it"
_NO_WRAPPER = f"HCCL's {WRAPPER} is not in /{VENDOR_LIBRARIES}"
