# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""An option of the whole collection is of its type before any role does anything."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._shared_options import SHARED, values_refusal


@pytest.mark.parametrize(
    ("name", "value", "meant"),
    [
        ("gaudi_cards_per_node", "many", "a whole number"),
        ("gaudi_allow_reboot", "perhaps", "true or false"),
        ("gaudi_release", ["1.24.1"], "a text"),
        ("gaudi_release", True, "a text"),
        ("gaudi_release_overrides", ["1.24.1"], "a mapping"),
        ("gaudi_plain_http_hosts", {"a": 1}, "a list"),
    ],
)
def test_another_type_is_refused_by_the_name_that_was_written(name: str, value: Any, meant: str) -> None:
    said = values_refusal("n1", {name: value, "other": object()})
    assert said == f"{name} of n1 is {value!a}; give {meant}."


@pytest.mark.parametrize(
    "given",
    [
        {},
        {name: option["default"] for name, option in SHARED.items() if "default" in option},
        {"gaudi_cards_per_node": "7", "gaudi_allow_reboot": "yes", "gaudi_release": 1.24},
        {"gaudi_cards_per_node": "{{ cards }}"},
    ],
)
def test_what_ansible_takes_for_the_type_is_taken(given: dict[str, Any]) -> None:
    assert values_refusal("n1", given) == ""
