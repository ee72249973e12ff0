# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""Nodes that another program has recorded, in the same order at each run; pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.certificate_names import is_address, is_number

# Instance type -> generation of the cards. By the clouds' own documents: docs/clouds.md.
TYPES = {"dl1.24xlarge": "gaudi", "gx3d-160x1792x8gaudi3": "gaudi3"}
# Looks like one of them by its name, and has other cards.
_OTHERS = {"dl2q": "Qualcomm"}
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,250}[A-Za-z0-9])?")


@dataclass(frozen=True)
class Node:
    """A server with Gaudi cards. ``generation`` is empty if the record does not state it."""

    name: str
    address: str
    generation: str = ""


def generation_of(instance_type: str, name: str) -> str:
    """That of the type's cards, empty for one without Gaudi; raises GaudiError for one that is taken for it."""
    for prefix, maker in _OTHERS.items():
        if instance_type.startswith(prefix):
            raise GaudiError(
                f"{name} is a {instance_type}, which has {maker} cards and no Gaudi; leave it out of this source."
            )
    return TYPES.get(instance_type, "")


def is_host_name(text: str) -> bool:
    """Whether a host may be called so."""
    return _NAME.fullmatch(text) is not None


def is_reachable(text: str) -> bool:
    """Whether it is an address, or a name that can be a word of ssh's, where -oProxyCommand= would be an option, and is
    no number for an address."""
    return is_address(text) or (is_host_name(text) and not is_number(text))


def in_order(nodes: Iterable[Node], path: str) -> list[Node]:
    """Sorted by name, numbers by their value: a cloud lists its servers in a different order each time, and ranks
    follow the inventory's. Raises GaudiError for what cannot be an inventory.
    """
    found: dict[str, Node] = {}
    for node in nodes:
        if not is_host_name(node.name):
            raise GaudiError(
                f"{path}: {node.name!r} is not a valid host name; use letters, digits, dots and hyphens only."
            )
        if not node.address:
            raise GaudiError(
                f"{path}: {node.name} has no address; start it, or choose another one by the option address."
            )
        if not is_reachable(node.address):
            raise GaudiError(
                f"{path}: {node.name} has the address {node.address!r:.80}, which is neither a host name nor an "
                "address; correct it there."
            )
        if node.name in found:
            raise GaudiError(f"{path}: two servers are called {node.name}; give each a unique name.")
        found[node.name] = node
    if not found:
        raise GaudiError(
            f"{path} has no server with Gaudi cards; known are {', '.join(TYPES)}, and machines with the tag."
        )
    return sorted(found.values(), key=lambda node: _natural(node.name))


def _natural(name: str) -> list[tuple[int, int, str]]:
    return [(1, int(part), "") if part.isdecimal() else (0, 0, part) for part in re.split(r"(\d+)", name) if part]


def records(document: Any, path: str) -> Iterator[Mapping[str, Any]]:
    """Each of a list of records; raises GaudiError where it is none."""
    if not isinstance(document, list) or not all(isinstance(one, dict) for one in document):
        raise GaudiError(f"{path} is not a list of records; create it with the command in docs/clouds.md.")
    yield from document


def text_at(record: Any, *way: str | int) -> str:
    """The text at the end of the way, empty where a step of it is not there."""
    for step in way:
        if isinstance(step, str) and isinstance(record, dict):
            record = record.get(step)
        elif isinstance(step, int) and isinstance(record, list) and len(record) > step:
            record = record[step]
        else:
            return ""
    return record if isinstance(record, str) else ""
