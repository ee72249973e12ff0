# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What each stage's measurements mean for each node; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any, TypeVar

from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import rounded
from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.plan import SPARE_SECONDS
from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.results import (
    ACTIONS,
    AGAIN,
    FAILED,
    ISOLATE,
    PASSED,
    UNKNOWN,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_collectives import GroupResult
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_limit import QUICK, Measured, evidence
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.compute import Computed
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.network import bandwidth
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.self_test import Own
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.stages import Outcome
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.training import Trained

Name = TypeVar("Name", str, tuple[str, str])
BUSBW = "busbw_gb_per_s"
# Of two values nobody can say which is the odd one.
_FEWEST = 3
_GOES_ON = "its self-test continues; run the playbook again to read the result."
_UNITS = {"matmul_tflops": "TFLOPS of products", "copy_gb_per_s": "GB/s of copies"}


def slow(values: Mapping[Name, float], tolerance: float) -> dict[Name, float]:
    """Name -> the median of all, of those that are more than the part ``tolerance`` below it."""
    if len(values) < _FEWEST:
        return {}
    middle = median(values.values())
    return {name: middle for name, value in values.items() if value < middle * (1 - tolerance)}


def own_outcome(own: Own) -> Outcome:
    """Of what a node measured of itself: one test that failed fails it, and it has the gravest of their actions."""
    if own.is_running:
        return Outcome(UNKNOWN, (_GOES_ON,), action=AGAIN)
    if own.why:
        return Outcome(UNKNOWN, (own.why,))
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
        again = AGAIN if any(test.get("limit") for test in unknown) else ""
        return Outcome(UNKNOWN, reasons or ("nothing was measured on it.",), action=again, remarks=remarks)
    return Outcome(PASSED, remarks=remarks)


def own_outcomes(owns: Mapping[str, Own]) -> dict[str, Outcome]:
    """Of all nodes. A test that had not ended on one, and did on more than half of the others as it does, fails it."""
    tests: dict[str, list[Mapping[str, Any]]] = {}
    for own in owns.values():
        for test in own.answer.get("tests", ()):
            tests.setdefault(test["test"], []).append(test)
    return {node: own_outcome(_compared(own, tests)) for node, own in owns.items()}


def _compared(own: Own, every: Mapping[str, Sequence[Mapping[str, Any]]]) -> Own:
    if own.why or own.is_running:
        return own
    tests = [_beside(test, every[test["test"]]) for test in own.answer["tests"]]
    return replace(own, answer={**own.answer, "tests": tests})


def _beside(test: Mapping[str, Any], same: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The limit of a test of hl_qual is the time that it takes, and what is spare: whoever needed little of that has
    shown that it is enough. Of others all is spare."""
    limit = float(test.get("limit") or 0)
    if test["state"] != UNKNOWN or not limit:
        return test
    enough = limit - (1 - QUICK) * min(limit, SPARE_SECONDS)
    quick = [one["seconds"] for one in same if one["state"] == PASSED and one["seconds"] <= enough]
    if 2 * len(quick) <= len(same):
        return test
    said = f"on {len(quick)} of {len(same)} nodes it passed within {max(quick):.0f} s."
    return {**test, "state": FAILED, "reasons": [*test["reasons"], said]}


def compute_outcomes(
    computed: Mapping[str, Computed], group_of: Mapping[str, str], tolerance: float
) -> dict[str, Outcome]:
    """Of products and copies on each card: wrong ones, and those that are slower than the cards of their generation."""
    slower = _slow_cards(computed, group_of, tolerance)
    hangs = _hanging({node: Measured((node,), one.seconds, one.late) for node, one in computed.items()})
    found = {}
    for node, one in computed.items():
        if one.absent:
            found[node] = Outcome(UNKNOWN, (f"its ranks did not start: {one.why}",))
        elif one.late and not one.wrong:
            found[node] = _of_late(f"on its cards {one.why}", hangs.get(node, ""))
        elif one.why:
            # A rank that computes wrongly says which card it has.
            found[node] = Outcome(FAILED, (f"on its cards {one.why}",), action=ISOLATE)
        else:
            said = slower.get(node, ())
            found[node] = Outcome(FAILED, said, action=ISOLATE) if said else Outcome(PASSED)
    return found


def _hanging(measured: Mapping[str, Measured]) -> dict[str, str]:
    """Node -> what the others did, of those whose time was over while that speaks against them."""
    seconds = [one.seconds for one in measured.values() if one.seconds is not None]
    told = f"{len(seconds)} of {len(measured)} nodes finished the same in at most {rounded(max(seconds, default=0))} s."
    return {node: told for node, speaks in zip(measured, evidence([*measured.values()])) if speaks}


def _of_late(why: str, others: str) -> Outcome:
    """By comparison alone it is a fault."""
    return Outcome(FAILED, (f"{why} {others}",), action=ISOLATE) if others else Outcome(UNKNOWN, (why,), action=AGAIN)


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
            has = f"{rounded(values[node, card])} {_UNITS[name]}"
            said = f"the card of {card} has {has}, and the median is {rounded(middle)}."
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
    hangs = _hanging({node: result.measured((node,)) for node, result in results.items()})
    found = {}
    for node, result in results.items():
        figures = {BUSBW: rates[node]} if node in rates else {}
        if result.absent:
            found[node] = Outcome(UNKNOWN, (f"its ranks did not start: {result.why}",))
        elif result.late:
            found[node] = _of_late(f"the all-reduce over its own cards: {result.why}", hangs.get(node, ""))
        elif node not in rates:
            found[node] = Outcome(FAILED, (f"the all-reduce over its own cards: {result.why}",), action=ISOLATE)
        elif node in late:
            middle = rounded(late[node])
            said = f"the all-reduce over its own cards has {rounded(rates[node])} GB/s, and the median is {middle}."
            found[node] = Outcome(FAILED, (said,), figures, ISOLATE)
        else:
            found[node] = Outcome(PASSED, (), figures)
    return found


def training_outcomes(nodes: Sequence[str], trained: Trained) -> dict[str, Outcome]:
    """Of the short training: the node whose rank failed is blamed; where none did, nobody is. There is no other one to
    hold its time against."""
    if not trained.why:
        return {node: Outcome(PASSED, (), trained.figures if node == nodes[0] else {}) for node in nodes}
    blamed = trained.failed if len(trained.failed) < len(nodes) else ()
    said = f"the short training over {len(nodes)} nodes: {trained.why}"
    again = AGAIN if trained.late else ""
    return {
        node: Outcome(FAILED, (said,), action=ISOLATE) if node in blamed else Outcome(UNKNOWN, (said,), action=again)
        for node in nodes
    }
