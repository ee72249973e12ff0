# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which cards a job with part of a node takes, by tables; what belongs together is read from a node's sysfs."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.accel_sysfs import accel_devices, pci_cards
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.part import (
    NodeCards,
    Wanted,
    cards_of,
    choose,
    modules_text,
    refuse_named,
    refuse_taken,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import ADDRESSES, write_kernel

HL288E, HL338, OAM = "0x1021", "0x1063", "0x1060"
HALVES = ((0, 1, 2, 3), (4, 5, 6, 7))
EIGHT = tuple(range(8))


def node(*taken: int, host: str = "n1", board: str = "", who: str = "held by job a") -> NodeCards:
    return NodeCards(host, EIGHT, dict.fromkeys(taken, who), HALVES, board)


def refusal(call, *arguments) -> str:
    with pytest.raises(GaudiError) as caught:
        call(*arguments)
    said = str(caught.value)
    assert "\n" not in said
    assert said.endswith(".")
    return said


@pytest.mark.parametrize(
    ("pci_id", "cards", "together", "board"),
    [
        # A board joins four, and nothing joins the boards.
        (HL288E, 8, HALVES, "HL-288E"),
        (HL288E, 4, ((0, 1, 2, 3),), ""),
        # A bridge joins four, and ports lead to the others.
        (HL338, 8, HALVES, ""),
        # All are joined: what is near is then a matter of the processors.
        (OAM, 8, HALVES, ""),
        (OAM, 2, ((0, 1),), ""),
    ],
)
def test_what_belongs_together_is_what_boards_join_and_else_what_a_numa_node_has(
    pci_id: str, cards: int, together: tuple[tuple[int, ...], ...], board: str, tmp_path: Path
) -> None:
    root = str(write_kernel(tmp_path, ADDRESSES[:cards], pci_id=pci_id))
    found = cards_of("n1", pci_cards(root), accel_devices(root))
    assert (found.modules, found.together, found.board, found.taken) == (tuple(range(cards)), together, board, {})


def test_without_numa_nodes_nothing_is_nearer_than_the_rest(tmp_path: Path) -> None:
    root = write_kernel(tmp_path)
    for place in root.glob("sys/bus/pci/devices/*/numa_node"):
        place.write_text("-1\n")
    found = cards_of("n1", pci_cards(str(root)), accel_devices(str(root)))
    assert (found.together, choose([found], Wanted(2))) == ((), (0, 1))


def test_a_card_that_does_not_work_is_not_to_be_had(tmp_path: Path) -> None:
    root = write_kernel(tmp_path)
    (root / "sys/bus/pci/devices" / ADDRESSES[2] / "status").write_text("In reset\n")
    found = cards_of("n1", pci_cards(str(root)), accel_devices(str(root)))
    assert found.taken == {2: "not usable (In reset)"}
    assert choose([found], Wanted(4)) == (4, 5, 6, 7)


@pytest.mark.parametrize(
    ("taken", "count", "found"),
    [
        ((), 4, (0, 1, 2, 3)),
        ((), 2, (0, 1)),
        # The half with the fewest free ones that are enough stays the smaller one.
        ((4, 5), 2, (6, 7)),
        ((0, 1, 2, 3), 4, (4, 5, 6, 7)),
        ((1,), 4, (4, 5, 6, 7)),
        ((1,), 3, (0, 2, 3)),
        # Nothing but both halves has so many.
        ((), 6, (0, 1, 2, 3, 4, 5)),
        ((0,), 6, (1, 2, 3, 4, 5, 6)),
        ((0, 4), 4, (1, 2, 3, 5)),
        ((), 8, EIGHT),
    ],
)
def test_free_ones_that_belong_together_are_chosen(taken: tuple[int, ...], count: int, found: tuple[int, ...]) -> None:
    assert choose([node(*taken)], Wanted(count)) == found


def test_those_of_before_come_first_where_they_are_free() -> None:
    before = (2, 3, 4, 5)
    assert choose([node()], Wanted(4, before=before)) == before
    assert choose([node(3)], Wanted(4, before=before)) == (4, 5, 6, 7)
    # Of another number of ranks.
    assert choose([node()], Wanted(2, before=before)) == (0, 1)


def test_several_nodes_have_the_same() -> None:
    assert choose([node(0, host="n1"), node(5, host="n2")], Wanted(3)) == (1, 2, 3)
    assert choose([node(0, 1, 2, 3, host="n1"), node(host="n2")], Wanted(4)) == (4, 5, 6, 7)


def test_more_than_are_free_are_refused_with_who_has_the_others() -> None:
    cards = NodeCards("n1", EIGHT, {0: "held by job a", 1: "held by job a", 5: "held by x (process 7 of anna)"}, HALVES)
    assert refusal(choose, [cards], Wanted(6)) == (
        "processes_per_node is 6, and 5 of 8 cards are free on n1: modules 0, 1 are held by job a, module 5 is held by "
        "x (process 7 of anna); ask for 5 at most, or stop what has the others."
    )
    assert "0 of 8 cards are free on n1: modules 0 to 7 are held by job a; stop what has them, or wait." in refusal(
        choose, [node(*EIGHT)], Wanted(1)
    )


def test_nodes_without_enough_in_common_say_what_each_lacks() -> None:
    first, second = node(0, 1, 2, 3, host="n1"), node(4, 5, 6, host="n2", who="held by job b")
    said = refusal(choose, [first, second], Wanted(4, "gaudi_training_processes_per_node"))
    assert said == (
        "gaudi_training_processes_per_node is 4, and module 7 is free on all of n1, n2: on n1 modules 0 to 3 are held "
        "by job a; on n2 modules 4 to 6 are held by job b, and a job has the same modules on each of its nodes; ask "
        "for 1 at most, or stop what has the others."
    )
    assert "and no module is free on all of n1, n2" in refusal(
        choose, [node(0, 1, 2, 3), node(4, 5, 6, 7, host="n2")], Wanted(1)
    )


def test_free_ones_of_two_boards_that_nothing_joins_are_no_four() -> None:
    said = refusal(choose, [node(0, 1, 6, 7, board="HL-288E")], Wanted(4))
    assert (
        "modules 2 to 5 are free on n1, which no link joins: HL-288E cards are joined in groups (modules 0 to 3, "
        in said
    )
    assert said.endswith("Ask for 2 at most, or stop what has the others.")
    # More than a board joins go over the host's network, as the launch remarks.
    assert choose([node(board="HL-288E")], Wanted(8)) == EIGHT
    assert choose([node(0, 1, 6, 7)], Wanted(4)) == (2, 3, 4, 5)


@pytest.mark.parametrize(
    ("cards", "named", "said"),
    [
        (node(), (0, 9), "modules names 9, and n1 has modules 0 to 7; name modules that it has."),
        (
            node(4, 5),
            (5, 6),
            "modules names 5, 6, and module 5 is held by job a on n1 (modules 0 to 3, 6, 7 are free there); name ",
        ),
        (node(*EIGHT), (1,), "and module 1 is held by job a on n1 (none is free there)"),
        (
            node(board="HL-288E"),
            (3, 4),
            "3, 4, which no link joins on n1: HL-288E cards are joined in groups (modules 0 to 3, modules 4 to 7)",
        ),
    ],
)
def test_named_ones_that_cannot_be_had_are_refused(cards: NodeCards, named: tuple[int, ...], said: str) -> None:
    assert said in refusal(refuse_named, cards, named)


def test_named_ones_that_can_be_had_are_taken() -> None:
    refuse_named(node(0, 1), (2, 3))
    refuse_named(node(board="HL-288E"), (4, 5, 6, 7))
    refuse_named(node(board="HL-288E"), EIGHT)
    refuse_named(node(), (3, 4))


def test_what_others_have_of_a_whole_node_is_named() -> None:
    refuse_taken(node(0), (1, 2), Wanted(2))
    assert refusal(refuse_taken, node(0), EIGHT, Wanted(8)) == (
        "processes_per_node is 8 and module 0 is held by job a on n1; wait until it is free, or ask for the 7 that are "
        "free."
    )
    assert "wait until they are free, or stop what has them." in refusal(refuse_taken, node(*EIGHT), EIGHT, Wanted(8))


@pytest.mark.parametrize(
    ("modules", "text"),
    [
        ((3,), "module 3"),
        ((0, 1, 2, 3), "modules 0 to 3"),
        ((0, 1, 4, 6, 7), "modules 0, 1, 4, 6, 7"),
        ((), "modules none"),
    ],
)
def test_modules_as_words(modules: tuple[int, ...], text: str) -> None:
    assert modules_text(modules) == text
