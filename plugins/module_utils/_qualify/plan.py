# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Which tests a node runs, and what it is held against; pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .._cards.hardware import board_of
from .._cards.hlml_interface import MOST_REPLACED_ROWS
from .._cards.hpu_facts import HpuFacts
from .._errors import GaudiError
from .._releases.lookup import version_key
from .matrix import MATRIX, Test

# The first test: what verify.yml asks a node.
HOST = "host"
# What hl_qual may take beyond a test's own time: it loads its plugins and brings cards up and down.
SPARE_SECONDS = 180
# The order of runs in one unit; a plan of another version of this collection is made anew.
FORMAT = 2
# Of the boards on which all cards of a node are joined.
_WHOLE_NODE = 8
# How a test wants the driver, in a plan: with timeout_locked=0, or rather so.
UNLOCKED, RATHER_UNLOCKED = "unlocked", "rather_unlocked"


@dataclass(frozen=True)
class Options:
    """See the options of the module ``hpu_qualify``."""

    level: str
    release: str
    cards: int
    device: str
    venv: str
    flags: str = "/etc/gaudi3_scale/environment"
    excluded: Mapping[str, Any] = field(default_factory=dict)
    reload_driver: bool = False
    replaced_rows_limit: int = MOST_REPLACED_ROWS


def plan(options: Options, facts: HpuFacts) -> dict[str, Any]:
    """What the program runs, as JSON; raises GaudiError for a test that nobody knows."""
    _check_names(options.excluded)
    if len(facts.generations) > 1:
        raise GaudiError(
            f"This node has cards of {' and '.join(facts.generations)}, and no test and no job can use both; have the "
            "wrong ones replaced."
        )
    node = _node_of(facts)
    described: dict[str, Any] = {
        "format": FORMAT,
        "level": options.level,
        "release": options.release,
        "cards": options.cards,
        "device": options.device,
        "venv": options.venv,
        "reload_driver": options.reload_driver,
        "replaced_rows_limit": options.replaced_rows_limit,
        "generation": node.generation,
        "boards": list(node.boards),
        "tests": [{"test": HOST}, *_calls(options, node)],
        "left_out": left_out(options, node),
    }
    return {**described, "key": hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()}


@dataclass(frozen=True)
class Node:
    """What of a node decides its tests. ``groups`` are what ``-c`` calls the cards that are joined; None: all are.

    ``timeout_locked`` is the loaded driver's, None where it does not tell.
    """

    generation: str
    boards: tuple[str, ...] = ()
    groups: tuple[str, ...] | None = None
    timeout_locked: int | None = None


def _node_of(facts: HpuFacts) -> Node:
    return Node(
        facts.generation or "",
        tuple(sorted({card.board for card in facts.cards if card.board})),
        _groups(facts),
        facts.timeout_locked,
    )


def _groups(facts: HpuFacts) -> tuple[str, ...] | None:
    """``quad_0`` and so on, of the groups that are whole: the cards 0 to 3, 4 to 7 by module id."""
    sizes = {board.group for card in facts.cards if (board := board_of(card.pci_id))}
    size = min(sizes, default=_WHOLE_NODE)
    if size >= _WHOLE_NODE:
        return None
    # Where no driver tells the module ids, the number of cards does.
    modules = [number if card.module_id is None else card.module_id for number, card in enumerate(facts.cards)]
    whole = {module // size for module in modules}
    return tuple(f"quad_{group}" for group in sorted(whole) if sum(one // size == group for one in modules) == size)


def left_out(options: Options, node: Node) -> dict[str, str]:
    """Test -> why it is not run here, of those that the level has."""
    return {test.name: why for test in MATRIX if options.level in test.calls and (why := _why_not(test, options, node))}


def _why_not(test: Test, options: Options, node: Node) -> str:
    asked = options.excluded.get(test.name)
    if asked:
        return str(asked) if isinstance(asked, str) else "the operator excluded it"
    return _unmet(test, options, node) or ("" if asked is False else _exception(test, node))


def _unmet(test: Test, options: Options, node: Node) -> str:
    """The prerequisite that this node does not have; asking for the test gives it none."""
    if _wants(test, node) == UNLOCKED and node.timeout_locked != 0 and not options.reload_driver:
        return (
            f"on {_where(test.unlocked_boards, node)} it needs a driver that is loaded with timeout_locked=0, and this "
            f"one {_loaded_with(node)}; see docs/qualify.md"
        )
    for where, first in test.since.items():
        if where in (node.generation, *node.boards) and version_key(options.release) < version_key(first):
            return f"on {where} it is known of release {first} on, and this is {options.release}"
    if test.by_group and node.groups == ():
        return f"on {', '.join(node.boards)} it runs on four cards that a top board joins, and no four are whole here"
    return ""


def _where(boards: Sequence[str], node: Node) -> str:
    return next((board for board in node.boards if board in boards), "this generation")


def _loaded_with(node: Node) -> str:
    return "does not report its own" if node.timeout_locked is None else f"has {node.timeout_locked}"


def _exception(test: Test, node: Node) -> str:
    return next((test.exceptions[board] for board in node.boards if board in test.exceptions), "")


def _wants(test: Test, node: Node) -> str:
    """How it wants the driver; empty: in any way."""
    if node.generation in test.needs_unlocked or {*test.unlocked_boards} & {*node.boards}:
        return UNLOCKED
    return RATHER_UNLOCKED if node.generation in test.unlocked_by_some else ""


def _calls(options: Options, node: Node) -> list[dict[str, Any]]:
    chosen = [
        test for test in MATRIX if node.generation and options.level in test.calls and not _why_not(test, options, node)
    ]
    if options.reload_driver and node.timeout_locked != 0:
        # The driver is loaded once more for all of them, not between them.
        chosen.sort(key=lambda test: bool(_wants(test, node)))
    return [
        _call(test, options, node, group)
        for test in chosen
        for group in ((node.groups or ()) if test.by_group and node.groups is not None else ("all",))
    ]


def _call(test: Test, options: Options, node: Node, cards: str) -> dict[str, Any]:
    call = test.calls[options.level]
    return {
        "test": test.name if cards == "all" else f"{test.name}-{cards}",
        "words": [f"-{node.generation}", "-c", cards, "-dis_mon", *call.words],
        "seconds": call.seconds + SPARE_SECONDS,
        "action": test.action,
        "driver": _wants(test, node),
        "environment": list(test.environment),
    }


def _check_names(excluded: Mapping[str, Any]) -> None:
    known = [test.name for test in MATRIX]
    unknown = [name for name in excluded if name not in known]
    if unknown:
        raise GaudiError(f"excluded names {unknown[0]}, which is not a test; valid names are {', '.join(known)}.")
