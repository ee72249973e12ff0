# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The line of a node in the table at the end of an upgrade."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.upgrade_row import upgrade_row

KEPT = {"from": "1.23.0-695", "to": "1.24.1-482", "reason": ""}


def row(**kept: Any) -> dict[str, object]:
    return upgrade_row({"inventory_hostname": "n2", "gaudi_upgrade_result": {**KEPT, **kept}})


def test_the_columns_are_those_of_the_table() -> None:
    assert row(state="upgraded") == {
        "node": "n2",
        "state": "upgraded",
        "before": "1.23.0-695",
        "now": "1.24.1-482",
        "reason": None,
    }


@pytest.mark.parametrize(
    ("state", "now"),
    [
        ("upgraded", "1.24.1-482"),
        ("downgraded", "1.24.1-482"),
        ("installed", "1.24.1-482"),
        ("unchanged", "1.24.1-482"),
        ("drained", "1.24.1-482"),
        ("rolled_back", "1.23.0-695"),
        ("refused", "1.23.0-695"),
        ("failed", None),
        ("unfit", None),
        ("unreachable", None),
    ],
)
def test_what_a_node_has_now_is_told_only_where_it_is_known(state: str, now: str | None) -> None:
    assert (row(state=state)["now"], row(state=state)["before"]) == (now, "1.23.0-695")


@pytest.mark.parametrize("nothing", ["", None])
def test_a_node_that_had_no_driver_has_no_release_before(nothing: str | None) -> None:
    assert row(**{"from": nothing, "state": "installed"})["before"] is None
    assert row(**{"from": nothing, "state": "refused"})["now"] is None


def test_the_reason_is_one_line_with_the_nodes_name() -> None:
    assert row(state="failed", reason="DKMS cannot build it:\n  the log\n  of it")["reason"] == (
        "n2: DKMS cannot build it:"
    )
    assert row(state="failed", reason=None)["reason"] is None


@pytest.mark.parametrize(
    "host", [{}, {"gaudi_upgrade_result": None}, {"gaudi_upgrade_result": "", "upgrade_before": {}}]
)
def test_a_node_that_the_playbook_did_not_come_to_has_a_line_too(host: dict[str, Any]) -> None:
    assert upgrade_row({"inventory_hostname": "n3", **host}) == {
        "node": "n3",
        "state": "not reached",
        "before": None,
        "now": None,
        "reason": None,
    }
