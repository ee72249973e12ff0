# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A job is not given the cards of an instance that serves a model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from ansible_collections.gaudi3.scale.plugins.module_utils._job.cards_in_use import Asker, node_cards
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils._node.instances import runtimes
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import write_kernel

SERVING = "gaudi3-scale-serving-chat.service"


def serving(argv: Sequence[str], **_more: object) -> CommandResult:
    """systemd, of a node on which an instance runs and no job."""
    return CommandResult(0, f"Id={SERVING}\nActiveState=activating\n" if "serving" in argv[2] else "", "")


def test_its_modules_are_held_unless_it_asks_itself(tmp_path: Path) -> None:
    kernel = str(write_kernel(tmp_path / "kernel"))
    control = tmp_path / "etc"
    control.mkdir()
    about = {"state_directory": str(tmp_path / "state"), "instance_directory": str(control)}
    assert node_cards(Asker("n1", **about), serving, kernel).taken == {}
    (control / "chat.json").write_text(json.dumps({"modules": [2, 3], "runtime": "/opt/env"}), encoding="utf-8")
    found = node_cards(Asker("n1", **about), serving, kernel)
    assert found.taken == {2: "held by instance chat", 3: "held by instance chat"}
    assert node_cards(Asker("n1", instances=("chat",), **about), serving, kernel).taken == {}
    # What it runs in is not removed as unused.
    assert runtimes(str(control)) == {"/opt/env"}
