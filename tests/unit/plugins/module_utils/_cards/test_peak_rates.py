# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The peaks of cards: what is known has a source, and nothing is guessed."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hardware import GENERATIONS, MODELS, generation_named
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.peak_rates import (
    PEAK_RATES,
    gaudi_label,
    peak_of,
)

BOARDS = {board.label for generation in GENERATIONS for board in generation.boards}


def test_each_row_has_a_source_and_a_card_that_there_is() -> None:
    for row in PEAK_RATES:
        assert row.source and row.tflops > 0
        assert row.card in BOARDS or row.card.startswith("NVIDIA ")
    assert len({(row.card, row.precision) for row in PEAK_RATES}) == len(PEAK_RATES)


@pytest.mark.parametrize(
    ("card", "precision", "tflops"),
    [
        ("HL-225", "bf16", 432),
        ("HL-325L", "bf16", 1835),
        ("HL-325L (die 1)", "bf16", 1835),
        ("NVIDIA H200", "bf16", 989.4),
        # The PCIe cards have less power, a first Gaudi no figure, and fp32 none anywhere.
        ("HL-338", "bf16", None),
        ("HL-288E", "bf16", None),
        ("HL-205", "bf16", None),
        ("HL-225", "fp32", None),
        ("HL-2", "bf16", None),
        ("NVIDIA H200 NVL", "bf16", None),
        ("NVIDIA H100 PCIe", "bf16", None),
        ("", "bf16", None),
    ],
)
def test_a_card_that_no_source_tells_of_has_none(card: str, precision: str, tflops: float | None) -> None:
    found = peak_of(card, precision)
    assert (found.tflops if found else None) == tflops


def pci(root: Path, address: str, device: str) -> None:
    place = root / "sys/bus/pci/devices" / address
    place.mkdir(parents=True)
    for name, text in (("vendor", "0x1da3"), ("device", device), ("class", "0x120000")):
        (place / name).write_text(f"{text}\n")


@pytest.mark.parametrize(
    ("pci_id", "told", "label"),
    [
        ("0x1060", "HL325L", "HL-325L"),
        ("0x1061", "HL-325L", "HL-325L (die 1)"),
        ("0x1020", "HL225", "HL-225"),
        ("0x1060", "", "HL-325L"),
        # One silicon, other cards: no figure of HL-325L is theirs.
        ("0x1060", "HL328", "HL-328"),
        ("0x1063", "HL-388", "HL-388"),
        ("0x1064", "HL388", "HL-388"),
        ("0x1064", "habanalabs", ""),
    ],
)
def test_a_card_is_what_the_node_calls_it(pci_id: str, told: str, label: str, tmp_path: Path) -> None:
    pci(tmp_path, "0000:01:00.0", pci_id)
    hwmon = tmp_path / "sys/bus/pci/devices/0000:01:00.0/hwmon/hwmon3"
    hwmon.mkdir(parents=True)
    (hwmon / "name").write_text(f"{told}\n")
    assert gaudi_label(str(tmp_path)) == label
    if label in {model.name for model in MODELS}:
        assert peak_of(label, "bf16") is None


def test_models_that_only_a_node_can_tell_are_rows_with_a_source() -> None:
    assert [model.name for model in MODELS] == ["HL-328", "HL-388"]
    assert all(model.source.endswith("UNVERIFIED") and generation_named(model.generation) for model in MODELS)
    assert not {model.name for model in MODELS} & BOARDS


def test_a_node_has_one_kind_of_card_or_none_that_is_told(tmp_path: Path) -> None:
    assert gaudi_label(str(tmp_path)) == ""
    for number in range(2):
        pci(tmp_path, f"0000:0{number}:00.0", "0x1020")
    assert gaudi_label(str(tmp_path)) == "HL-225"
    pci(tmp_path, "0000:09:00.0", "0x1060")
    assert gaudi_label(str(tmp_path)) == ""
