# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Who answers at the other end of a port: the kernel's neighbour table is asked, and nothing is guessed."""

from __future__ import annotations

from typing import Any

from .._node.commands import Run
from .._node.json_file import parse_json
from .networkd import RoutedPort

# What the kernel heard just now; the others may be of a switch that was there before.
_FRESH = ("REACHABLE", "PERMANENT")
_TIMEOUT_S = 10.0


def gateway_mac(port: RoutedPort, run: Run) -> str | None:
    """The MAC address that answers for the switch's address on this port; None where nobody does.

    A switch may answer no ping and yet say who it is. What the table had from before counts only where the ping comes
    back; else it is asked again.
    """
    if _ping(port, run) or _entry(port, run)[1]:
        return _entry(port, run)[0]
    run(["ip", "neigh", "flush", "to", port.planned.switch, "dev", port.interface], timeout=_TIMEOUT_S)
    _ping(port, run)
    return _entry(port, run)[0]


def known_mac(port: RoutedPort, run: Run) -> str | None:
    """What the table has now; asks nobody."""
    return _entry(port, run)[0]


def _ping(port: RoutedPort, run: Run) -> bool:
    command = ["ping", "-c", "1", "-W", "1", "-n", "-q", "-I", port.interface, port.planned.switch]
    return run(command, timeout=_TIMEOUT_S).rc == 0


def _entry(port: RoutedPort, run: Run) -> tuple[str | None, bool]:
    """The address in the table, and whether it was heard just now."""
    done = run(["ip", "-json", "neigh", "show", "to", port.planned.switch, "dev", port.interface], timeout=_TIMEOUT_S)
    for one in _listed(done.stdout) if done.rc == 0 else []:
        mac = one.get("lladdr")
        if isinstance(mac, str):
            return mac.lower(), bool(set(_FRESH) & set(one.get("state") or ()))
    return None, False


def _listed(text: str) -> list[dict[str, Any]]:
    try:
        listed = parse_json(text) if text.strip() else []
    except ValueError:
        return []
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
