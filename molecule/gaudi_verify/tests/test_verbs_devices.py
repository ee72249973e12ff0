# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A card without its verbs device, on a node that has everything else: the verdict names it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.sandbox_nodes import fault, run

pytestmark = pytest.mark.in_turn("verbs")


def checks(directory: Path) -> dict[str, dict[str, Any]]:
    """The verdict on node1 by the names of its checks."""
    task = {"gaudi3.scale.hpu_verify": {"release": "1.24.1", "cards": 8, "fail": False, "venv": ""}}
    done = run(directory, [{"hosts": "node1", "become": True, "gather_facts": False, "tasks": [task]}])
    (answer,) = [event["event_data"]["res"] for event in done.events if event["event"] == "runner_on_ok"]
    return {check["name"]: check for check in answer["checks"]}


def test_each_card_has_one(tmp_path: Path) -> None:
    assert checks(tmp_path)["verbs devices"]["ok"]


def failing(found: dict[str, dict[str, Any]]) -> set[str]:
    return {name for name, check in found.items() if not check["ok"] and not check["advice"]}


def test_a_card_without_one_makes_the_node_unfit(tmp_path: Path) -> None:
    before = failing(checks(tmp_path))
    with fault("node1", "no_verbs=3"):
        found = checks(tmp_path)
    assert failing(found) - before == {"verbs devices"}
    assert found["verbs devices"]["found"].startswith("none of 0000:")
    assert "ib_uverbs has to be loaded before it" in found["verbs devices"]["remedy"]
