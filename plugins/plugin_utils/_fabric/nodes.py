# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The verdict of each node of a run: who is measured with whom, and why another is not."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ansible_collections.gaudi3.scale.plugins.plugin_utils._fabric.pairs import Looks, mixed
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fabric.rounds import Settings, measure
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fabric.verdict import (
    NOT_MEASURED,
    NOT_OK,
    NodeVerdict,
    verdict_of,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_questions import Ask

_NO_LIBRARY = "the training stack is not there yet; measure once venv.yml has run."
_ALONE = "there is no second node of this network to measure it with."
_CHECK = "it is not known, and in check mode nothing is measured."


def measured_nodes(
    looks: Looks,
    silent: Mapping[str, str],
    addresses: Mapping[str, str],
    settings: Settings,
    margin: float,
    ask: Ask | None,
    show: Callable[[str], None],
) -> dict[str, NodeVerdict]:
    """The verdict of each node. ``silent``: nodes without an answer, and why. Without ``ask`` only what is known."""
    apart = mixed(looks)
    found = {node: NodeVerdict(NOT_MEASURED, reason=reason) for node, reason in silent.items()}
    found |= {node: NodeVerdict(NOT_OK, str(looks[node]["provider"]), reason) for node, reason in apart.items()}
    without = [node for node in looks if node not in apart and not looks[node]["library"]]
    found |= {node: NodeVerdict(NOT_MEASURED, str(looks[node]["provider"]), _NO_LIBRARY) for node in without}
    able = {node: look for node, look in looks.items() if node not in found}
    for measured in measure(able, addresses, settings, ask, show):
        found |= {node: verdict_of(measured, node, looks, margin) for node in measured.pair.owners}
    why = _ALONE if ask else _CHECK
    left = {node: NodeVerdict(NOT_MEASURED, str(looks[node]["provider"]), why) for node in able if node not in found}
    return {**found, **left}
