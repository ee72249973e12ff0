# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What ip(8) says of a node's interfaces: their addresses, and the one of the default route."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._node.commands import Run
from .._node.json_file import parse_json


def ipv4_addresses(run: Run) -> dict[str, list[str]]:
    """Interface -> its addresses of IPv4 with their prefix; empty where they cannot be read."""
    done = run(["ip", "-json", "-4", "address", "show"])
    try:
        links = parse_json(done.stdout) if done.rc == 0 and done.stdout.strip() else []
    except ValueError:
        return {}
    return {str(link.get("ifname")): _of(link.get("addr_info")) for link in _mappings(links)}


def management_interface(run: Run) -> str | None:
    """The interface of the default route, which the ranks find each other over; None where there is no route."""
    for family in ("-4", "-6"):
        done = run(["ip", "-json", family, "route", "show", "default"])
        routes = parse_json(done.stdout) if done.rc == 0 and done.stdout.strip() else []
        if routes:
            return str(min(routes, key=lambda route: route.get("metric", 0))["dev"])
    return None


def _of(listed: object) -> list[str]:
    return [f"{one.get('local')}/{one.get('prefixlen')}" for one in _mappings(listed)]


def _mappings(listed: object) -> Sequence[Mapping[str, Any]]:
    return [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
