# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._firmware.plan import (
    FirmwareNode,
    FirmwareOptions,
    is_outstanding,
    plan,
    refusals,
    warnings,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._firmware.record import Record
from ansible_collections.gaudi3.scale.plugins.module_utils._firmware.spi import FlashCard, Spi, Written, parse_spi
from ansible_collections.gaudi3.scale.plugins.module_utils._node.kernel_modules import Holder
from ansible_collections.gaudi3.scale.plugins.module_utils._node.steps import Step
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.lookup import find_release

OLD, NEW = "1.22.0-fw-61.3.2-sec-3", "1.24.0-fw-62.6.2-sec-3"
RELEASE = find_release("1.24.1")
MODULES = RELEASE.modules
A, B = "0000:33:00.0", "0000:34:00.0"
CARDS = (
    FlashCard(A, "0x1060", "gaudi3", "HL-325L", 0, "S0", OLD),
    FlashCard(B, "0x1060", "gaudi3", "HL-325L", 1, "S1", OLD),
)
OPTIONS = FirmwareOptions("flashed", "1.24.1", cards=2)
NODE = FirmwareNode(
    CARDS, boot_id="b", loaded=MODULES, reload=MODULES, driver=RELEASE, image="/x", found=(), ports=True
)
TARGET = parse_spi(NEW)
assert isinstance(TARGET, Spi)
UNLOAD, LOAD = Step("unload", RELEASE.unload_order), Step("load", MODULES)
COMPARE, CHECK, PORTS, VERIFY = Step("compare", (A, B)), Step("check", (A, B)), Step("ports"), Step("verify")


def with_spi(*texts: str | None) -> tuple[FlashCard, ...]:
    return tuple(replace(card, spi=text) for card, text in zip(CARDS, texts))


def written(card: FlashCard, state: str = "written") -> Written:
    return Written(card.pci_address, NEW, OLD, "2026-01-01T00:00:00Z", "b", state, card.serial)


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (NODE, [UNLOAD, COMPARE, Step("flash", (A, B)), CHECK, LOAD, PORTS, VERIFY]),
        (replace(NODE, ports=False), [UNLOAD, COMPARE, Step("flash", (A, B)), CHECK, LOAD, VERIFY]),
        (replace(NODE, cards=with_spi(OLD, NEW)), [UNLOAD, COMPARE, Step("flash", (A,)), CHECK, LOAD, PORTS, VERIFY]),
        (replace(NODE, cards=with_spi(NEW, NEW)), []),
        (replace(NODE, record=Record({"S0": written(CARDS[0]), "S1": written(CARDS[1])})), []),
        (
            replace(NODE, record=Record({"S0": written(CARDS[0])})),
            [UNLOAD, COMPARE, Step("flash", (B,)), CHECK, LOAD, PORTS, VERIFY],
        ),
        # No driver was loaded, and none is wanted at the end: what the cards show then is all there is to see.
        (replace(NODE, loaded=(), reload=()), [Step("flash", (A, B)), CHECK]),
        # A run that was cut after the writing has to load what it unloaded.
        (
            replace(NODE, cards=with_spi(NEW, NEW), loaded=(), record=Record({}, MODULES)),
            [LOAD, PORTS, VERIFY],
        ),
        (replace(NODE, cards=with_spi(NEW, NEW), record=Record({}, MODULES)), []),
    ],
)
def test_the_steps_are_those_that_the_cards_need(node: FirmwareNode, expected: list[Step]) -> None:
    assert plan(OPTIONS, node, TARGET) == expected


def test_a_driver_before_1_21_is_unloaded_in_its_own_order() -> None:
    old = find_release("1.20.1")
    node = replace(NODE, driver=old, loaded=old.modules, reload=old.modules)
    steps = plan(OPTIONS, node, TARGET)
    assert steps[0] == Step("unload", old.unload_order)
    assert Step("load", old.modules) in steps


@pytest.mark.parametrize(
    ("node", "target", "words"),
    [
        (NODE, None, ("no target is accepted for gaudi3", "accept: {gaudi3:")),
        (replace(NODE, cards=CARDS[:1]), TARGET, ("1 of 2 cards",)),
        (
            replace(NODE, cards=with_spi(OLD, "garbage")),
            TARGET,
            ("card 1 (0000:34:00.0)", "'garbage'", "not an SPI version"),
        ),
        (replace(NODE, cards=with_spi(NEW, None)), TARGET, ("shows nothing",)),
        (replace(NODE, found=None), TARGET, ("/x is not there", "habanalabs-firmware")),
        (replace(NODE, found=(f"hl-gaudi3-{OLD}",)), TARGET, (OLD, f"not the accepted {NEW}")),
        (replace(NODE, protection="protected"), TARGET, ("write protection", "BMC")),
        (replace(NODE, protection="unknown"), TARGET, ("write_protection_command", "does not report")),
        (replace(NODE, tool=False), TARGET, ("hl-fw-loader", "habanalabs-firmware-odm")),
        (
            replace(NODE, tool=False, loaded=(), cards=with_spi(None, None)),
            TARGET,
            ("hl-fw-loader is not installed",),
        ),
        (replace(NODE, half_changed=True), TARGET, ("a change of its driver", "bring the driver to a release first")),
        (replace(NODE, writing=True), TARGET, ("still writing", "gaudi3-scale-firmware.service")),
        (
            replace(NODE, holders=(Holder(4711, "python3", "job.service", ("accel0",)),)),
            TARGET,
            ("process 4711 (python3) in job.service",),
        ),
    ],
)
def test_what_forbids_writing_is_named(node: FirmwareNode, target: Spi | None, words: tuple[str, ...]) -> None:
    (reason,) = refusals(OPTIONS, RELEASE, node, target)
    assert [word for word in words if word not in reason] == [], reason


def test_cards_that_are_refused_alike_are_one_reason() -> None:
    lower = parse_spi("1.24.0-fw-62.6.2-sec-2")
    assert isinstance(lower, Spi)
    assert refusals(OPTIONS, RELEASE, NODE, lower) == [
        "card 0 (0000:33:00.0), card 1 (0000:34:00.0): the security version 3 may not go down to 2"
    ]


def test_all_reasons_come_at_once() -> None:
    assert len(refusals(OPTIONS, RELEASE, replace(NODE, protection="protected", tool=False), TARGET)) == 2


@pytest.mark.parametrize(
    "node",
    [
        NODE,
        replace(NODE, protection="writable"),
        replace(NODE, found=(f"hl-gaudi3-{NEW}",)),
        # Where nothing is written nothing can stand in the way.
        replace(NODE, cards=with_spi(NEW, NEW), protection="protected", tool=False, found=None),
    ],
)
def test_nothing_stands_in_the_way(node: FirmwareNode) -> None:
    assert refusals(OPTIONS, RELEASE, node, TARGET) == []


def test_an_old_boot_firmware_of_gaudi_2_stands_in_the_way_of_a_new_spi() -> None:
    old = find_release("1.20.1")
    cards = tuple(
        replace(card, generation="gaudi2", pci_id="0x1020", board="HL-225", spi="1.20.1-fw-58.2.6-sec-9")
        for card in CARDS
    )
    node = replace(NODE, cards=cards, driver=old)
    target = parse_spi("1.22.0-fw-61.3.1-sec-11")
    assert isinstance(target, Spi)
    (reason,) = refusals(OPTIONS, RELEASE, node, target)
    assert "1.21.2" in reason
    assert refusals(OPTIONS, RELEASE, replace(node, driver=RELEASE), target) == []


def test_a_card_that_waits_is_named_with_its_remedy() -> None:
    node = replace(NODE, record=Record({"S0": written(CARDS[0])}), cards=with_spi(OLD, NEW))
    (same_boot,) = warnings(OPTIONS, node, TARGET)
    assert "card 0 (0000:33:00.0)" in same_boot
    assert "power cycle it" in same_boot
    (booted,) = warnings(OPTIONS, replace(node, boot_id="other"), TARGET)
    assert "a reboot was not enough" in booted


@pytest.mark.parametrize(
    ("node", "target", "expected"),
    [
        (NODE, TARGET, True),
        (NODE, None, False),
        (replace(NODE, cards=with_spi(NEW, NEW)), TARGET, False),
        (replace(NODE, cards=with_spi(NEW, "garbage")), TARGET, True),
        (replace(NODE, cards=with_spi(NEW, NEW), record=Record({}, MODULES)), TARGET, True),
        (replace(NODE, record=Record({"S0": written(CARDS[0]), "S1": written(CARDS[1])})), TARGET, True),
    ],
)
def test_whether_a_node_has_something_to_do(node: FirmwareNode, target: Spi | None, expected: bool) -> None:
    assert is_outstanding(OPTIONS, node, target) is expected
