# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._firmware.refusals import (
    card_refusal,
    generation_refusal,
    image_refusal,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._firmware.spi import (
    CURRENT,
    FLASH,
    NO_TARGET,
    POWER_CYCLE,
    UNREADABLE,
    FlashCard,
    Spi,
    Unreadable,
    Written,
    accepted_targets,
    are_equal,
    parse_spi,
    verdict,
)

OLD, NEW = "1.22.0-fw-61.3.2-sec-3", "1.24.0-fw-62.6.2-sec-3"
CARD = FlashCard(
    "0000:33:00.0", "0x1060", "gaudi3", "HL-325L", 3, "S3", f"Preboot version hl-gaudi3-{OLD} (Jul 01 2025)"
)
DONE = Written("0000:33:00.0", NEW, OLD, "2026-01-01T00:00:00Z", "boot-1", "written", "S3")


@pytest.mark.parametrize(
    "text",
    [
        OLD,
        f"  {OLD}\t",
        f"hl-gaudi3-{OLD}",
        f"Preboot version hl-gaudi3-{OLD} (Jul 01 2025 - 10:00:00)",
        f"Preboot version hl-gaudi3-{OLD} (Dec 10 2024 - 14:18:12) (simulated)",
    ],
)
def test_a_version_is_read_out_of_what_cards_and_people_write(text: str) -> None:
    assert parse_spi(text) == Spi((1, 22, 0), (61, 3, 2), 3)
    assert str(parse_spi(text)) == OLD


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "N/A",
        "1.1.22.0-fw-61.3.2-sec-3",  # the target of the vendor's recipe for 1.22.1
        "1.22.0-fw-61.3.2",
        "1.22.0-fw-61.3-sec-3",
        "1.22.0-fw-61.3.2-sec-",
        "1.22.0-fw-61.3.2-sec-3-rc1",
        "1.22.0-fw-61.x.2-sec-3",
        f"{OLD} {NEW}",
        f"x{OLD}",
        "Preboot version hl-gaudi3-1.1.22.0-fw-61.3.2-sec-3 (Jul 01 2025)",
    ],
)
def test_anything_else_is_unreadable_and_equal_to_nothing(text: str | None) -> None:
    found = parse_spi(text)
    assert isinstance(found, Unreadable)
    assert found != parse_spi(text)
    assert not found == found  # noqa: SIM201 - that it does not even equal itself is the point
    assert found != parse_spi(OLD)


@pytest.mark.parametrize(
    ("accept", "words"),
    [
        ({"gaudi4": OLD}, ("gaudi4", "not a generation")),
        ({"gaudi3": "1.1.22.0-fw-61.3.2-sec-3"}, ("1.1.22.0", "not an SPI version")),
        ({"gaudi3": ""}, ("gaudi3", "nothing")),
        ({"gaudi3": f"hl-gaudi2-{NEW}"}, ("that of gaudi2",)),
        ({"gaudi2": NEW, "gaudi3": NEW}, ("that of gaudi",)),
        ({"gaudi2": OLD}, (OLD, "that of gaudi3")),
    ],
)
def test_a_target_that_cannot_be_meant_is_refused(accept: dict[str, str], words: tuple[str, ...]) -> None:
    with pytest.raises(GaudiError) as refused:
        accepted_targets(accept)
    assert [word for word in words if word not in str(refused.value)] == []


def test_targets_are_those_of_their_generations() -> None:
    found = accepted_targets({"gaudi3": f" {OLD} ", "gaudi2": "1.22.0-fw-61.3.1-sec-11"})
    assert {name: str(target) for name, target in found.items()} == {"gaudi3": OLD, "gaudi2": "1.22.0-fw-61.3.1-sec-11"}


@pytest.mark.parametrize(
    ("card", "target", "written", "again", "boot_id", "expected"),
    [
        (CARD, None, None, False, "boot-1", NO_TARGET),
        (CARD, OLD, None, False, "boot-1", CURRENT),
        (CARD, NEW, None, False, "boot-1", FLASH),
        (CARD, NEW, DONE, False, "boot-1", POWER_CYCLE),
        (CARD, NEW, DONE, False, "boot-2", POWER_CYCLE),
        (CARD, NEW, DONE, True, "boot-1", POWER_CYCLE),
        (CARD, NEW, DONE, True, "boot-2", FLASH),
        (CARD, NEW, replace(DONE, state="writing"), False, "boot-1", FLASH),
        (CARD, NEW, replace(DONE, state="failed"), False, "boot-1", FLASH),
        (CARD, "1.25.0-fw-63.0.0-sec-3", DONE, False, "boot-1", FLASH),
        (replace(CARD, spi=f"hl-gaudi3-{NEW}"), NEW, replace(DONE, state="writing"), False, "boot-1", CURRENT),
        # Its flash has the other version, or half of it: the card shows what it has started from.
        (CARD, OLD, DONE, False, "boot-1", FLASH),
        (CARD, OLD, replace(DONE, state="writing"), False, "boot-1", FLASH),
        (CARD, OLD, replace(DONE, target=OLD, before=NEW), False, "boot-1", CURRENT),
        (replace(CARD, spi=None), NEW, None, False, "boot-1", UNREADABLE),
        (replace(CARD, spi="1.1.22.0-fw-61.3.2-sec-3"), NEW, DONE, True, "boot-2", UNREADABLE),
        (replace(CARD, spi=f"hl-gaudi2-{OLD}"), OLD, None, False, "boot-1", UNREADABLE),
    ],
)
def test_what_a_card_needs(
    card: FlashCard, target: str | None, written: Written | None, again: bool, boot_id: str, expected: str
) -> None:
    wanted = None if target is None else accepted_targets({"gaudi3": target})["gaudi3"]
    assert verdict(card, wanted, written, again, boot_id) == expected


@pytest.mark.parametrize(
    ("cards", "expected"),
    [
        ([], None),
        ([CARD], True),
        ([CARD, replace(CARD, spi=OLD)], True),
        ([CARD, replace(CARD, spi=NEW)], False),
        ([CARD, replace(CARD, spi=None)], None),
    ],
)
def test_all_cards_are_compared(cards: list[FlashCard], expected: bool | None) -> None:
    assert are_equal(cards) is expected


@pytest.mark.parametrize(
    ("cards", "expected", "word"),
    [
        ([CARD] * 8, 8, None),
        ([CARD] * 8, 0, None),
        ([], 8, "no Gaudi card"),
        ([CARD] * 7, 8, "7 of 8 cards"),
        ([CARD, replace(CARD, board="HL-338", pci_id="0x1063")], 2, "different boards"),
        ([replace(CARD, generation=None, pci_id="0x9999")], 1, "0x9999"),
    ],
)
def test_the_cards_of_a_node_have_to_be_alike_and_all_there(
    cards: list[FlashCard], expected: int, word: str | None
) -> None:
    reason = generation_refusal(cards, expected)
    assert reason is None if word is None else word in (reason or "")


@pytest.mark.parametrize(
    ("target", "written", "word"),
    [
        (NEW, None, None),
        ("1.20.0-fw-58.0.0-sec-3", None, None),
        ("1.24.0-fw-62.6.2-sec-2", None, "may not go down to 2"),
        (NEW, replace(DONE, target="1.25.0-fw-63.0.0-sec-4"), "security version 4"),
    ],
)
def test_the_security_version_never_goes_down(target: str, written: Written | None, word: str | None) -> None:
    wanted = parse_spi(target)
    assert isinstance(wanted, Spi)
    reason = card_refusal(CARD, wanted, written)
    assert reason is None if word is None else word in (reason or "")


@pytest.mark.parametrize(
    ("found", "word"),
    [
        ((), None),
        ((f"hl-gaudi3-{NEW}",), None),
        ((f"hl-gaudi3-{NEW}", "hl-gaudi3-1.24.0-fw-62.6.2"), None),
        (("hl-gaudi3-1.24.0-fw-62.6.2",), None),
        ((f"hl-gaudi3-{OLD}",), f"holds {OLD}, not the accepted {NEW}"),
        (("hl-gaudi3-1.24.0-fw-62.6.2-sec-4",), "not the accepted"),
        ((f"hl-gaudi2-{NEW}",), "not for gaudi3"),
    ],
)
def test_the_image_has_to_be_the_accepted_one_where_it_tells(found: tuple[str, ...], word: str | None) -> None:
    target = parse_spi(NEW)
    assert isinstance(target, Spi)
    reason = image_refusal(found, target, "gaudi3", "/x.itb")
    assert reason is None if word is None else word in (reason or "")
