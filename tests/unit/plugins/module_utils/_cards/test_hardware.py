# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hardware import (
    GENERATIONS,
    board_of,
    external_ports,
    generation_named,
    generation_of,
    internal_ports,
)


@pytest.mark.parametrize(
    ("pci_id", "name"),
    [
        ("0x1000", "gaudi"),
        ("0x1011", "gaudi"),
        ("0x1020", "gaudi2"),
        ("0x1021", "gaudi2"),
        ("0x1060", "gaudi3"),
        ("1060", "gaudi3"),
        ("1da3:1063", "gaudi3"),
        ("0X1060", "gaudi3"),
    ],
)
def test_a_pci_id_tells_the_generation_however_it_is_written(pci_id, name):
    assert generation_of(pci_id).name == name


@pytest.mark.parametrize("pci_id", ["0x2330", "", "1da3"])
def test_other_ids_are_no_gaudi(pci_id):
    assert generation_of(pci_id) is None
    assert board_of(pci_id) is None
    assert external_ports(pci_id, 0) == internal_ports(pci_id, 0) == ()


def test_names_and_pci_ids_are_told_apart():
    ids = [pci_id for generation in GENERATIONS for pci_id in generation.pci_ids]
    assert len(ids) == len(set(ids))
    assert generation_named("gaudi3").hbm_mib == 131072
    assert generation_named("gaudi4") is None


@pytest.mark.parametrize(
    ("pci_id", "module_id", "external", "internal_count"),
    [
        ("0x1060", 0, (17, 20, 21), 21),
        ("0x1060", 5, (2, 3, 7), 21),
        ("0x1060", 8, (), 24),
        ("0x1020", 0, (8, 22, 23), 21),
        ("0x1020", 7, (8, 22, 23), 21),
        ("0x1000", 3, (1, 8, 9), 7),
        ("0x1021", 0, (), 18),
        ("0x1063", 0, (8, 9, 10, 11), 18),
    ],
)
def test_ports_of_each_card(pci_id, module_id, external, internal_count):
    assert external_ports(pci_id, module_id) == external
    internal = internal_ports(pci_id, module_id)
    assert len(internal) == internal_count
    assert not set(internal) & set(external)


def test_eight_gaudi_3_cards_have_168_internal_and_24_external_links():
    assert sum(len(internal_ports("0x1060", module)) for module in range(8)) == 168
    assert sum(len(external_ports("0x1060", module)) for module in range(8)) == 24
