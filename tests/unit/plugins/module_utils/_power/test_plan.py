# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which cards are set, and what is refused in a sentence with the option, its value and what to do."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hardware import generation_of
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.kernel_modules import Holder
from ansible_collections.gaudi3.scale.plugins.module_utils._power.plan import (
    PowerCard,
    PowerOptions,
    chosen,
    plan,
    require_meant,
)

TRAINING = Holder(4711, "python3", "gaudi3-scale-job-llama.service", ("accel1",))


def card(module_id, limit=850, pci_id="0x1060", holders=()):
    address = f"0000:0{module_id}:00.0"
    return PowerCard(address, pci_id, generation_of(pci_id), module_id, limit, holders)


CARDS = tuple(card(module_id) for module_id in range(4))


def set_cards(options, cards=CARDS):
    require_meant(options)
    return [card.module_id for card in plan(options, chosen(options, cards))]


@pytest.mark.parametrize(
    ("options", "cards", "expected"),
    [
        (PowerOptions(600), CARDS, [0, 1, 2, 3]),
        (PowerOptions(450), CARDS, [0, 1, 2, 3]),
        # What is so already is left alone.
        (PowerOptions(850), CARDS, []),
        (PowerOptions(600), (card(0), card(1, 600)), [0]),
        (PowerOptions(600, cards=[1, 3]), CARDS, [1, 3]),
        (PowerOptions(600, cards=[1, 1]), CARDS, [1]),
        (PowerOptions(600, range=[500, 700]), CARDS, [0, 1, 2, 3]),
        (PowerOptions(600, range=[600, 600]), CARDS, [0, 1, 2, 3]),
        # The site's word counts where nothing is published.
        (PowerOptions(400, range=[350, 600]), (card(0, 600, "0x1020"),), [0]),
        (PowerOptions(400, range=[350, 600]), (card(0, 600, "0x9999"),), [0]),
        # Of another generation only a card that is not meant.
        (PowerOptions(600, cards=[0]), (card(0), card(1, 600, "0x1020")), [0]),
        # Of a card that tells no limit nobody could say whether it took one.
        (PowerOptions(600), (card(0, None), card(1)), [1]),
        (PowerOptions(600, while_busy=True), (card(0, holders=(TRAINING,)),), [0]),
        (PowerOptions(600), (card(0, 600, holders=(TRAINING,)), card(1)), [1]),
        (PowerOptions(600, cards=[1]), (card(0, holders=(TRAINING,)), card(1)), [1]),
    ],
)
def test_those_are_set_that_are_meant_and_differ(options, cards, expected):
    assert set_cards(options, cards) == expected


@pytest.mark.parametrize(
    ("options", "cards", "sentence"),
    [
        (
            PowerOptions(300),
            CARDS,
            (
                "watts (gaudi_power_watts) is 300, power outside the card's range: the range of Gaudi 3 (hl-smi's "
                "manual) is 450 to 850 W; give watts within it."
            ),
        ),
        (PowerOptions(851), CARDS, "watts (gaudi_power_watts) is 851, power outside the card's range"),
        # A site's range makes no other out of that of the vendor.
        (
            PowerOptions(300, range=[200, 850]),
            CARDS,
            "watts (gaudi_power_watts) is 300, power outside the card's range",
        ),
        (
            PowerOptions(700, range=[450, 650]),
            CARDS,
            "is 700, power outside the card's range: range (gaudi_power_range) is 450 to 650 W; give watts within it.",
        ),
        (
            PowerOptions(600, range=[850, 450]),
            CARDS,
            "range (gaudi_power_range) is [850, 450], whose ends are swapped; give [450, 850].",
        ),
        (PowerOptions(600, range=[450]), CARDS, "range (gaudi_power_range) is 450; give the least and the most W"),
        (
            PowerOptions(600, range=[1, 2, 3]),
            CARDS,
            "range (gaudi_power_range) is 1, 2, 3; give the least and the most W",
        ),
        (
            PowerOptions(600, cards=[0, 9]),
            CARDS,
            "cards (gaudi_power_cards) names 9, which is not on this node; its module ids are 0, 1, 2, 3.",
        ),
        (
            PowerOptions(600, cards=[0]),
            (PowerCard("0000:01:00.0", "0x1060", generation_of("0x1060")),),
            "its module ids are none that a driver knows.",
        ),
        (PowerOptions(600), (), "No Gaudi card is on the PCI bus of this node"),
        (
            PowerOptions(500),
            (card(0), card(1, 600, "0x1020")),
            (
                "Which power limits Gaudi 2 takes is not published, and card 1 (0000:01:00.0) is one; give range "
                "(gaudi_power_range), the least and the most W, from the vendor's document for that board."
            ),
        ),
        (PowerOptions(500), (card(0, 600, "0x9999"),), "Which power limits a card that is not known (0x9999) takes"),
        (
            PowerOptions(600),
            (card(0), card(1, holders=(TRAINING,))),
            (
                "Cards are in use, and a limit may slow what runs there: card 1 (0000:01:00.0) by process 4711 "
                "(python3) in gaudi3-scale-job-llama.service. Wait for it to finish, leave them out by cards "
                "(gaudi_power_cards), or set while_busy (gaudi_power_while_busy)."
            ),
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_with_what_to_do(options, cards, sentence):
    with pytest.raises(GaudiError, match=re.escape(sentence)):
        set_cards(options, cards)


def test_only_the_range_of_gaudi_3_is_published():
    ranges = {name: generation_of(pci_id).power_limits_w for name, pci_id in (("2", "0x1020"), ("3", "0x1060"))}
    assert ranges == {"2": None, "3": (450, 850)}


def own(least, most, pci_id="0x1020"):
    return replace(card(1, 600, pci_id), own_range=(least, most))


def test_a_range_that_the_card_itself_tells_needs_no_document():
    assert set_cards(PowerOptions(400), (own(350, 600),)) == [1]


@pytest.mark.parametrize(
    ("options", "meant", "whose"),
    [
        (PowerOptions(300), own(350, 600), "the range of card 1 (0000:01:00.0) (HLML) is 350 to 600 W"),
        # A site's range is a part of what the card takes.
        (PowerOptions(300, range=[200, 700]), own(350, 600), "the range of card 1 (0000:01:00.0) (HLML) is 350 to"),
        # And what hl-smi refuses stays refused, whatever the card says.
        (PowerOptions(400), own(100, 900, "0x1060"), "the range of Gaudi 3 (hl-smi's manual) is 450 to 850 W"),
    ],
)
def test_what_the_card_itself_does_not_take_is_refused(options, meant, whose):
    with pytest.raises(GaudiError, match=re.escape(whose)):
        set_cards(options, (meant,))
