# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What an instance has answered and its cards have used, from a node's own logs."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cost.serving import served
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError

from tests.unit.healthy_node import ADDRESSES, write_kernel

# Noon of a day, and an hour.
NOON, HOUR = 1_700_049_600.0, 3600.0


def node(tmp_path: Path) -> dict[str, Any]:
    """An instance on two of eight cards for an hour: 100 W each, 60 tokens a minute."""
    places = {name: tmp_path / name for name in ("energy", "tokens", "control")}
    for place in places.values():
        place.mkdir()
    told = {"address": "::", "port": 8000, "served_name": "books", "model": "/m", "modules": [0, 3], "engine": "0.26.0"}
    (places["control"] / "chat.json").write_text(json.dumps(told))
    day = f"{datetime.fromtimestamp(NOON, timezone.utc):%Y-%m-%d}.jsonl"
    energy, tokens = [], []
    for minute in range(61):
        time = NOON + 60 * minute
        energy.append({"time": time, "cards": {card: [6000.0 * minute, 0.0] for card in ADDRESSES}})
        tokens.append({"time": time, "servings": {"chat": [1.0, 240.0 * minute, 60.0 * minute]}})
    for name, lines in (("energy", energy), ("tokens", tokens)):
        (places[name] / day).write_text("".join(json.dumps(line) + "\n" for line in lines))
    root = write_kernel(tmp_path / "kernel")
    return {"kernel_root": str(root), **{name: str(place) for name, place in places.items()}}


def test_an_instance_pays_for_its_own_cards(tmp_path: Path) -> None:
    assert served("chat", NOON, NOON + HOUR, **node(tmp_path)) == {
        "model": "books",
        "prompt_tokens": 14400.0,
        "generated_tokens": 3600.0,
        "known_seconds": HOUR,
        "cards": 2,
        "node_cards": 8,
        "joules": 2 * 100 * HOUR,
        "gap_seconds": 0.0,
        "card_seconds": 2 * HOUR,
    }


def test_what_nobody_recorded_is_no_zero_that_is_known(tmp_path: Path) -> None:
    found = served("chat", NOON - 2 * HOUR, NOON - HOUR, **node(tmp_path))
    assert (found["generated_tokens"], found["known_seconds"]) == (0.0, 0.0)
    assert found["gap_seconds"] == found["card_seconds"]


@pytest.mark.parametrize(("name", "words"), [("draft", "draft is no instance"), ("a/../b", "a/../b is no instance")])
def test_an_instance_that_this_node_has_not(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(GaudiError, match=f"name: {words} of this node; it has chat"):
        served(name, NOON, NOON + HOUR, **node(tmp_path))
