# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``cap_power.yml`` on two nodes: what their cards have afterwards, what is refused, and which card is named."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from testinfra.host import Host

from tests.sandbox_nodes import fault, hosts, run

BOARD, CAP = 850, 600
CARDS = range(8)
DEVICES = "/var/lib/gaudi_simulator/kernel/dev/accel"


@dataclass(frozen=True)
class Capped:
    """A run of the playbook: how it ended, what it printed, which nodes it changed, and its report, if any was kept."""

    status: str
    screen: str
    changed: set[str]
    report: dict[str, Any]

    def limits(self, node: str, when: str) -> dict[int, int | None]:
        """Module id -> the limit that the report's JSON has."""
        return {card["module_id"]: card[when] for card in self.report["data"]["nodes"][node]["cards"]}


Cap = Callable[..., Capped]


@pytest.fixture(scope="module", autouse=True)
def nodes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Host]:
    played = run(tmp_path_factory.mktemp("driver"), "driver")
    assert played.status == "successful", played.stdout.read()[-4000:]
    return hosts()


@pytest.fixture
def cap(tmp_path: Path) -> Cap:
    def capped(watts: int, arguments: str = "", **options: object) -> Capped:
        done = run(
            tmp_path,
            "cap_power",
            arguments=arguments,
            gaudi_power_watts=watts,
            gaudi_report_target=str(tmp_path),
            **options,
        )
        page = tmp_path / "cap_power.json"
        report = json.loads(page.read_text()) if page.exists() else {}
        page.unlink(missing_ok=True)
        return Capped(done.status, done.stdout.read(), set(done.stats["changed"]), report)

    return capped


@pytest.fixture(autouse=True)
def as_found(cap: Cap) -> Iterator[None]:
    """The board's own limit afterwards, as it was."""
    yield
    done = cap(BOARD, gaudi_power_while_busy=True)
    assert done.status == "successful", done.screen[-4000:]


def limits(host: Host) -> dict[int, int]:
    """Module id -> the limit that the card shows."""
    lines = host.check_output("hl-smi -Q module_id,power.max -f csv,noheader,nounits").splitlines()
    return {int(module_id): int(limit) for module_id, limit in (line.split(",") for line in lines)}


def test_a_limit_is_foretold_set_once_and_shown_before_and_after(cap: Cap, nodes: dict[str, Host]) -> None:
    foretold = cap(CAP, "--check --diff")
    assert (foretold.status, foretold.changed) == ("successful", {*nodes}), foretold.screen[-4000:]
    assert "would be set" in foretold.screen and foretold.report == {}
    assert [limits(host) for host in nodes.values()] == [dict.fromkeys(CARDS, BOARD)] * 2
    done = cap(CAP, "--diff")
    assert (done.status, done.changed) == ("successful", {*nodes}), done.screen[-4000:]
    for node, host in nodes.items():
        assert limits(host) == dict.fromkeys(CARDS, CAP)
        assert done.limits(node, "before") == dict.fromkeys(CARDS, BOARD)
        assert done.limits(node, "after") == dict.fromkeys(CARDS, CAP)
        # Also where the driver tells it, which is what Prometheus gets.
        assert set(host.check_output(f"cat {DEVICES}/../../sys/class/accel/*/device/max_power").split()) == {"600000"}
    columns = [(row["node"], row["card"], row["before"], row["after"], row["state"]) for row in done.report["rows"]]
    assert columns == [(node, "0-7", "850 W", "600 W", "ok") for node in nodes]
    again = cap(CAP)
    assert (again.status, again.changed) == ("successful", set()), again.screen[-4000:]
    assert again.limits("node1", "before") == again.limits("node1", "after") == dict.fromkeys(CARDS, CAP)


@pytest.mark.long
def test_what_no_card_may_have_is_refused_and_nothing_touched(cap: Cap, nodes: dict[str, Host]) -> None:
    for options in ({"watts": 300}, {"watts": CAP, "gaudi_power_range": [850, 450]}):
        refused = cap(**options)
        assert (refused.status, refused.changed) == ("failed", set()), refused.screen[-4000:]
        assert {row["state"] for row in refused.report["rows"]} == {"not set"}
    assert "range (gaudi_power_range) is [850, 450], whose ends are swapped" in refused.report["notes"][0]
    assert "power outside the card's range" in cap(300).report["notes"][0]
    assert [limits(host) for host in nodes.values()] == [dict.fromkeys(CARDS, BOARD)] * 2


def test_a_card_that_ignores_it_is_named_and_all_others_have_it(cap: Cap, nodes: dict[str, Host]) -> None:
    with fault("node1", "power_limit_ignored=3"):
        done = cap(CAP)
    assert (done.status, done.changed) == ("failed", {*nodes}), done.screen[-4000:]
    assert limits(nodes["node1"]) == {**dict.fromkeys(CARDS, CAP), 3: BOARD} == done.limits("node1", "after")
    assert limits(nodes["node2"]) == dict.fromkeys(CARDS, CAP)
    assert done.report["notes"][0].startswith("node1: 1 of 8 cards did not accept 600 W: card 3 ")
    states = [(row["node"], row["card"], row["state"]) for row in done.report["rows"]]
    assert states == [("node1", "0-2, 4-7", "ok"), ("node1", "3", "not taken"), ("node2", "0-7", "ok")]


@pytest.mark.long
def test_a_card_in_use_is_left_alone_unless_that_is_wanted(cap: Cap, nodes: dict[str, Host]) -> None:
    holder = "molecule-power-holder"
    nodes["node2"].check_output(f"systemd-run --quiet --unit={holder} sh -c 'exec sleep 600 < {DEVICES}/accel2'")
    try:
        refused = cap(CAP)
        assert refused.status == "failed", refused.screen[-4000:]
        assert f"(sleep) in {holder}.service" in refused.report["notes"][0]
        assert limits(nodes["node2"]) == dict.fromkeys(CARDS, BOARD)
        assert limits(nodes["node1"]) == dict.fromkeys(CARDS, CAP)
        done = cap(CAP, gaudi_power_while_busy=True)
        assert (done.status, done.changed) == ("successful", {"node2"}), done.screen[-4000:]
    finally:
        nodes["node2"].check_output(f"systemctl stop {holder}")
    assert limits(nodes["node2"]) == dict.fromkeys(CARDS, CAP)
