# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The network interface by which this node reaches the first node of a job."""

from __future__ import annotations

import socket

from .._errors import GaudiError
from .._node.commands import Run
from .._node.json_file import parse_json


def address_towards(rendezvous_address: str, port: int) -> str:
    """This node's own address on the way to ``rendezvous_address``; raises GaudiError where that does not resolve."""
    try:
        family, kind, protocol, _name, target = socket.getaddrinfo(rendezvous_address, port, type=socket.SOCK_DGRAM)[0]
        # Connecting a datagram socket sends nothing; it asks the kernel for the route.
        with socket.socket(family, kind, protocol) as probe:
            probe.connect(target)
            return str(probe.getsockname()[0])
    except OSError as error:
        raise GaudiError(
            f"rendezvous_address {rendezvous_address} cannot be reached from this node: {error.strerror or error}; "
            "give the address by which all nodes reach the first host."
        ) from error


def interface_with(address: str, run: Run) -> str | None:
    """The interface that holds ``address``, or None where iproute2 does not know it."""
    done = run(["ip", "-json", "address", "show"])
    if done.rc != 0:
        return None
    for interface in parse_json(done.stdout or "[]"):
        if any(entry.get("local") == address for entry in interface.get("addr_info", [])):
            return str(interface["ifname"])
    return None


def port_is_free(port: int, *, datagrams: bool = False) -> bool:
    """Whether a server could listen on ``port`` of this node now: of TCP, or of UDP."""
    kind = socket.SOCK_DGRAM if datagrams else socket.SOCK_STREAM
    with socket.socket(socket.AF_INET, kind) as server:
        if not datagrams:
            # For TCP this passes over connections that ended a moment ago; for UDP it would share the port.
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            server.bind(("", port))
        except OSError:
            return False
        return True
