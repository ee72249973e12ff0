# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Whether a service may listen where it is asked to: nothing is open to everyone by accident."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from .._errors import GaudiError


def check_listening(address: str, all_interfaces: bool, readers: Sequence[str], otherwise: str) -> None:
    """GaudiError for an address that is none, one of all networks without saying so, and one without readers.

    ``readers`` are certificates in PEM; ``otherwise`` is whose certificate would be meant.
    """
    try:
        place = ipaddress.ip_address(address)
    except ValueError:
        raise GaudiError(f"address is {address!r:.80}, which is not an address; give one of this machine's.") from None
    if place.is_unspecified and not all_interfaces:
        raise GaudiError(
            f"address is {address}, which is every network of this machine; give one address, or set all_interfaces."
        )
    if not place.is_loopback and not readers:
        raise GaudiError(
            f"readers is empty, so everyone who reaches {address} could read it; give the certificate of "
            f"{otherwise}, or 127.0.0.1 as address."
        )
    for reader in readers:
        if "-----BEGIN CERTIFICATE-----" not in reader or "PRIVATE KEY" in reader:
            raise GaudiError(
                "readers has an entry that is not a PEM certificate; give certificates only, without keys."
            )


def check_port(name: str, port: int) -> None:
    """GaudiError for the option ``name`` where it is no port."""
    if not 1 <= port <= 65535:
        raise GaudiError(f"{name} is {port}, which is not a port; give one from 1 to 65535.")


def place_of(address: str, port: int) -> str:
    """As programs take it: brackets around an address of version 6."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
