# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.firmware_rows import firmware_rows

OLD, NEW = "1.22.0-fw-61.3.2-sec-3", "1.24.0-fw-62.6.2-sec-3"


def card(module: int | None, before: str = OLD, after: str = OLD, verdict: str = "flash") -> dict[str, object]:
    return {
        "pci_address": f"0000:{module}",
        "module_id": module,
        "board": "HL-325L",
        "before": before,
        "after": after,
        "needed": "flash",
        "verdict": verdict,
    }


def host(before: dict[str, object] | None, **more: object) -> dict[str, object]:
    return {"inventory_hostname": "n1", **({} if before is None else {"gaudi_firmware_shown_result": before}), **more}


SHOWN = {"cards": [card(number) for number in range(8)], "target": NEW, "published": OLD}


def test_equal_cards_are_one_line() -> None:
    (row,) = firmware_rows(
        [host(SHOWN, gaudi_rack="r1", gaudi_firmware_outcome_result={"state": "refused", "reason": "no."})]
    )
    assert row == {
        "node": "n1",
        "rack": "r1",
        "cards": "0-7",
        "board": "HL-325L",
        "before": OLD,
        "after": OLD,
        "published": OLD,
        "state": "refused",
        "reason": "n1: no.",
    }


def test_cards_that_differ_are_lines_of_their_own() -> None:
    now = [card(number, OLD, NEW, "current") for number in range(8)]
    now[2] = card(2, OLD, OLD, "power cycle needed")
    rows = firmware_rows(
        [host(SHOWN, gaudi_firmware_result={"cards": now}, gaudi_firmware_outcome_result={"state": "written"})]
    )
    assert [(row["cards"], row["after"], row["state"]) for row in rows] == [
        ("0-1, 3-7", NEW, "written"),
        ("2", OLD, "power cycle needed"),
    ]


@pytest.mark.parametrize(
    ("values", "state", "after"),
    [
        (host(None), "unreachable", None),
        (host({"unreachable": True, "msg": "no route"}), "unreachable", None),
        (host({"failed": True, "msg": "bad accept"}), "not shown", None),
        (host({**SHOWN, "target": None}), "shown", OLD),
        (host(SHOWN), "not reached", OLD),
        (host({**SHOWN, "cards": [{**card(0), "needed": "current"}]}), "unchanged", OLD),
        (host(SHOWN, gaudi_firmware_outcome_result={"skipped": True}), "not reached", OLD),
        (
            host(
                SHOWN,
                gaudi_firmware_outcome_result={"state": "failed", "reason": "x"},
                gaudi_firmware_result={"failed": True},
            ),
            "failed",
            None,
        ),
    ],
)
def test_a_node_that_did_not_get_through_has_a_line(values: dict[str, object], state: str, after: str | None) -> None:
    (row,) = firmware_rows([values])
    assert (row["state"], row["after"]) == (state, after)


def test_check_mode_foresees_what_would_be_written() -> None:
    ahead = [card(0), {**card(1, NEW, NEW, "current"), "needed": "current"}]
    values = host({**SHOWN, "cards": ahead}, gaudi_firmware_result={"cards": ahead})
    rows = firmware_rows([{**values, "gaudi_firmware_outcome_result": {"state": "would be written"}}])
    assert [(row["cards"], row["before"], row["after"]) for row in rows] == [("0", OLD, NEW), ("1", NEW, NEW)]
    # A node that was looked at and then refused keeps what it has.
    rows = firmware_rows([{**values, "gaudi_firmware_outcome_result": {"state": "refused"}}])
    assert [row["after"] for row in rows] == [OLD, NEW]


def test_cards_without_a_module_id_are_counted() -> None:
    (row,) = firmware_rows([host({"cards": [card(None), card(None)], "target": None})])
    assert row["cards"] == "2 cards"
