# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Events of the simulated library, by one process that waits; what its end is called, and that it is tried again."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter import card_events
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.card_events import CardEvents, event_families
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import write_kernel

from tests.unit.sandbox.simulated_hlml import SimulatedHlml, build_in


@dataclass
class Watched:
    """A node whose events are waited for, and what was said of them."""

    library: SimulatedHlml
    root: str
    addresses: list[str]
    said: list[str] = field(default_factory=list)

    def events(self) -> CardEvents:
        return CardEvents(self.root, self.said.append, (self.library.path,))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> SimulatedHlml:
    return build_in(tmp_path_factory.mktemp("hlml"))


@pytest.fixture
def node(library: SimulatedHlml, tmp_path: Path) -> Watched:
    addresses = [one.card.pci_address for one in sorted(library.show(), key=lambda one: one.card.module_id)]
    return Watched(library, str(write_kernel(tmp_path, addresses)), addresses)


def until(holds: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_an_error_is_counted_and_said_while_it_happens(node: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(card_events, "SILENT_SECONDS", 1.0)
    monkeypatch.setattr(card_events, "WAIT_MILLISECONDS", 200)
    events = node.events()
    ended: list[str] = []
    thread = threading.Thread(target=lambda: ended.append(events.wait_once()))
    thread.start()
    until(lambda: len(events.counts) == 8)
    assert {count for kinds in events.counts.values() for count in kinds.values()} == {0}
    # Quiet for longer than one wait: nothing has happened, and it goes on.
    time.sleep(1.5)
    assert not ended
    node.library.show(uncorrectable_ecc=[2])
    until(lambda: events.counts[node.addresses[2]]["dram_derr"] == 1)
    assert node.said == [f"Card {node.addresses[2]}: HLML reported an uncorrected error of its HBM"]
    text = "".join(
        f"{sample.labels} {sample.value}\n"
        for family in event_families(events.counts, {node.addresses[2]: "2"})
        for sample in family.samples
    )
    assert "{'card': '2', 'event': 'dram_derr'} 1\n" in text and "'ecc_derr'} 0\n" in text
    assert "'card': '3'" not in text
    # A process that is ended is one whose end is said.
    for pid in descendants():
        os.kill(pid, 9)
    thread.join(10)
    assert ended == ["its process ended"]


def descendants() -> list[int]:
    """The processes that this one has started."""
    mine = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid():
            mine.append(int(stat.parent.name))
    return mine


def test_a_library_that_hangs_is_ended_and_named(node: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(card_events, "SILENT_SECONDS", 0.7)
    node.library.show(hlml_hangs=[1])
    assert node.events().wait_once() == "HLML did not answer for 0.7 s"
    assert descendants() == []


def test_one_lost_card_leaves_the_others(node: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(card_events, "WAIT_MILLISECONDS", 100)
    node.library.show(hlml_lost_card=[1])
    events = node.events()
    thread = threading.Thread(target=events.wait_once, daemon=True)
    thread.start()
    until(lambda: len(events.counts) == 7)
    assert node.addresses[1] not in events.counts
    for pid in descendants():
        os.kill(pid, 9)
    thread.join(10)


def test_without_a_library_a_driver_or_a_release_that_is_read_it_says_so(node: Watched, tmp_path: Path) -> None:
    node.library.show(hlml_older=True)
    assert "is of release 1.20.0" in node.events().wait_once()
    absent = CardEvents(node.root, node.said.append, (str(tmp_path / "libhlml.so"),))
    assert absent.wait_once().startswith("HLML is not installed: there is no ")
    bare = CardEvents(str(write_kernel(tmp_path / "bare", driver=False)), node.said.append)
    assert bare.wait_once() == "no driver holds a card"


def test_it_is_tried_again_and_the_same_reason_is_said_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(card_events, "AGAIN_SECONDS", 0.05)
    said: list[str] = []
    root = write_kernel(tmp_path)
    events = CardEvents(str(root), said.append, (str(tmp_path / "libhlml.so"),)).start()
    until(lambda: bool(said))
    time.sleep(0.3)
    assert len(said) == 1 and said[0].startswith("Events of the cards are not reported: HLML is not installed: ")
    assert events.counts == {}
