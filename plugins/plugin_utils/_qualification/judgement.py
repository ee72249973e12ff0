# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What each stage's measurements mean for each node; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import TypeVar

from ansible_collections.gaudi3.scale.plugins.module_utils._qualification.results import (
    ACTIONS,
    FAILED,
    ISOLATE,
    PASSED,
    UNKNOWN,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_collectives import GroupResult
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualification.compute import Computed
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualification.network import bandwidth
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualification.self_test import Own
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualification.stages import Outcome
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualification.training import Trained

Name = TypeVar("Name", str, tuple[str, str])
BUSBW = "busbw_gb_per_s"
# Of two values nobody can say which is the odd one.
_FEWEST = 3
_UNITS = {"matmul_tflops": "TFLOPS of products", "copy_gb_per_s": "GB/s of copies"}


def slow(values: Mapping[Name, float], tolerance: float) -> dict[Name, float]:
    """Name -> the median of all, of those that are more than the part ``tolerance`` below it."""
    if len(values) < _FEWEST:
        return {}
    middle = median(values.values())
    return {name: middle for name, value in values.items() if value < middle * (1 - tolerance)}


def own_outcome(own: Own) -> Outcome:
    """Of what a node measured of itself: one test that failed fails it, and it has the gravest of their actions."""
    if own.why or own.is_running:
        return Outcome(UNKNOWN, (own.why or "its own part goes on; run the playbook again to see how it ended.",))
    tests = own.answer["tests"]
    failed = [test for test in tests if test["state"] == FAILED]
    unknown = [test for test in tests if test["state"] == UNKNOWN]
    reasons = tuple(f"{test['test']}: {reason}" for test in failed + unknown for reason in test["reasons"])
    remarks = tuple(f"{test['test']}: {remark}" for test in tests for remark in test["remarks"])
    remarks += tuple(f"{test} was left out: {why}." for test, why in own.answer["left_out"].items())
    if failed:
        actions = [test.get("action") for test in failed if test.get("action") in ACTIONS]
        return Outcome(FAILED, reasons, {}, min(actions, key=ACTIONS.index) if actions else ISOLATE, remarks)
    if unknown or not tests:
        return Outcome(UNKNOWN, reasons or ("nothing was measured of it.",), remarks=remarks)
    return Outcome(PASSED, remarks=remarks)


def compute_outcomes(
    computed: Mapping[str, Computed], group_of: Mapping[str, str], tolerance: float
) -> dict[str, Outcome]:
    """Of products and copies on each card: wrong ones, and those that are slower than the cards of their generation."""
    late = _slow_cards(computed, group_of, tolerance)
    found = {}
    for node, one in computed.items():
        if one.absent:
            found[node] = Outcome(UNKNOWN, (f"its ranks did not start: {one.why}",))
        elif one.why:
            # A rank that computes wrongly says which card it has.
            found[node] = Outcome(FAILED, (f"on its cards {one.why}",), action=ISOLATE)
        else:
            said = late.get(node, ())
            found[node] = Outcome(FAILED, said, action=ISOLATE) if said else Outcome(PASSED)
    return found


def _slow_cards(
    computed: Mapping[str, Computed], group_of: Mapping[str, str], tolerance: float
) -> dict[str, tuple[str, ...]]:
    """Node -> a sentence for each of its cards that is slower than those of all nodes of its group."""
    rates: dict[tuple[str, str], dict[tuple[str, str], float]] = {}
    for node, one in computed.items():
        for card, figures in one.cards.items():
            for name, value in figures.items():
                rates.setdefault((group_of.get(node, ""), name), {})[node, card] = value
    sentences: dict[str, tuple[str, ...]] = {}
    for (_group, name), values in rates.items():
        for (node, card), middle in slow(values, tolerance).items():
            said = f"the card of {card} has {values[node, card]:.3g} {_UNITS[name]}, and the median is {middle:.3g}."
            sentences[node] = (*sentences.get(node, ()), said)
    return sentences


def collectives_outcomes(
    results: Mapping[str, GroupResult], group_of: Mapping[str, str], tolerance: float
) -> dict[str, Outcome]:
    """Of an all-reduce over each node's own cards; nodes of one generation are held against each other."""
    rates = {node: rate for node, result in results.items() if (rate := bandwidth(result)) is not None}
    late: dict[str, float] = {}
    for group in {group_of.get(node, "") for node in rates}:
        late |= slow({node: rate for node, rate in rates.items() if group_of.get(node, "") == group}, tolerance)
    found = {}
    for node, result in results.items():
        figures = {BUSBW: rates[node]} if node in rates else {}
        if result.absent:
            found[node] = Outcome(UNKNOWN, (f"its ranks did not start: {result.why}",))
        elif node not in rates:
            found[node] = Outcome(FAILED, (f"the all-reduce over its own cards: {result.why}",), action=ISOLATE)
        elif node in late:
            said = f"the all-reduce over its own cards has {rates[node]:.3g} GB/s, and the median is {late[node]:.3g}."
            found[node] = Outcome(FAILED, (said,), figures, ISOLATE)
        else:
            found[node] = Outcome(PASSED, (), figures)
    return found


def training_outcomes(nodes: Sequence[str], trained: Trained) -> dict[str, Outcome]:
    """Of the short training: the node whose rank failed is blamed; where none did, nobody is."""
    if not trained.why:
        return {node: Outcome(PASSED, (), trained.figures if node == nodes[0] else {}) for node in nodes}
    blamed = trained.failed if len(trained.failed) < len(nodes) else ()
    said = f"the short training over {len(nodes)} nodes: {trained.why}"
    return {
        node: Outcome(FAILED, (said,), action=ISOLATE) if node in blamed else Outcome(UNKNOWN, (said,))
        for node in nodes
    }
