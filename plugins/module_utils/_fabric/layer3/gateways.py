# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Who answers at the other end of a port: the kernel's neighbor table is asked, and nothing is guessed."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ..._node.commands import Run
from ..._node.json_file import parse_json
from .networkd import RoutedPort

_TIMEOUT_S = 10.0
_AT_ONCE = 8


def gateway_macs(ports: Sequence[RoutedPort], run: Run) -> dict[str, str | None]:
    """By interface, what :func:`gateway_mac` finds; all at once, since who is silent costs seconds."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = pool.map(lambda port: gateway_mac(port, run) if port.link else None, ports)
        return {port.interface: mac for port, mac in zip(ports, found)}


def gateway_mac(port: RoutedPort, run: Run) -> str | None:
    """The MAC address that answers for the switch's address on this port; None where nobody does.

    A switch may answer no ping and yet say who it is. What the table has then may be from before, also where it is
    called reachable, which lasts for half a minute; so it is taken out and asked again.
    """
    if _ping(port, run):
        return known_mac(port, run)
    run(["ip", "neigh", "flush", "to", port.planned.switch, "dev", port.interface], timeout=_TIMEOUT_S)
    _ping(port, run)
    return known_mac(port, run)


def known_mac(port: RoutedPort, run: Run) -> str | None:
    """What the table has now; asks nobody."""
    done = run(["ip", "-json", "neigh", "show", "to", port.planned.switch, "dev", port.interface], timeout=_TIMEOUT_S)
    found = (one.get("lladdr") for one in _listed(done.stdout)) if done.rc == 0 else ()
    return next((mac.lower() for mac in found if isinstance(mac, str)), None)


def _ping(port: RoutedPort, run: Run) -> bool:
    command = ["ping", "-c", "1", "-W", "1", "-n", "-q", "-I", port.interface, port.planned.switch]
    return run(command, timeout=_TIMEOUT_S).rc == 0


def _listed(text: str) -> list[dict[str, Any]]:
    try:
        listed = parse_json(text) if text.strip() else []
    except ValueError:
        return []
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
