# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A node with one card of eight, as a virtual machine has: none of its ports leads to another card or to a switch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sandbox_nodes import fault, run

CARD, CARDS, PORTS, NODE = 1, 8, 24, "node1"
ELSEWHERE = "missing_card=" + ",".join(str(card) for card in range(CARDS) if card != CARD)
NO_LINK = "port_down=" + ",".join(f"{CARD}:{port}" for port in range(PORTS))


@pytest.mark.long
@pytest.mark.parametrize("cards", [1, CARDS])
def test_links_are_asked_only_of_cards_that_are_there(tmp_path: Path, cards: int) -> None:
    given = {"gaudi_cards_per_node": cards, "gaudi_report_target": str(tmp_path)}
    with fault(NODE, ELSEWHERE, NO_LINK):
        done = run(tmp_path, "verify", arguments=f"--limit {NODE}", **given)
    screen = done.stdout.read()
    if cards == 1:
        assert done.status == "successful" and "0/0 + 0/3" in screen, screen[-4000:]
    else:
        assert done.status == "failed" and "found 1" in screen, screen[-4000:]
