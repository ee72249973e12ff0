# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Why nodes have what they have, each reason once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def node_reasons(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Each reason once, after the names of all nodes that have it: 64 nodes often fail by the same."""
    nodes: dict[str, list[str]] = {}
    for row in rows:
        if row["reason"]:
            nodes.setdefault(str(row["reason"]).removeprefix(f"{row['node']}: "), []).append(str(row["node"]))
    return [f"{', '.join(dict.fromkeys(names))}: {reason}" for reason, names in nodes.items()]
