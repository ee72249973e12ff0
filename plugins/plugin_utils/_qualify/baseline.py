# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The site's own figures, kept from a qualification, and what a later one has lost against them; pure.

A figure is known by its place: ``node node1 busbw_gb_per_s``, ``card node1 0000:19:00.0 matmul_tflops``,
``pair node1 node2 busbw_gb_per_s``. All are better the larger they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import rounded
from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.results import HEALTHY
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import (
    RefusedError,
    by_name,
    number,
    record,
    several,
    word,
)

_MOST_FIGURES = 2_000_000
# What has to be the same for two figures to be comparable.
SAME = ("release", "device", "processes_per_node")
# Of a figure: the rest of a job's figures are no rates.
_RATES = ("_per_s", "_tflops", "_per_second")
BASELINE = record(
    {
        "time": word,
        "nodes": several(word),
        "figures": by_name(number, _MOST_FIGURES),
        **dict.fromkeys(SAME, lambda value, _field: value),
    }
)


def figures_of(data: Mapping[str, Any]) -> dict[str, float]:
    """Every rate of a qualification's ``data`` by its place, of healthy nodes alone."""
    nodes = {name: node for name, node in data["nodes"].items() if node["state"] == HEALTHY}
    found = {
        f"node {name} {figure}": value
        for name, node in nodes.items()
        for stage in node["stages"].values()
        for figure, value in stage["figures"].items()
    }
    found |= {
        f"card {name} {card} {figure}": value
        for name, node in nodes.items()
        for card, figures in node["cards"].items()
        for figure, value in figures.items()
    }
    found |= {
        f"pair {' '.join(pair['nodes'])} busbw_gb_per_s": pair["busbw_gb_per_s"]
        for pair in data["pairs"]
        if pair["busbw_gb_per_s"] is not None and nodes.keys() >= set(pair["nodes"])
    }
    return {place: float(value) for place, value in found.items() if place.endswith(_RATES)}


def baseline_of(report: Any, path: str) -> dict[str, Any]:
    """What is kept of the JSON that ``qualify_nodes.yml`` wrote; raises GaudiError for another file."""
    data = report.get("data") if isinstance(report, Mapping) else None
    try:
        figures, kept = figures_of(data or {}), {name: (data or {})[name] for name in ("time", *SAME)}
        nodes = [name for name, node in (data or {})["nodes"].items() if node["state"] == HEALTHY]
    except (KeyError, TypeError, AttributeError) as error:
        raise GaudiError(
            f"{path} is not a report of qualify_nodes.yml; name one, or run that playbook first."
        ) from error
    if not figures:
        raise GaudiError(
            f"{path} has no figure of a healthy node; qualify the nodes first, and repair what it reports."
        )
    return {**kept, "nodes": nodes, "figures": figures}


def taken_baseline(document: Any, path: str) -> dict[str, Any]:
    """The baseline in a file; raises GaudiError where it is none."""
    try:
        found: dict[str, Any] = BASELINE(document, "")
    except RefusedError as error:
        raise GaudiError(f"{path} is not a baseline: {error}; save one with save_baseline.yml.") from error
    return found


def regressions(data: Mapping[str, Any], baseline: Mapping[str, Any], most: float) -> dict[str, list[str]]:
    """Node -> a sentence for each figure that is more than the part ``most`` below the baseline's."""
    found: dict[str, list[str]] = {}
    for place, now in figures_of(data).items():
        before = baseline["figures"].get(place)
        if before and now < before * (1 - most):
            kind, *subject, figure = place.split(" ")
            sentence = (
                f"{kind} {' '.join(subject)}: {figure} is {rounded(now)}, {1 - now / before:.0%} below the "
                f"{rounded(before)} of the baseline of {baseline['time']}"
            )
            for node in subject if kind == "pair" else subject[:1]:
                found.setdefault(node, []).append(sentence)
    return found
