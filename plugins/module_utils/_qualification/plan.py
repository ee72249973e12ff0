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

from .._cards.hpu_facts import HpuFacts
from .._errors import GaudiError
from .matrix import MATRIX, Test

# The first test: what verify.yml asks a node.
HOST = "host"
# What hl_qual may take beyond a test's own time: it loads its plugins and brings cards up and down.
SPARE_SECONDS = 180
# The order of runs in one unit; a plan of another version of this collection is made anew.
FORMAT = 1


@dataclass(frozen=True)
class Options:
    """See the options of the module ``hpu_qualify``."""

    level: str
    release: str
    cards: int
    device: str
    venv: str
    flags: str = "/etc/gaudi3_scale/environment"
    leave_out: Mapping[str, Any] = field(default_factory=dict)
    reload_driver: bool = False


def plan(options: Options, facts: HpuFacts) -> dict[str, Any]:
    """What the program runs, as JSON; raises GaudiError for a test that nobody knows."""
    _check_names(options.leave_out)
    if len(facts.generations) > 1:
        raise GaudiError(
            f"This node has cards of {' and '.join(facts.generations)}, and no test and no job is for both; have the "
            "wrong ones taken out."
        )
    boards = sorted({card.board for card in facts.cards if card.board})
    generation = facts.generation or ""
    described: dict[str, Any] = {
        "format": FORMAT,
        "level": options.level,
        "release": options.release,
        "cards": options.cards,
        "device": options.device,
        "venv": options.venv,
        "generation": generation,
        "boards": boards,
        "tests": [{"test": HOST}, *_calls(options, generation, boards)],
        "left_out": left_out(options, generation, boards),
    }
    return {**described, "key": hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()}


def left_out(options: Options, generation: str, boards: Sequence[str]) -> dict[str, str]:
    """Test -> why it is not run here, of those that the level has."""
    return {
        test.name: why
        for test in MATRIX
        if options.level in test.calls and (why := _why_not(test, options, generation, boards))
    }


def _why_not(test: Test, options: Options, generation: str, boards: Sequence[str]) -> str:
    asked = options.leave_out.get(test.name)
    if asked:
        return str(asked) if isinstance(asked, str) else "the operator left it out"
    if generation in test.needs_unlocked and not options.reload_driver:
        return "on this generation it needs a driver that is loaded with timeout_locked=0; see docs/qualifying.md"
    if asked is False:
        return ""
    return next((test.exceptions[board] for board in boards if board in test.exceptions), "")


def _calls(options: Options, generation: str, boards: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {
            "test": test.name,
            "words": [f"-{generation}", "-c", "all", "-dis_mon", *test.calls[options.level].words],
            "seconds": test.calls[options.level].seconds + SPARE_SECONDS,
            "action": test.action,
        }
        for test in MATRIX
        if generation and options.level in test.calls and not _why_not(test, options, generation, boards)
    ]


def _check_names(leave_out: Mapping[str, Any]) -> None:
    known = [test.name for test in MATRIX]
    unknown = [name for name in leave_out if name not in known]
    if unknown:
        raise GaudiError(f"leave_out names {unknown[0]}, which is no test; there are {', '.join(known)}.")
