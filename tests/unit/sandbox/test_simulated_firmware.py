# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

from sandbox.simulator import hl_fw_loader
from sandbox.simulator.node_state import Node, replace
from sandbox.simulator.readings import started

from .simulated import loaded, virgin

OLD, NEW = "1.22.0-fw-61.3.2-sec-3", "1.24.0-fw-62.6.2-sec-3"


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> list[Node]:
    """The node that the program reads and writes, as the one entry of a list."""
    kept = [virgin()]
    monkeypatch.setattr(hl_fw_loader, "read", lambda: kept[0])
    monkeypatch.setattr(hl_fw_loader, "write", lambda new: kept.__setitem__(0, new))
    monkeypatch.setattr(hl_fw_loader, "locked", nullcontext)
    monkeypatch.setattr(hl_fw_loader, "refresh", lambda _node: None)
    return kept


def image(directory: Path, text: str = f"hl-gaudi3-{NEW}\n") -> str:
    path = directory / "image.itb"
    path.write_text(text)
    return str(path)


def test_one_card_is_shown_by_its_address(node: list[Node], capsys: pytest.CaptureFixture[str]) -> None:
    assert hl_fw_loader.main(["-s", "-d", node[0].cards[3].pci_address]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"Current SPI version: Preboot version hl-gaudi3-{OLD} (")
    assert hl_fw_loader.main(["-s", "-d", "0000:ff:00.0"]) == 1


def test_a_card_starts_from_what_was_written_after_its_reset(node: list[Node], tmp_path: Path) -> None:
    address = node[0].cards[0].pci_address
    assert hl_fw_loader.main(["-y", "-d", address, "-f", image(tmp_path)]) == 0
    assert [card.written for card in node[0].cards] == [NEW, *[""] * 7]
    assert {card.firmware for card in node[0].cards} == {OLD}
    assert [card.firmware for card in started(node[0]).cards] == [NEW, *[OLD] * 7]
    waits = replace(node[0], faults={"power_cycle_needed": [node[0].cards[0].module_id]})
    assert started(waits).cards[0].firmware == OLD
    assert started(waits, power_cycled=True).cards[0].firmware == NEW


@pytest.mark.parametrize("fault", [{"write_protected": True}, {"flash_fails": [1]}])
def test_a_card_that_cannot_be_written_keeps_its_flash(
    fault: dict[str, object], node: list[Node], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node[0] = replace(node[0], faults=fault)
    card = next(card for card in node[0].cards if card.module_id == 1)
    assert hl_fw_loader.main(["-y", "-d", card.pci_address, "-f", image(tmp_path)]) == 1
    assert "Finished sending firmware: FAILED" in capsys.readouterr().out
    assert {card.written for card in node[0].cards} == {""}


def test_nothing_is_written_under_a_loaded_driver_or_from_another_image(node: list[Node], tmp_path: Path) -> None:
    assert hl_fw_loader.main(["-y", "-f", image(tmp_path, "hl-gaudi2-1.22.0-fw-61.3.1-sec-11\n")]) == 1
    node[0] = loaded()
    assert hl_fw_loader.main(["-y", "-f", image(tmp_path)]) == 1
    assert {card.written for card in node[0].cards} == {""}
