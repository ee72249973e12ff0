# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""In which order the firmware of many nodes is written: one node first, then never two nodes of a rack at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

RACK = "gaudi_rack"
# A pattern of Ansible that no host matches.
NOBODY = ["!all"]


def play_of_rounds(
    hosts: Sequence[str],
    shown: Mapping[str, Mapping[str, Any]],
    hostvars: Mapping[str, Mapping[str, Any]],
    canary: str = "",
) -> dict[str, Any]:
    """The ``rounds`` of those of ``hosts`` with something to do, and ``hosts`` and ``sizes`` as a play has them."""
    rounds = firmware_rounds(with_work(hosts, shown), hostvars, canary)
    return {
        "rounds": rounds,
        "hosts": [host for names in rounds for host in names] or NOBODY,
        "sizes": [len(names) for names in rounds] or [1],
    }


def firmware_rounds(
    hosts: Sequence[str], hostvars: Mapping[str, Mapping[str, Any]], canary: str = ""
) -> list[list[str]]:
    """``hosts`` in rounds of at most one host of each rack (variable ``gaudi_rack``; without it all are in one rack).

    The first round is one host alone: the ``canary``, or the first host where that is not among them (it has nothing
    to be tried on). Each further round takes the next host of every rack, racks in the order in which they come up.
    """
    if not hosts:
        return []
    first = canary if canary in hosts else hosts[0]
    racks: dict[str, list[str]] = {}
    for host in hosts:
        if host != first:
            racks.setdefault(rack_of(hostvars[host]), []).append(host)
    longest = max((len(names) for names in racks.values()), default=0)
    rounds = [[names[turn] for names in racks.values() if turn < len(names)] for turn in range(longest)]
    return [[first], *rounds]


def rack_of(host: Mapping[str, Any]) -> str:
    """The rack of a host's variables, empty for the one rack of all that name none."""
    rack = host.get(RACK)
    return "" if rack is None else str(rack).strip()


def with_work(hosts: Sequence[str], shown: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Those of ``hosts`` that have something to do, by what the module ``hpu_firmware`` has shown of each.

    Only they are in a round, so that the first round is one that really writes.
    """
    return [host for host in hosts if shown.get(host, {}).get("outstanding")]
