# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""voir's reader of HPUs, which milabench watches cards with, says of the simulated cards what they are like."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from . import simulated
from .simulated_hlml import SimulatedHlml, build_in

OUTSIDER = Path(__file__).with_name("voir_outsider.py")
pytestmark = pytest.mark.skipif(find_spec("voir") is None, reason="voir is in requirements/test.txt alone")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> SimulatedHlml:
    return build_in(tmp_path_factory.mktemp("hlml"))


def ask(library: SimulatedHlml, *selection: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(OUTSIDER), library.path, *selection], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["arch"] == "hpu"
    cards: dict[str, Any] = found["cards"]
    return cards


@pytest.mark.parametrize("generation", ["gaudi2", "gaudi3"])
def test_it_says_what_the_cards_are_like(library: SimulatedHlml, generation: str) -> None:
    node = simulated.loaded(generation, faults={"hot_card": [1], "busy_device": [2]})
    shown = sorted(library.show(node), key=lambda one: one.index)
    cards = ask(library)
    assert [*cards] == [str(one.index) for one in shown]
    for one in shown:
        card = cards[str(one.index)]
        assert card["product"] == one.board.name
        assert card["minor_number"] == str(one.index)
        assert card["memory"] == {"used": float(one.used_mib), "total": float(one.board.memory_mib)}
        assert card["temperature"] == float(one.temperature)
        assert card["power"] == float(one.power)
        assert card["utilization"]["compute"] == (1.0 if one.busy else 0.0)


def test_a_card_is_chosen_by_its_uuid(library: SimulatedHlml) -> None:
    shown = library.show()
    chosen = shown[3]
    assert [*ask(library, chosen.card.uuid)] == [str(chosen.index)]
