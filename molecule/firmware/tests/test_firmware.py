# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``upgrade_firmware.yml`` on two nodes with a loaded driver: what it refuses, writes, and never repeats.

Each test accepts a version of its own, newer than the one before, in an image of its own: the tests run in file order.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from testinfra.host import Host

from tests.sandbox_nodes import fault, hosts, run, sandbox

STATE = "/var/lib/gaudi_simulator/node.json"
RECORD = "/var/lib/gaudi3_scale/firmware.json"
IMAGE = "/root/molecule_firmware.itb"
LOGS = "/var/log/gaudi3_scale"
OUT_OF_SERVICE = "/root/molecule_out_of_service"
ASK_BMC = ["/usr/local/sbin/gaudi-simulator", "bmc-write-protection"]
# A scheduler that keeps, as its drain, what the node was like when it was drained.
SERVICE = {
    "gaudi_firmware_drain": "commands",
    "gaudi_drain_command": ["cp", STATE, OUT_OF_SERVICE],
    "gaudi_drain_resume_command": ["rm", OUT_OF_SERVICE],
}
MODULES = 5
NUMBERS = count(1)


@dataclass(frozen=True)
class Upgrade:
    """How a run ended. ``rows`` are those of the table, ``said`` what hosts failed with, ``changed`` by host."""

    ok: bool
    rows: list[dict[str, Any]]
    said: dict[str, str]
    changed: Mapping[str, int]
    output: str
    rounds: int

    def states(self, node: str) -> set[str]:
        return {row["state"] for row in self.rows if row["node"] == node}


@pytest.fixture(scope="module")
def nodes() -> Iterator[dict[str, Host]]:
    found = hosts()
    before = {name: shown(host) for name, host in found.items()}
    yield found
    for name, host in found.items():
        give_back(host, before[name])
        sandbox("fault", name, "clear")


def give_back(host: Host, firmware: Mapping[int, str]) -> None:
    """The node as it was: its cards with this firmware, and nothing that tells of another."""
    node = node_json(host)
    for card in node["cards"]:
        card.update(firmware=firmware[card["module_id"]], written="")
    host.check_output(f"echo {shlex.quote(json.dumps(node))} > {STATE}")
    host.check_output(f"rm -f {RECORD} {IMAGE} {OUT_OF_SERVICE} {LOGS}/firmware-*.log")


def image(nodes: Mapping[str, Host]) -> str:
    """Put an image of a version that no card has onto all nodes; the version."""
    version = f"1.99.{next(NUMBERS)}-fw-99.0.{os.getpid()}-sec-3"
    for host in nodes.values():
        host.check_output(f"echo hl-gaudi3-{version} > {IMAGE}")
    return version


def write_firmware(directory: Path, accept: Mapping[str, str] | None = None, **variables: object) -> Upgrade:
    """Run the playbook with these variables."""
    directory.mkdir(exist_ok=True)
    settings = {
        "gaudi_firmware_image": IMAGE,
        "gaudi_firmware_write_protection_command": ASK_BMC,
        "gaudi_allow_reboot": False,
        "gaudi_report_target": str(directory / "reports"),
    }
    if accept is not None:
        settings["gaudi_firmware_accept"] = dict(accept)
    result = run(directory, "upgrade_firmware", **{**settings, **variables})
    said = {
        event["event_data"]["host"]: str(event["event_data"]["res"].get("msg", ""))
        for event in result.events
        if event["event"] == "runner_on_failed"
    }
    report = json.loads((directory / "reports" / "upgrade_firmware.json").read_text())
    plays = [event for event in result.events if event["event"] == "playbook_on_play_start"]
    rounds = sum(event["event_data"]["name"] == "Write the firmware" for event in plays)
    changed = result.stats.get("changed", {})
    return Upgrade(result.rc == 0, report["rows"], said, changed, result.stdout.read()[-6000:], rounds)


def node_json(host: Host) -> dict[str, Any]:
    return json.loads(host.check_output(f"cat {STATE}"))


def shown(host: Host) -> dict[int, str]:
    """Module id to the firmware that the simulated card has started from."""
    return {card["module_id"]: card["firmware"] for card in node_json(host)["cards"]}


def loads(host: Host) -> int:
    """How often the driver was loaded: what nobody touched keeps its number."""
    return int(node_json(host)["loads"])


def test_without_acceptance_it_only_shows(nodes: dict[str, Host], tmp_path: Path) -> None:
    before = {name: node_json(host) for name, host in nodes.items()}
    upgrade = write_firmware(tmp_path)
    assert upgrade.ok, upgrade.output
    assert {row["state"] for row in upgrade.rows} == {"shown"}
    firmware = {card["firmware"] for node in before.values() for card in node["cards"]}
    assert {row["before"] for row in upgrade.rows} == firmware
    assert {name: node_json(host) for name, host in nodes.items()} == before
    assert not upgrade.changed


@pytest.mark.parametrize(
    ("accept", "words"),
    [
        ({"gaudi3": "1.22.0-fw-61.3.1-sec-11"}, ("1.22.0-fw-61.3.1-sec-11", "gaudi2")),
        ({"gaudi3": "1.99.0-fw-99.0.0-sec-2"}, ("security version 3", "2", IMAGE, "not the accepted")),
    ],
    ids=["another generation's", "security version and image"],
)
def test_what_cannot_be_meant_is_refused(
    accept: dict[str, str], words: tuple[str, ...], nodes: dict[str, Host], tmp_path: Path
) -> None:
    image(nodes)
    before = {name: node_json(host) for name, host in nodes.items()}
    upgrade = write_firmware(tmp_path, accept)
    assert not upgrade.ok
    assert set(upgrade.said) == set(nodes), upgrade.output
    for message in upgrade.said.values():
        assert "\n" not in message
        assert [word for word in words if word not in message] == [], message
    assert {name: node_json(host) for name, host in nodes.items()} == before


@pytest.mark.long
def test_cards_of_another_generation_are_only_shown(nodes: dict[str, Host], tmp_path: Path) -> None:
    before = {name: node_json(host) for name, host in nodes.items()}
    upgrade = write_firmware(tmp_path, {"gaudi2": "1.22.0-fw-61.3.1-sec-11"})
    assert upgrade.ok, upgrade.output
    assert {name: node_json(host) for name, host in nodes.items()} == before


@pytest.mark.long
def test_a_card_that_cannot_be_read_stops_its_node_only(nodes: dict[str, Host], tmp_path: Path) -> None:
    version = image(nodes)
    before = node_json(nodes["node1"])["cards"], loads(nodes["node1"])
    with fault("node1", "unreadable_firmware=3"):
        upgrade = write_firmware(tmp_path, {"gaudi3": f" {version} "})
    assert not upgrade.ok
    assert (node_json(nodes["node1"])["cards"], loads(nodes["node1"])) == before
    assert "card 3 " in upgrade.said["node1"]
    assert "not an SPI version" in upgrade.said["node1"]
    assert upgrade.states("node1") == {"refused", "unreadable"}
    assert upgrade.states("node2") == {"written"}
    assert set(shown(nodes["node2"]).values()) == {version}
    assert "node2" not in upgrade.said


@pytest.mark.long
def test_write_protection_and_a_held_card_are_refused(nodes: dict[str, Host], tmp_path: Path) -> None:
    version = image(nodes)
    before = {name: node_json(host)["cards"] for name, host in nodes.items()}
    device = "/var/lib/gaudi_simulator/kernel/dev/accel/accel2"
    nodes["node2"].check_output(f"systemd-run --quiet --unit=molecule-holder sh -c 'exec sleep 600 < {device}'")
    try:
        with fault("node1", "write_protected"):
            upgrade = write_firmware(tmp_path, {"gaudi3": version}, gaudi_firmware_canary="node2")
    finally:
        nodes["node2"].check_output("systemctl stop molecule-holder")
    assert {name: node_json(host)["cards"] for name, host in nodes.items()} == before
    assert "write protection" in upgrade.said["node1"]
    assert "(sleep) in molecule-holder.service" in upgrade.said["node2"]


def test_an_accepted_version_is_written_once(nodes: dict[str, Host], tmp_path: Path) -> None:
    version = image(nodes)
    first = write_firmware(tmp_path / "first", {"gaudi3": version})
    assert first.ok, first.output
    for host in nodes.values():
        assert shown(host) == dict.fromkeys(range(8), version)
        assert len(node_json(host)["modules"]) == MODULES
    assert first.rounds == len(nodes)
    before = {name: node_json(host) for name, host in nodes.items()}
    second = write_firmware(tmp_path / "second", {"gaudi3": version})
    assert second.ok, second.output
    assert not second.changed
    assert {name: node_json(host) for name, host in nodes.items()} == before


@pytest.mark.long
def test_a_first_round_that_fails_is_the_last_and_is_taken_up_again(nodes: dict[str, Host], tmp_path: Path) -> None:
    version = image(nodes)
    untouched = node_json(nodes["node2"])
    with fault("node1", "flash_fails=3"):
        failed = write_firmware(tmp_path / "failed", {"gaudi3": version})
        assert not failed.ok
        assert "card 3 " in failed.said["node1"]
        assert "modules stay unloaded" in failed.said["node1"]
        assert failed.states("node2") == {"not reached"}
        assert node_json(nodes["node2"]) == untouched
        assert node_json(nodes["node1"])["modules"] == {}
        done = {card["module_id"] for card in node_json(nodes["node1"])["cards"] if card["written"] == version}
        assert done
        assert 3 not in done
    again = write_firmware(tmp_path / "again", {"gaudi3": version}, gaudi_hosts="node1")
    assert again.ok, again.output
    assert set(shown(nodes["node1"]).values()) == {version}
    assert len(node_json(nodes["node1"])["modules"]) == MODULES
    logs = nodes["node1"].check_output(f'grep -c \'"state": "written"\' {RECORD}')
    assert logs == "8"


@pytest.mark.long
def test_a_card_that_waits_for_its_power_cycle_is_not_written_again(nodes: dict[str, Host], tmp_path: Path) -> None:
    version = image(nodes)
    with fault("node1", "power_cycle_needed=2"):
        upgrade = write_firmware(tmp_path / "first", {"gaudi3": version}, **SERVICE)
        assert not upgrade.ok
        assert upgrade.states("node1") == {"power cycle needed"}
        assert "power cycle" in upgrade.said["node1"]
        assert upgrade.states("node2") == {"written"}
        # Its cards differ now: it stays out of service until a run finds nothing left to do.
        assert nodes["node1"].file(OUT_OF_SERVICE).exists
        assert not nodes["node2"].file(OUT_OF_SERVICE).exists
        logs = nodes["node1"].check_output(f"ls {LOGS} | wc -l")
        before = loads(nodes["node1"])
        again = write_firmware(tmp_path / "again", {"gaudi3": version})
        assert not again.ok
        assert "power cycle" in again.said["node1"]
        assert again.states("node1") == {"power cycle needed"}
        assert nodes["node1"].check_output(f"ls {LOGS} | wc -l") == logs
        assert loads(nodes["node1"]) == before
    sandbox("reboot", "node1")
    after = write_firmware(tmp_path / "after", {"gaudi3": version}, **SERVICE)
    assert after.ok, after.output
    assert set(shown(nodes["node1"]).values()) == {version}
    assert not nodes["node1"].file(OUT_OF_SERVICE).exists


@pytest.mark.long
def test_a_node_is_written_once_it_is_out_of_service(nodes: dict[str, Host], tmp_path: Path) -> None:
    version = image(nodes)
    before = {name: node_json(host) for name, host in nodes.items()}
    only_node2 = ["sh", "-c", f"test {{node}} = node2 && cp {STATE} {OUT_OF_SERVICE}"]
    keep = {**SERVICE, "gaudi_drain_command": only_node2, "gaudi_drain_resume_command": ["true"]}
    upgrade = write_firmware(tmp_path, {"gaudi3": version}, **keep)
    assert upgrade.states("node1") == {"refused"}
    assert "drain command" in upgrade.said["node1"]
    assert node_json(nodes["node1"]) == before["node1"]
    assert upgrade.states("node2") == {"written"}
    assert json.loads(nodes["node2"].check_output(f"cat {OUT_OF_SERVICE}")) == before["node2"]


@pytest.mark.long
def test_a_reboot_is_tried_where_it_is_allowed(nodes: dict[str, Host], tmp_path: Path) -> None:
    version = image(nodes)
    with fault("node2", "power_cycle_needed=0,7"):
        upgrade = write_firmware(tmp_path, {"gaudi3": version}, gaudi_allow_reboot=True, gaudi_hosts="node2")
    # The sandbox has one kind of boot, which stands for a power cycle.
    assert upgrade.ok, upgrade.output
    assert set(shown(nodes["node2"]).values()) == {version}


def test_a_cut_connection_leaves_the_tool_alone(nodes: dict[str, Host], tmp_path: Path) -> None:
    version = image(nodes)
    # The comparison asks for each of the 8 cards; then it is the third one that is being written.
    with fault("node1", "ssh_loss=hl-fw-loader:11"):
        cut = write_firmware(tmp_path / "cut", {"gaudi3": version}, gaudi_hosts="node1")
    assert not cut.ok
    assert cut.states("node1") == {"unreachable"}
    after = write_firmware(tmp_path / "after", {"gaudi3": version}, gaudi_hosts="node1")
    assert after.ok, after.output
    assert set(shown(nodes["node1"]).values()) == {version}
    assert len(node_json(nodes["node1"])["modules"]) == MODULES
    assert nodes["node1"].check_output(f'grep -c \'"state": "written"\' {RECORD}') == "8"
