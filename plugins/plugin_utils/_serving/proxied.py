# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""The instances of many nodes as a proxy gets them, from what their tasks have registered; pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

FIELDS = ("name", "url", "served_name", "max_num_seqs", "max_model_len", "certificate", "admitted")


def proxied(
    nodes: Sequence[str], registered: str, hostvars: Mapping[str, Mapping[str, Any]]
) -> tuple[list[dict[str, Any]], list[str]]:
    """The rows of the nodes that have said something, and the other nodes, whose instances stay as they are."""
    rows: list[dict[str, Any]] = []
    silent = []
    for node in nodes:
        said = hostvars[node].get(registered) if node in hostvars else None
        instances = said.get("instances") if isinstance(said, Mapping) and not said.get("failed") else None
        if not isinstance(instances, Sequence):
            silent.append(node)
            continue
        address = str(hostvars[node].get("ansible_host") or node)
        rows += [_row(node, address, one) for one in instances]
    return rows, silent


def _row(node: str, address: str, one: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "node": node,
        **{name: one[name] for name in FIELDS if name in one},
        "url": _reached(str(one["url"]), address),
    }


def _reached(url: str, address: str) -> str:
    """Where an instance that answers at all addresses of its node is met."""
    parts = urlsplit(url)
    try:
        is_all = ipaddress.ip_address(parts.hostname or "").is_unspecified
    except ValueError:
        is_all = False
    if not is_all:
        return url
    host = f"[{address}]" if ":" in address else address
    return f"{parts.scheme}://{host}:{parts.port}"
