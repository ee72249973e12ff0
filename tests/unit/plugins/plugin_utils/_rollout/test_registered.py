# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from ansible_collections.gaudi3.scale.plugins.plugin_utils._rollout.registered import message, states


def test_only_nodes_whose_turn_has_come_have_a_state() -> None:
    hostvars = {"a": {"kept": {"state": "upgraded"}}, "b": {"kept": {"skipped": True}}, "c": {}, "d": {"kept": None}}
    assert states(["a", "b", "c", "d"], "kept", hostvars) == {"a": "upgraded"}


def test_a_failure_without_words_points_to_its_task() -> None:
    assert message({"msg": "no."}) == "no."
    assert message({"msg": ""}) == "see the task that failed"
