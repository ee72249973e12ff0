# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""With whom a job's unit may speak: the networks that an operator names have to hold the job's own nodes."""

from __future__ import annotations

import ipaddress
from typing import Iterable, Sequence

from .._errors import GaudiError
from .description import SLURM


def check_allowed(networks: Sequence[str], engine: str, addresses: Iterable[str]) -> None:
    """Refuse networks that would part the nodes of the job. Names are resolved on each node and not looked at here."""
    if networks and engine == SLURM:
        raise GaudiError(
            f"allowed_networks is for a unit of systemd, and {SLURM} starts the ranks itself; leave it out, or close "
            "the ports with the option firewall of hpu_host."
        )
    allowed = [ipaddress.ip_network(network) for network in networks]
    for address in addresses if networks else ():
        try:
            own = ipaddress.ip_address(address)
        except ValueError:
            continue
        if not own.is_loopback and not any(own in network for network in allowed):
            raise GaudiError(
                f"allowed_networks ({', '.join(networks)}) does not contain {address}, the address of a node of the "
                "job; name that node's network too."
            )
