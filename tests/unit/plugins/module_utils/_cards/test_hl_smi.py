# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hl_smi import (
    Listing,
    Versions,
    firmware_version,
    number,
    parse_links,
    parse_listing,
    parse_query,
    parse_versions,
)

FIXTURES = Path(__file__).parents[3] / "fixtures" / "hl_smi"


def recorded(name):
    return (FIXTURES / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "nic_driver"), [("table.txt", "1.24.1-ead2cb0"), ("listing.txt", None)])
def test_versions_are_read_from_the_table_and_from_the_listing(name, nic_driver):
    assert parse_versions(recorded(name)) == Versions("hl-1.24.0-fw-62.6.2.0", "1.24.1-b336d5e", nic_driver)


def test_the_listing_is_keyed_by_pci_address_in_lower_case():
    listing = parse_listing(recorded("listing.txt"))
    assert list(listing.cards) == ["0000:3b:00.0", "0000:19:00.0"]
    card = listing.cards["0000:3b:00.0"]
    assert card["Product Name"] == "HL-325L"
    assert card["Module ID"] == "1"
    assert card["Firmware [SPI] Version"].startswith("Preboot version hl-gaudi3-1.22.0-fw-61.3.2-sec-3 (")


def test_lines_under_a_heading_do_not_hide_the_lines_of_the_card():
    cards = parse_listing(recorded("listing.txt")).cards
    assert cards["0000:3b:00.0"]["Replaced Rows/Pending"] == "No"
    assert cards["0000:19:00.0"]["Replaced Rows/Pending"] == "Yes"
    assert cards["0000:3b:00.0"]["Memory Usage/Used"] == "672 MB"
    assert "Used" not in cards["0000:3b:00.0"]
    assert "Total" not in cards["0000:3b:00.0"]


def test_a_short_block_is_read_like_a_long_one():
    text = "[0] AIP (accel0) 0000:19:00.0\n    erom : 1.22.0-fw-61.3.2\n    preboot : 1.22.0-fw-61.3.2-sec-3\n"
    assert parse_listing(text).cards == {
        "0000:19:00.0": {"erom": "1.22.0-fw-61.3.2", "preboot": "1.22.0-fw-61.3.2-sec-3"}
    }


def test_a_query_loses_its_units_in_the_keys_and_keeps_them_in_the_values():
    first, second = parse_query(recorded("query.csv"))
    assert first["bus_id"] == "0000:3b:00.0"
    assert first["memory.total"] == "131072 MiB"
    assert number(first["memory.total"]) == 131072
    assert second["power.draw"] is None
    assert second["ecc.errors.uncorrected.aggregate.total"] is None
    assert number(second["temperature.aip"]) == 0


def test_lines_that_are_no_rows_are_passed_over():
    rows = parse_query(recorded("query.csv"))
    assert parse_query("Warning, old firmware\n\n" + recorded("query.csv")) == rows
    assert parse_query(recorded("query.csv") + "0000:5d:00.0, lost\n") == rows
    assert parse_query("name, serial\nHL-325L, AO1\n") == []


def test_links_are_up_or_not():
    assert parse_links(recorded("links.txt")) == {0: True, 1: True, 2: True, 7: False, 10: True, 11: True}
    assert parse_links("port 17: DISABLED\nport 20:\n") == {17: False}


@pytest.mark.parametrize("text", ["", "hl-smi: command not found\n", "Failed to initialize HLML\n"])
def test_an_error_text_gives_empty_results(text):
    assert parse_versions(text) == Versions()
    assert parse_listing(text) == Listing()
    assert parse_query(text) == []
    assert parse_links(text) == {}


@pytest.mark.parametrize(
    ("value", "expected"),
    [("672 MiB", 672), ("36 C", 36), ("85.5 W", 86), ("0", 0), ("-1", -1), ("n/a", None), ("", None), (None, None)],
)
def test_numbers_with_units(value, expected):
    assert number(value) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Preboot version hl-gaudi3-1.22.0-fw-61.3.2-sec-3 (Jul 01 2025 - 10:00:00)", "1.22.0-fw-61.3.2-sec-3"),
        ("Linux gaudi2 5.10.18-hl-gaudi2-1.20.0-fw-58.0.0-sec-9 #1 SMP", "1.20.0-fw-58.0.0-sec-9"),
        ("Preboot version hl-gaudi2-1.10.0-fw43.2.0-sec-4 (May 17 2023 - 20:08:22)", "1.10.0-fw43.2.0-sec-4"),
        ("1.24.0-fw-62.6.2", "1.24.0-fw-62.6.2"),
        ("some other words", "some other words"),
        ("N/A", None),
        ("", None),
        (None, None),
    ],
)
def test_firmware_versions_are_cut_out_of_their_sentence(text, expected):
    assert firmware_version(text) == expected
