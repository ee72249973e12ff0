# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Whether an upgrade goes on with the nodes whose turn has not come; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ansible_collections.gaudi3.scale.plugins.plugin_utils._upgrade.node_outcome import GOOD


def sick(hosts: Sequence[str], states: Mapping[str, str]) -> list[str]:
    """Those of ``hosts`` whose turn has come (``states`` has them) and that are not at the release."""
    return [host for host in hosts if states.get(host, GOOD[0]) not in GOOD]


def tolerated(nodes: int, max_fail_percentage: float | None = None) -> int:
    """How many of ``nodes`` may be sick: without a limit of the operator's a tenth, and always one."""
    return max(1, nodes // 10) if max_fail_percentage is None else int(nodes * max_fail_percentage / 100)


def stops(
    hosts: Sequence[str], states: Mapping[str, str], canary: str = "", max_fail_percentage: float | None = None
) -> bool:
    """Whether the nodes whose turn has not come are left alone: the canary is sick, or too many are.

    The canary is the first host where none is named.
    """
    found = sick(hosts, states)
    return (canary or hosts[0]) in found or len(found) > tolerated(len(hosts), max_fail_percentage)
