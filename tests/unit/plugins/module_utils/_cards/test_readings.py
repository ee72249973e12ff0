# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What is no value: nothing said, and what no card can have. The same for all who read a card."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hardware import GENERATIONS
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.health import card_checks, unfit_reason
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hl_smi import QUERY_FIELDS, decimal, parse_query
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hpu_facts import gather
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.readings import RANGES, absurd, reading, whole
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.card_readings import FIELDS, read_cards
from ansible_collections.gaudi3.scale.plugins.module_utils._node.check import failed
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import ADDRESSES, HlSmi, write_kernel

FIRST = ADDRESSES[0]
# hl-smi prints this until root asks (opea-project/Enterprise-Inference#11).
ALL_NA = (Path(__file__).parents[3] / "fixtures/hl_smi/query_all_na.csv").read_text(encoding="utf-8")
NOTHING = dict.fromkeys([name for name in QUERY_FIELDS if name != "bus_id"], "N/A")


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("temperature.aip", "36 C", 36),
        ("temperature.aip", "36C", 36),
        ("temperature.aip", "0 C", 0),
        ("temperature.aip", "98 C", 98),
        ("temperature.aip", "505712272 C", None),
        ("temperature.aip", "505,712,272 C", None),
        ("temperature.aip", "-1 C", None),
        # What a register of a device has that does not answer.
        ("temperature.aip", "255 C", None),
        ("temperature.aip", "0xffffffff", None),
        ("temperature.aip", "4294967295", None),
        ("temperature.aip", "nan", None),
        ("temperature.aip", "1e3 C", None),
        ("temperature.aip", None, None),
        ("power.draw", "85.5 W", 85.5),
        ("power.draw", "1,024 W", 1024),
        ("power.draw", "65535 W", None),
        ("utilization.aip", "100 %", 100),
        ("utilization.aip", "101 %", None),
        ("memory.total", "131072 MiB", 131072),
        ("memory.total", "0 MiB", None),
        ("memory.used", "0 MiB", 0),
        ("memory.used", "18446744073709551615 MiB", None),
        ("ecc.errors.uncorrected.volatile.total", "3", 3),
        ("ecc.errors.uncorrected.volatile.total", "505712272", None),
        ("module_id", "7", 7),
        ("module_id", "4294967295", None),
        ("max_power", "850000", 850000),
        ("clk_cur_freq_mhz", "1650", 1650),
        ("clk_cur_freq_mhz", "1650000", None),
    ],
)
def test_a_reading_is_a_number_that_a_card_can_have(name: str, text: str | None, value: float | None) -> None:
    assert reading(name, text) == value
    assert whole(name, text) == (None if value is None else round(value))


def test_each_number_of_a_query_has_a_range_and_no_limit_of_a_card_is_outside() -> None:
    texts = {"bus_id", "name", "serial", "uuid", "driver_version", "nic_driver_version"}
    assert {*QUERY_FIELDS, *FIELDS} - texts <= {*RANGES}
    for generation in GENERATIONS:
        assert generation.temperature_limit_c < RANGES["temperature.aip"].most
        assert generation.hbm_mib < RANGES["memory.total"].most
        assert max(generation.power_limits_w or (0,)) < RANGES["power.draw"].most


def test_the_rules_for_the_vendor_s_exporter_have_the_same_ranges() -> None:
    rules = (Path(__file__).parents[5] / "roles/gaudi_monitoring/files/rules/gaudi_vendor.yml").read_text(
        encoding="utf-8"
    )
    assert f"(habanalabs_temperature_onchip > 0 <= {RANGES['temperature.aip'].most})" in rules
    assert f"(habanalabs_power_mW / 1000 > 0 <= {RANGES['power.draw'].most})" in rules


def test_thousands_in_a_line_without_quotes_are_one_cell() -> None:
    head = "bus_id, temperature.aip [C], memory.used [MiB], power.draw [W]"
    text = f"{head}\n{FIRST}, 505,712,272 C, 672 MiB, 1,024 W\n{ADDRESSES[1]}, 36 C, 672 MiB, 226 W\nx, y\n"
    first, second = parse_query(text)
    assert (first["temperature.aip"], first["memory.used"], first["power.draw"]) == ("505712272 C", "672 MiB", "1024 W")
    assert second["temperature.aip"] == "36 C"
    # Without blanks between cells digits beside a comma are two of them.
    assert parse_query("bus_id,a,b\nx,0,123\n") == [{"bus_id": "x", "a": "0", "b": "123"}]


def test_a_number_is_read_with_its_thousands() -> None:
    assert decimal("505,712,272 C") == 505712272
    assert decimal("12,34") is None


def test_what_was_said_and_is_no_value_is_kept_and_what_was_not_said_is_not() -> None:
    assert absurd({"temperature.aip": "505712272 C", "power.draw": None, "memory.used": "672 MiB"}) == {
        "temperature.aip": "505712272 C"
    }


def test_of_an_hl_smi_that_says_nothing_nothing_is_known(tmp_path: Path) -> None:
    (row,) = parse_query(ALL_NA)
    assert row.pop("bus_id") == FIRST
    assert set(row.values()) == {None}
    root = str(write_kernel(tmp_path, ADDRESSES[:1]))
    facts = gather(HlSmi(ADDRESSES[:1], cells={FIRST: NOTHING}), root)
    (card,) = facts.cards
    assert (card.temperature_c, card.power_w, card.memory_used_mib, card.absurd) == (None, None, None, {})
    # The driver says it.
    assert (card.status, card.module_id) == ("Operational", 0)
    (problem,) = failed(card_checks(facts, 1))
    assert problem.unknown
    assert problem.sentence == (
        f"temperature: it is not known at {FIRST}; hl-smi reports no value: run hl-smi as root and check its error."
    )
    assert "did not initialize" not in problem.sentence


@pytest.mark.parametrize("said", ["N/A", "505712272 C"])
def test_a_node_whose_temperatures_are_not_known_takes_part_in_a_job(said: str, tmp_path: Path) -> None:
    root = str(write_kernel(tmp_path))
    unknown = HlSmi(cells={address: {"temperature.aip": said} for address in ADDRESSES})
    assert unfit_reason("hpu", 8, unknown, root) == ""
    cold = HlSmi(cells={FIRST: {"temperature.aip": "0 C"}, ADDRESSES[1]: {"temperature.aip": said}})
    assert "the card did not initialize: reboot" in unfit_reason("hpu", 8, cold, root)


def test_the_exporter_tells_no_value_that_is_none(tmp_path: Path) -> None:
    wrong = {"temperature.aip": "505712272 C", "power.draw": "65535 W", "utilization.aip": "255 %"}
    root = write_kernel(tmp_path)
    (root / "sys/bus/pci/devices" / FIRST / "clk_cur_freq_mhz").write_text("4294967295\n")
    readings, answered = read_cards(HlSmi(cells={FIRST: wrong}), str(root), 10)
    first = next(one for one in readings if one.pci_address == FIRST)
    assert answered
    assert (first.celsius, first.watts, first.utilization, first.clock_hertz) == (None, None, None, None)
    assert first.memory_bytes == 131072 * (1 << 20)


def test_a_job_with_part_of_a_node_is_not_stopped_by_the_cards_of_others(tmp_path: Path) -> None:
    root = str(write_kernel(tmp_path))
    cold = HlSmi(cells={FIRST: {"temperature.aip": "0 C"}})
    assert unfit_reason("hpu", 4, cold, root, (4, 5, 6, 7)) == ""
    assert "the card did not initialize: reboot" in unfit_reason("hpu", 4, cold, root, (0, 1, 2, 3))
    assert "cards: found 1 " in unfit_reason("hpu", 2, cold, root, (7, 9))
