# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Ports and their addresses: what the plan and the switch say, and what speaks against it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hardware import external_ports
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.layer3.lldp import Neighbor
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.layer3.port_addresses import (
    RoutedOptions,
    disagreements,
    from_lldp,
    plan_of,
    planned,
    silent,
    slots,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.sysfs import CardPort

CARDS = {"0000:19:00.0": ("0x1060", 0), "0000:3b:00.0": ("0x1060", 1)}
OPTIONS = RoutedOptions(3, pools=["10.200.0.0/16"], hosts=["n1", "n2"], host="n1")


def card_ports(cards: Mapping[str, tuple[str, int]] = CARDS) -> list[CardPort]:
    return [
        CardPort(f"e{card}d{port}", address, port, True, True, card, f"02:00:00:00:{card:02x}:{port:02x}")
        for address, (pci_id, card) in cards.items()
        for port in external_ports(pci_id, card)
    ]


def neighbors(**descriptions: str) -> list[Neighbor]:
    return [Neighbor(name, "leaf1", f"on-{name}", text) for name, text in descriptions.items()]


ADDRESSES = {"e0d17": 2, "e0d20": 6, "e0d21": 10, "e1d5": 14, "e1d8": 18, "e1d9": 22}
ON = "e0d17 is connected to leaf1 on-e0d17, which announces 10.200.0"
SAID = {name: f"no-alert 10.200.0.{last}/30" for name, last in ADDRESSES.items()}


def found_against(**descriptions: str) -> list[str]:
    plan = plan_of(OPTIONS, ["0x1060"])
    return disagreements(planned(plan, "n1", slots(card_ports(), CARDS)), neighbors(**{**SAID, **descriptions}))


def test_planned_addresses_by_card_and_port_and_not_by_name() -> None:
    ports = list(reversed(card_ports()))
    routed = planned(plan_of(OPTIONS, ["0x1060"]), "n1", slots(ports, CARDS))
    assert [(one.interface, one.planned.address) for one in routed] == [
        (name, f"10.200.0.{last - 1}") for name, last in ADDRESSES.items()
    ]


def test_what_the_switch_says_as_planned_is_nothing_to_say() -> None:
    assert found_against() == []
    assert found_against(e0d17="uplink", e1d5="") == []


@pytest.mark.parametrize(
    ("descriptions", "sentences"),
    [
        (
            {"e0d17": SAID["e0d20"], "e0d20": SAID["e0d17"]},
            ["The cables of e0d17 and e0d20 are swapped; exchange them."],
        ),
        (
            {"e0d17": "no-alert 10.200.0.98/30"},
            [
                f"{ON}.98/30; 10.200.0.2/30 was planned: correct cable or switch.",
            ],
        ),
        (
            {"e0d17": SAID["e1d9"]},
            [
                f"{ON}.22/30, the address for e1d9; 10.200.0.2/30 was planned: correct cable or switch.",
            ],
        ),
        (
            {"e0d17": "no-alert 10.200.0.2/24"},
            ["e0d17: the switch's description 'no-alert 10.200.0.2/24' has the mask /24 where a cable has /30 or /31."],
        ),
        (
            {"e0d20": "no-alert 10.200.0.6/31"},
            [
                (
                    "e0d20 is connected to leaf1 on-e0d20, which announces 10.200.0.6/31; its mask has to be /30: "
                    "correct it there."
                )
            ],
        ),
    ],
)
def test_what_the_switch_says_against_the_plan(descriptions: dict[str, str], sentences: Sequence[str]) -> None:
    assert found_against(**descriptions) == sentences


def test_addresses_from_the_switch() -> None:
    routed = from_lldp(slots(card_ports(), CARDS), neighbors(**{**SAID, "e1d9": "x 10.9.0.1/31"}))
    assert [one.planned.address for one in routed][:2] == ["10.200.0.1", "10.200.0.5"]
    assert (routed[5].planned.address, routed[5].planned.prefix) == ("10.9.0.0", 31)


def test_each_port_without_an_address_is_named() -> None:
    none = "has no address; set one as 'no-alert 10.200.10.2/30', or use gaudi_fabric_addresses: plan"
    said = {**SAID, "e0d20": "uplink", "e1d8": SAID["e1d5"]}
    del said["e0d17"]
    with pytest.raises(GaudiError) as refused:
        from_lldp(slots(card_ports(), CARDS), neighbors(**said))
    assert refused.value.facts["findings"] == [
        "e0d17: no LLDP neighbor; check the cable, and LLDP on the switch.",
        f"e0d20: the switch's description 'uplink' {none}.",
        "e1d8: the switch announces 10.200.0.14/30 as it does for e1d5; give each port its own.",
    ]


def test_a_cable_has_one_end() -> None:
    with pytest.raises(GaudiError, match=r"e0d17 hears two LLDP neighbors \(leaf1 on-e0d17, leaf1 on-e0d17\)"):
        silent(card_ports(), neighbors(**SAID) * 2)


def test_a_missing_port_is_named_by_card_and_number() -> None:
    ports = [port for port in card_ports() if port.interface != "e1d8"]
    with pytest.raises(GaudiError, match=r"Only 5 of 6 external ports are there, .* port 8 of card 1 not found"):
        slots(ports, CARDS)


def test_a_port_without_a_module_id_has_no_place() -> None:
    with pytest.raises(GaudiError, match="e7: the driver reports no module id, port number or address"):
        slots([CardPort("e7", "0000:77:00.0", 1, True, True, None, "02:00:00:00:00:01")], {})


@pytest.mark.parametrize("pci_ids", [[], ["0x1021"], ["0x1060", "0x1063"]])
def test_a_plan_is_of_one_kind_of_cards(pci_ids: list[str]) -> None:
    with pytest.raises(GaudiError, match="needs cards of one kind with external ports"):
        plan_of(OPTIONS, pci_ids)


@pytest.mark.parametrize("mtu", [1499, 9001, 0])
def test_an_mtu_that_no_port_has(mtu: int) -> None:
    with pytest.raises(GaudiError, match=f"gaudi_fabric_mtu is {mtu}; give 1500 to 9000"):
        RoutedOptions(3, mtu=mtu).check()
