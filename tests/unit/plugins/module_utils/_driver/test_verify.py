# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A node after a change of its driver: each check, and what is waited for."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hpu_facts import HpuFacts, gather
from ansible_collections.gaudi3.scale.plugins.module_utils._driver.verify import driver_checks, require_healthy
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.check import failed
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.lookup import find_release
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import ADDRESSES, HlSmi, write_kernel

RELEASE = find_release("1.24.1")
FIRST, LAST = ADDRESSES[0], ADDRESSES[-1]
ABSURD = "the value from hl-smi is impossible, so the firmware reports nothing usable"


@dataclass
class Node:
    """The node's /sys and /proc, and its hl-smi; ``naps`` are how long was waited, in seconds."""

    root: Path
    smi: HlSmi = field(default_factory=HlSmi)
    naps: list[float] = field(default_factory=list)
    while_asleep: Callable[[int], None] = lambda _nap: None

    def facts(self) -> HpuFacts:
        return gather(self.smi, str(self.root))

    def set_status(self, address: str, status: str) -> None:
        (self.root / "sys/bus/pci/devices" / address / "status").write_text(f"{status}\n")

    def lose(self, address: str) -> None:
        shutil.rmtree(self.root / "sys/bus/pci/devices" / address)
        for link in (self.root / "sys/class/accel").glob("*/device"):
            if not link.exists():
                shutil.rmtree(link.parent)

    def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.while_asleep(len(self.naps))

    def require(self, settle_timeout: float, cards: int = 8) -> None:
        require_healthy(RELEASE, cards, self.smi, str(self.root), settle_timeout, self.sleep)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(write_kernel(tmp_path))


def unmet(facts: HpuFacts, cards: int = 8) -> dict[str, str]:
    """Name to sentence of the checks that stand against the node."""
    return {check.name: check.sentence for check in failed(driver_checks(facts, RELEASE, cards))}


def test_a_healthy_node_passes_every_check_without_waiting(node: Node) -> None:
    checks = driver_checks(node.facts(), RELEASE, 8)
    assert [(check.name, check.ok) for check in checks] == [
        ("modules", True),
        ("driver", True),
        ("cards", True),
        ("status", True),
        ("temperature", True),
    ]
    node.require(settle_timeout=0)
    assert node.naps == []


def test_modules_that_are_not_loaded_are_named(node: Node) -> None:
    (node.root / "proc/modules").write_text("habanalabs 1 0 - Live 0x0\nhabanalabs_compat 1 0 - Live 0x0\n")
    assert unmet(node.facts()) == {
        "modules": "modules: found habanalabs_cn, habanalabs_en, habanalabs_ib not loaded, expected all loaded; "
        "see `dmesg`."
    }


def test_the_driver_of_another_release_is_told_with_its_build(node: Node) -> None:
    for path in (node.root / "sys/bus/pci/devices").glob("*/driver_ver"):
        path.write_text("1.23.0-2eae87a\n")
    assert unmet(node.facts()) == {"driver": "driver: found 1.23.0-2eae87a, expected 1.24.1; see `modinfo habanalabs`."}


def test_a_card_that_is_not_on_the_bus_is_counted_and_the_others_are_named(node: Node) -> None:
    node.lose(LAST)
    reported = unmet(node.facts())
    assert set(reported) == {"cards"}
    assert reported["cards"].startswith(f"cards: found 7 ({', '.join(ADDRESSES[:-1])}), expected 8; see `lspci")
    assert unmet(node.facts(), cards=7) == {}


def test_a_card_that_does_not_work_is_named_with_its_status(node: Node) -> None:
    node.set_status(FIRST, "in reset")
    (node.root / "sys/bus/pci/devices" / LAST / "status").unlink()
    reported = unmet(node.facts())
    assert set(reported) == {"status"}
    assert reported["status"].startswith(f"status: found {FIRST} in reset, {LAST} without driver, expected ")


def test_a_card_of_0_degrees_did_not_initialize(node: Node) -> None:
    node.smi.cells = {FIRST: {"temperature.aip": "0 C"}}
    assert unmet(node.facts()) == {
        "temperature": f"temperature: found none at {FIRST}, expected above 0 C; the card did not initialize: reboot."
    }


@pytest.mark.parametrize(
    ("shown", "sentence"),
    [
        ("N/A", f"at {FIRST}; hl-smi reports no value: run hl-smi as root and check its error."),
        (
            "505712272 C",
            f"at {FIRST} (hl-smi says 505712272 C); {ABSURD}: run hl-smi as root and check its error, then update it.",
        ),
    ],
)
def test_unknown_is_not_cold_and_no_reason_against_a_driver(node: Node, shown: str, sentence: str) -> None:
    node.smi.cells = {FIRST: {"temperature.aip": shown}}
    assert unmet(node.facts()) == {"temperature": f"temperature: it is not known {sentence}"}
    node.require(settle_timeout=0)


def test_a_temperature_that_comes_late_is_waited_for(node: Node) -> None:
    node.smi.cells = {FIRST: {"temperature.aip": "N/A"}}

    def come_up(nap: int) -> None:
        node.smi.cells = {} if nap == 2 else node.smi.cells

    node.while_asleep = come_up
    node.require(settle_timeout=60)
    assert len(node.naps) >= 1


def test_a_node_without_driver_fails_every_check_but_the_count(tmp_path: Path) -> None:
    reported = unmet(gather(HlSmi(), str(write_kernel(tmp_path, driver=False))))
    assert set(reported) == {"modules", "driver", "status", "temperature"}
    assert "driver: found none, expected 1.24.1" in reported["driver"]


def test_more_cards_than_wanted_are_fine(node: Node) -> None:
    assert unmet(node.facts(), cards=6) == {}


def test_a_card_in_reset_is_waited_for(node: Node) -> None:
    node.set_status(FIRST, "in reset")

    def come_up(nap: int) -> None:
        if nap == 3:
            node.set_status(FIRST, "Operational")

    node.while_asleep = come_up
    node.require(settle_timeout=60)
    assert len(node.naps) == 3
    assert all(seconds > 0 for seconds in node.naps)


def test_a_card_that_is_still_cold_is_waited_for(node: Node) -> None:
    node.smi.cells = {FIRST: {"temperature.aip": "0 C"}}

    def warm(_nap: int) -> None:
        node.smi.cells = {}

    node.while_asleep = warm
    node.require(settle_timeout=60)
    assert len(node.naps) == 1


def test_a_card_that_stays_in_reset_ends_it_with_the_time(node: Node, monkeypatch: Any) -> None:
    node.set_status(FIRST, "in reset")
    start = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: start + sum(node.naps))
    with pytest.raises(GaudiError) as caught:
        node.require(settle_timeout=10)
    assert 10 <= sum(node.naps) <= 15
    assert str(caught.value).startswith(f"The driver 1.24.1 does not work: status: found {FIRST} in reset,")


@pytest.mark.parametrize("lost", ["card", "modules", "release"])
def test_what_does_not_come_by_itself_is_not_waited_for(node: Node, lost: str) -> None:
    if lost == "card":
        node.lose(LAST)
    elif lost == "modules":
        (node.root / "proc/modules").write_text("habanalabs 1 0 - Live 0x0\n")
    else:
        for path in (node.root / "sys/bus/pci/devices").glob("*/driver_ver"):
            path.write_text("1.23.0-2eae87a\n")
    with pytest.raises(GaudiError, match=r"The driver 1\.24\.1 does not work: "):
        node.require(settle_timeout=60)
    assert node.naps == []


def test_every_reason_is_told(node: Node) -> None:
    node.lose(LAST)
    node.set_status(FIRST, "in reset")
    with pytest.raises(GaudiError, match=r"does not work, 2 reasons: \(1\) cards: .* \(2\) status: "):
        node.require(settle_timeout=0)
