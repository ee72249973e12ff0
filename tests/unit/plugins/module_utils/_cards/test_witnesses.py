# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Three witnesses of a card: where they agree nothing is said, and where not, what each said and why."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from functools import partial
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._audit.facts import gather as audit_facts
from ansible_collections.gaudi3.scale.plugins.module_utils._cards import hpu_facts
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.accel_sysfs import AccelDevice
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hlml import Answer, HlmlCard, ask_hlml
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hlml_fields import named
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hpu_facts import HpuFacts, gather
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.witnesses import disagreements
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult, run_process

from sandbox.simulator.hl_smi import csv_query, listing, ports
from sandbox.simulator.kernel_tree import render
from sandbox.simulator.node_state import Node, replace
from sandbox.simulator.readings import readings
from tests.unit.sandbox import simulated
from tests.unit.sandbox.simulated_hlml import SimulatedHlml, build_in

ADDRESS = "0000:19:00.0"
DEVICE = AccelDevice(7, ADDRESS, "Operational", 3, "1.24.1-b336d5e", "hl-gaudi3-1.22.0-fw-61.3.2-sec-3", 850_000)
ROW = {
    "module_id": "3",
    "serial": "AN01",
    "uuid": "01P0-HL3080",
    "memory.total": "131072 MiB",
    "temperature.aip": "40 C",
    "ecc.errors.uncorrected.volatile.total": "0",
}
LISTED = {
    "Module status": "Operational",
    "Firmware [SPI] Version": "Preboot version hl-gaudi3-1.22.0-fw-61.3.2-sec-3 (Jul 01 2025 - 10:00:00)",
    "Replaced Rows/Pending": "No",
}
TOLD: Mapping[str, int | str] = {
    "module_id": 3,
    "serial": "AN01",
    "uuid": "01P0-HL3080",
    "status": "operational",
    "firmware_spi": "1.22.0-fw-61.3.2-sec-3",
    "power_limit": 850_000,
    "memory_total": 131072 << 20,
    "ecc_uncorrected_volatile": 0,
    "rows_pending": 0,
    "celsius_aip": 43,
}
THREE = "3 according to the kernel and hl-smi"
INDEX = "HLML gave the card's index, which changes at each load of the driver"
UNIT = "1,000 times as much: one of them uses another unit"
NOW = datetime(2026, 11, 21, 9, 5, 7, tzinfo=timezone.utc)


def told(**others: int | str) -> HlmlCard:
    return HlmlCard(ADDRESS, {name: Answer(named(name)[0], value) for name, value in {**TOLD, **others}.items()})


def sentences(
    device: AccelDevice | None = DEVICE, row: Mapping[str, str | None] = ROW, hlml: HlmlCard | None = None
) -> list[str]:
    return [str(one) for one in disagreements(device, row, LISTED, told() if hlml is None else hlml)]


def test_where_all_agree_and_where_one_or_two_are_silent_nothing_is_said() -> None:
    assert sentences() == []
    assert sentences(device=None, hlml=HlmlCard(ADDRESS)) == []
    assert sentences(row=dict.fromkeys(ROW)) == []


@pytest.mark.parametrize(
    ("hlml", "sentence"),
    [
        (
            {"module_id": 7},
            f"the module ID is {THREE}, but 7 according to HLML ({INDEX})",
        ),
        ({"module_id": 5}, f"the module ID is {THREE}, but 5 according to HLML"),
        (
            {"power_limit": 850},
            f"the power limit is 850,000 mW according to the kernel, but 850 mW according to HLML ({UNIT})",
        ),
        (
            {"power_limit": 600_000},
            "the power limit is 850,000 mW according to the kernel, but 600,000 mW according to HLML",
        ),
        ({"serial": "AN02"}, "the serial number is AN01 according to hl-smi, but AN02 according to HLML"),
        (
            {"ecc_uncorrected_volatile": 3},
            "the number of uncorrected memory errors is 0 according to hl-smi, but 3 according to HLML",
        ),
        (
            {"rows_pending": 1},
            "the number of rows that wait to be replaced is 0 according to hl-smi, but 1 according to HLML",
        ),
        ({"celsius_aip": 90}, "the temperature is 40 C according to hl-smi, but 90 C according to HLML"),
    ],
)
def test_what_differs_is_said_with_the_reason_where_one_is_known(hlml: dict[str, int | str], sentence: str) -> None:
    assert sentences(hlml=told(**hlml)) == [sentence]


def test_what_no_card_can_have_is_no_second_opinion() -> None:
    (sentence,) = sentences(row={**ROW, "temperature.aip": "505,712,272 C"})
    assert sentence == (
        "the temperature is 505,712,272 C according to hl-smi, but 43 C according to HLML (hl-smi's value is one that "
        "no card can have)"
    )


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> SimulatedHlml:
    return build_in(tmp_path_factory.mktemp("hlml"))


class Simulated:
    """A node of the simulator: its kernel below a directory, its hl-smi, and its library."""

    def __init__(self, node: Node, root: Path, library: SimulatedHlml, monkeypatch: pytest.MonkeyPatch) -> None:
        self._node = node
        self.root = str(root)
        library.show(node)
        for path, content in render(node, simulated.MACHINE).items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(content, encoding="utf-8")
        monkeypatch.setattr(hpu_facts, "ask_hlml", partial(ask_hlml, libraries=(library.path,), lock=""))

    def run(
        self, argv: list[str], *, timeout: float | None = None, env: Mapping[str, str] | None = None
    ) -> CommandResult:
        if argv[0] != "hl-smi":
            return run_process(argv, timeout=timeout, env=env)
        found = readings(self._node)
        if argv[1] == "-Q":
            fields = argv[2].split(",")
            said = csv_query.page(found, fields, "1.24.1-b336d5e", None, NOW, header=True, units=True)
        elif argv[1] == "-L":
            said = listing.page(found, len(found), "1.24.1-b336d5e", "hl-1.24.0-fw-62.6.2.0", NOW, None)
        else:
            said = ports.links(next(one for one in found if one.card.pci_address == argv[4]), external=True)
        return CommandResult(0, said, "")

    def facts(self) -> HpuFacts:
        return gather(self.run, self.root, hlml=True)  # type: ignore[arg-type]


@pytest.mark.parametrize("generation", ["gaudi2", "gaudi3"])
@pytest.mark.parametrize("faults", [{}, {"uncorrectable_ecc": [2], "hot_card": [1], "port_down": ["1:5"]}])
def test_the_simulated_witnesses_agree(
    generation: str,
    faults: dict[str, object],
    library: SimulatedHlml,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = simulated.loaded(generation, faults=faults)
    facts = Simulated(node, tmp_path, library, monkeypatch).facts()
    assert facts.hlml.reason == ""
    assert len(facts.cards) == 8
    assert [str(one) for card in facts.cards for one in card.disagreements] == []


def test_an_audit_asks_all_three(library: SimulatedHlml, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Simulated(simulated.loaded(), tmp_path / "node", library, monkeypatch)
    # The library of another node, one card of which has errors.
    library.show(replace(simulated.loaded(), faults={"uncorrectable_ecc": [2]}))
    places = {name: str(tmp_path / name) for name in ("flags", "qualification", "state_directory", "log_directory")}
    found = audit_facts(shown.run, job="", kernel_root=shown.root, **places)["cards"]  # type: ignore[arg-type]
    assert (found["compared"], found["explained"], found["hlml_reason"]) == (8, [], "")
    assert [one.partition(" is ")[0] for one in found["unexplained"]] == [
        "the number of uncorrected memory errors",
        "the number of rows that wait to be replaced",
    ]
