# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What stands below a page's title: which cluster, for which release, how many nodes, and when; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import PurePath
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._node.screen_text import one_line
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.table import NEWEST

# What AWX and its forerunner tell a job of its inventory, which lies in a directory without a name of its own.
_OF_AWX = ("awx_inventory_name", "tower_inventory_name")
_FILES, _SAYS_NOTHING = (".yml", ".yaml", ".ini", ".json", ".py", ".sh"), ("hosts", "inventory", "inventories")
SEPARATOR = " · "
_MOST_STATES, _LONGEST = 5, 60


def page_head(cluster: str, releases: Collection[str], states: Mapping[str, str], good: Collection[str]) -> str:
    """``Cluster my_cluster · release 1.24.1 · 16 nodes: 14 ok; 2 failed``; what is not known is left out."""
    release = f"release {' and '.join(releases)}" if releases else ""
    named = f"cluster {one_line(cluster, _LONGEST)}" if cluster else ""
    text = SEPARATOR.join(filter(None, [named, release, _counts(states, good)]))
    return text[:1].upper() + text[1:]


def cluster_name(variables: Mapping[str, Any]) -> str:
    """The inventory's name in AWX, else that of its first file or directory; nothing for a list of hosts."""
    known = next((str(variables[name]) for name in _OF_AWX if variables.get(name)), "")
    sources = [str(one) for one in variables.get("ansible_inventory_sources") or () if "," not in str(one)]
    return known or next(filter(None, map(_name_of, sources)), "")


def _name_of(source: str) -> str:
    path = PurePath(source)
    names = (path.stem if path.suffix in _FILES else path.name, path.parent.name)
    return next((name for name in names if name not in _SAYS_NOTHING), "")


def releases_of(hosts: Iterable[Mapping[str, Any]]) -> list[str]:
    """What the hosts want, each once; where no inventory says it, what the roles install."""
    return sorted({str(host.get("gaudi_release") or NEWEST) for host in hosts})


def _counts(states: Mapping[str, str], good: Collection[str]) -> str:
    """Nodes in all, and how many are in which state: those that are well first, then the most."""
    if not states:
        return ""
    found = Counter(states.values()).most_common()
    ordered = sorted(found, key=lambda one: one[0] not in good)
    more = len(ordered) - _MOST_STATES
    told = [f"{count} {one_line(state, _LONGEST).replace('_', ' ')}" for state, count in ordered[:_MOST_STATES]]
    rest = [f"{sum(count for _state, count in ordered[_MOST_STATES:])} in other states"] if more > 0 else []
    counted = f"{len(states)} {'node' if len(states) == 1 else 'nodes'}"
    return f"{counted}: {'; '.join(told + rest)}" if any(states.values()) else counted
