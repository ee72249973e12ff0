# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._firmware.rounds import firmware_rounds, with_work


@pytest.mark.parametrize(
    ("racks", "canary", "expected"),
    [
        ({}, "", []),
        ({"a": None, "b": None, "c": None}, "", [["a"], ["b"], ["c"]]),
        ({"a": 1, "b": 1, "c": 2, "d": 3}, "", [["a"], ["b", "c", "d"]]),
        ({"a": 1, "b": 2, "c": 2, "d": 2}, "", [["a"], ["b"], ["c"], ["d"]]),
        ({"a": 1, "b": 2, "c": 2, "d": 3, "e": 3}, "", [["a"], ["b", "d"], ["c", "e"]]),
        ({"a": "r1", "b": " r1 "}, "", [["a"], ["b"]]),
        ({"a": 1, "b": 1, "c": 2}, "b", [["b"], ["a", "c"]]),
        ({"a": 1, "c": 2}, "elsewhere", [["a"], ["c"]]),
    ],
)
def test_one_node_is_first_and_no_two_of_a_rack_are_in_a_round(
    racks: dict[str, object], canary: str, expected: list[list[str]]
) -> None:
    hostvars = {host: {} if rack is None else {"gaudi_rack": rack} for host, rack in racks.items()}
    assert firmware_rounds(list(racks), hostvars, canary) == expected


def test_only_who_has_something_to_do_is_in_a_round() -> None:
    shown = {"a": {"outstanding": True}, "b": {"outstanding": False}, "c": {"unreachable": True}}
    assert with_work(["c", "b", "a", "d"], shown) == ["a"]
