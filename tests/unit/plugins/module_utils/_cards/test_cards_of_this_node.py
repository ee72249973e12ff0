# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What is expected of links and ports comes from the cards that this node has, and from what its driver shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hardware import links_between
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hpu_facts import HpuFacts, gather
from ansible_collections.gaudi3.scale.plugins.module_utils._node.check import failed
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.lookup import find_release
from ansible_collections.gaudi3.scale.plugins.module_utils._verify.verdict import Limits, Measurement, verdict
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import ADDRESSES, HlSmi, write_kernel

LIMITS = Limits(cards=1, device="hpu", temperature_c=None, idle_memory_mib=1024, firmware=None, external_links=True)
# Internal ports of a Gaudi 2, whatever its module id.
INTERNAL = [port for port in range(24) if port not in (8, 22, 23)]


@pytest.mark.parametrize(
    ("pci_id", "cards", "links"),
    [
        ("0x1060", 8, 21),
        ("0x1060", 2, 3),
        ("0x1060", 1, 0),
        ("0x1020", 7, 18),
        ("0x1000", 8, 7),
        ("0x1000", 4, 3),
        # Bridges join four of these.
        ("0x1063", 8, 18),
        ("0x1063", 4, 18),
        ("0x1063", 2, 6),
        ("0x1021", 8, 18),
        ("0x1021", 1, 0),
        ("0x9999", 8, 0),
    ],
)
def test_links_to_the_cards_that_there_are(pci_id: str, cards: int, links: int) -> None:
    assert links_between(pci_id, cards) == links


def facts_of(root: Path, cards: int, down: Mapping[str, Sequence[int]], pci_id: str = "0x1020") -> HpuFacts:
    write_kernel(root, ADDRESSES[:cards], pci_id)
    return gather(HlSmi(ADDRESSES[:cards], down=down), str(root))


def bad(facts: HpuFacts) -> list[str]:
    return [check.name for check in failed(verdict(Measurement(facts, None), find_release("1.24.1"), LIMITS))]


def test_a_virtual_machine_with_one_card_needs_no_internal_link(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, 1, {ADDRESSES[0]: INTERNAL})
    assert (facts.links.internal.up, facts.links.internal.total, facts.links.internal.down) == (0, 0, ())
    assert bad(facts) == []


def test_two_cards_need_three_links_to_each_other(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, 2, dict.fromkeys(ADDRESSES[:2], INTERNAL[3:]))
    assert (facts.links.internal.up, facts.links.internal.total) == (6, 6)
    assert bad(facts) == []


def test_too_few_of_them_are_named(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, 2, {ADDRESSES[0]: INTERNAL[2:], ADDRESSES[1]: INTERNAL[3:]})
    assert bad(facts) == ["internal links"]
    assert facts.links.internal.total - (facts.links.internal.up or 0) == 1
    assert f"{ADDRESSES[0]} port {INTERNAL[2]}" in facts.links.internal.down


def test_links_to_cards_of_other_machines_do_no_harm(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, 2, {})
    assert (facts.links.internal.up, facts.links.internal.total) == (42, 42)
    assert bad(facts) == []


def test_all_eight_need_all_links(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, 8, {ADDRESSES[3]: [0]})
    assert (facts.links.internal.up, facts.links.internal.total) == (167, 168)
    assert bad(facts) == ["internal links"]


def test_an_hl_338_without_interfaces_has_no_external_link_to_wait_for(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, 8, dict.fromkeys(ADDRESSES, (8, 9, 10, 11)), "0x1063")
    assert (facts.links.external.up, facts.links.external.total) == (0, 0)
    assert bad(facts) == []


def test_an_hl_338_with_interfaces_has(tmp_path: Path) -> None:
    write_kernel(tmp_path, ADDRESSES[:4], "0x1063")
    for number, address in enumerate(ADDRESSES[:4]):
        port = tmp_path / f"sys/class/net/ens{number}d8"
        port.mkdir(parents=True)
        (port / "device").symlink_to(tmp_path / "sys/bus/pci/devices" / address)
    facts = gather(HlSmi(ADDRESSES[:4], down={ADDRESSES[0]: (8,)}), str(tmp_path))
    assert (facts.links.external.up, facts.links.external.total) == (15, 16)
    assert bad(facts) == ["external links"]


def test_an_oam_card_without_interfaces_still_has_its_ports(tmp_path: Path) -> None:
    assert facts_of(tmp_path, 1, {ADDRESSES[0]: (17, 20, 21)}).links.external.total == 3
