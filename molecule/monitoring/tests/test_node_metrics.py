# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``monitoring.yml`` on two nodes: what they tell, to whom, and what of it changes when something breaks."""

from __future__ import annotations

import json
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from testinfra.host import Host

from tests.sandbox_jobs import wait_for
from tests.sandbox_nodes import fault, hosts, hostvars, run

PORT = 9100
INTERVAL = 5
CARDS = [str(slot) for slot in range(8)]
Samples = dict[tuple[str, ...], float]


@dataclass(frozen=True)
class Reader:
    """A Prometheus' side of the connection: its own certificate and key, and what it trusts."""

    certificate: Path
    key: Path
    trusted: Path

    def read(self, address: str, *, as_itself: bool = True) -> dict[str, Samples]:
        """Metric -> labels' values -> value; urllib's error where the node does not answer."""
        context = ssl.create_default_context(cafile=str(self.trusted))
        if as_itself:
            context.load_cert_chain(self.certificate, self.key)
        with urllib.request.urlopen(f"https://{address}:{PORT}/metrics", context=context, timeout=20) as answer:
            text = answer.read().decode()
        found: dict[str, Samples] = {}
        for family in text_string_to_metric_families(text):
            for one in family.samples:
                found.setdefault(one.name, {})[tuple(one.labels.values())] = one.value
        return found


@pytest.fixture(scope="module")
def nodes() -> dict[str, Host]:
    return hosts()


@pytest.fixture(scope="module")
def addresses() -> dict[str, str]:
    return {node: str(known["ansible_host"]) for node, known in hostvars().items()}


@pytest.fixture(scope="module")
def watched(
    nodes: dict[str, Host], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Reader, dict[str, Any]]]:
    """Both nodes watched after check mode had told it, one reader, and the options; taken away afterwards."""
    place = tmp_path_factory.mktemp("reader")
    reader = Reader(place / "reader.pem", place / "reader.key", place / "nodes.pem")
    files = ["-keyout", str(reader.key), "-out", str(reader.certificate)]
    own = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=reader"]
    subprocess.run(["openssl", *own, *files], check=True, capture_output=True)
    options = {
        "gaudi_exporter_address": "{{ ansible_host }}",
        "gaudi_exporter_readers": [reader.certificate.read_text()],
        "gaudi_exporter_interval": INTERVAL,
    }
    driver = run(place, "driver")
    assert driver.status == "successful", driver.stdout.read()[-4000:]
    foretold = run(place, "monitoring", arguments="--check --diff", **options)
    assert foretold.status == "successful", foretold.stdout.read()[-4000:]
    assert set(foretold.stats["changed"]) == {*nodes}
    assert not any(host.file("/etc/gaudi3_scale/exporter/key.pem").exists for host in nodes.values())
    done = run(place, "monitoring", **options)
    assert done.status == "successful", done.stdout.read()[-4000:]
    results = [event["event_data"]["res"] for event in done.events if event["event"] == "runner_on_ok"]
    reader.trusted.write_text("".join(result.get("certificate", "") for result in results))
    yield reader, options
    gone = run(place, "monitoring", gaudi_exporter_state="absent")
    assert gone.status == "successful", gone.stdout.read()[-4000:]
    for host in nodes.values():
        assert host.run(f"ss -Hltn 'sport = :{PORT}'").stdout == ""


def test_each_node_tells_all_its_cards(
    watched: tuple[Reader, dict[str, Any]], addresses: dict[str, str], nodes: dict[str, Host]
) -> None:
    reader, _options = watched
    for address in addresses.values():
        wait_for("its cards were read once", lambda: "gaudi_card_info" in reader.read(address))  # noqa: B023, at once
        found = reader.read(address)
        assert [*found["gaudi_card_temperature_celsius"]] == [(card,) for card in CARDS]
        assert set(found["gaudi_card_operational"].values()) == {1}
        assert found["gaudi_cards_driven"] == found["gaudi_cards_expected"] == {(): 8}
        assert all(200 < watts < 300 for watts in found["gaudi_card_power_watts"].values())
        assert found["node_textfile_scrape_error"] == {(): 0}
        # The distribution's own are there, too.
        assert "node_memory_MemAvailable_bytes" in found
    ports = reader.read(addresses["node1"])["gaudi_port_up"]
    assert len(ports) == 24
    # Jobs of other tests may have failed, as they should.
    ours = "'gaudi3-scale-metrics@*' 'prometheus*'"
    failed = [host.check_output(f"systemctl list-units --failed --no-legend {ours}") for host in nodes.values()]
    assert failed == ["", ""]


@pytest.mark.usefixtures("watched")
def test_the_fleet_is_one_page_with_who_is_not_well_first(nodes: dict[str, Host], tmp_path: Path) -> None:
    def shown() -> dict[str, Any]:
        done = run(tmp_path, "show_fleet", gaudi_report_target=str(tmp_path))
        assert done.status == "successful", done.stdout.read()[-4000:]
        return json.loads((tmp_path / "show_fleet.json").read_text())

    assert {row["node"]: (row["state"], row["cards"]) for row in shown()["rows"]} == dict.fromkeys(nodes, ("ok", "8/8"))
    with fault("node2", "missing_card=7"):
        wait_for("the card is missing", lambda: [row["state"] for row in shown()["rows"]] == ["failed", "ok"], every=5)
        bad, *_others = shown()["notes"]
        assert bad.startswith("node2: 7 of 8 cards work with the driver: ")
    page = (tmp_path / "show_fleet.html").read_text()
    assert page.count("<rect") >= 15
    wait_for("it is back", lambda: [row["state"] for row in shown()["rows"]] == ["ok", "ok"], every=5)


@pytest.mark.usefixtures("watched")
def test_a_node_tells_what_its_cards_used(nodes: dict[str, Host]) -> None:
    directory = "/var/lib/gaudi3_scale/exporter/energy"

    def lines() -> list[dict[str, Any]]:
        return [json.loads(line) for line in nodes["node1"].check_output(f"cat {directory}/*.jsonl").splitlines()]

    def told_of(begin: float, end: float) -> dict[str, Any]:
        asked = f"begin={begin} end={end}"
        found: dict[str, Any] = nodes["node1"].ansible("gaudi3.scale.hpu_energy_info", asked, become=True, check=False)
        assert not found["changed"] and len(found["cards"]) == len(CARDS)
        return found

    def known_minute() -> dict[str, Any]:
        """One of which all is known: the collectors are not here all the time."""
        times = [line["time"] for line in lines()]
        told = (told_of(one, other) for one, other in list(pairwise(times))[-3:] if other - one < 90)
        return next((found for found in told if found["gap_seconds"] < 0.1 * found["card_seconds"]), {})

    told = wait_for("a minute that is known", known_minute, every=5)
    # What simulated cards take that do nothing.
    assert 200 < told["joules"] / (told["card_seconds"] - told["gap_seconds"]) < 300


def test_nobody_else_gets_an_answer(
    watched: tuple[Reader, dict[str, Any]], addresses: dict[str, str], nodes: dict[str, Host]
) -> None:
    reader, _options = watched
    with pytest.raises((urllib.error.URLError, ssl.SSLError, ConnectionError), match="certificate"):
        reader.read(addresses["node1"], as_itself=False)
    # One node's own certificate opens no other's door.
    own = Reader(reader.trusted, reader.key, reader.trusted)
    with pytest.raises((ssl.SSLError, urllib.error.URLError)):
        own.read(addresses["node2"])
    listening = nodes["node1"].check_output(f"ss -Hltn 'sport = :{PORT}'").split()
    assert [place for place in listening if place.endswith(f":{PORT}")] == [f"{addresses['node1']}:{PORT}"]
    # The job's account reads no key.
    assert nodes["node1"].run("runuser -u nobody -- cat /etc/gaudi3_scale/exporter/key.pem").rc != 0


def test_a_second_run_changes_nothing(watched: tuple[Reader, dict[str, Any]], tmp_path: Path) -> None:
    again = run(tmp_path, "monitoring", **watched[1])
    assert again.status == "successful", again.stdout.read()[-4000:]
    assert set(again.stats["changed"]) == set()


@pytest.mark.in_turn
def test_what_breaks_is_told_and_a_tool_that_hangs_hides_nothing_else(
    watched: tuple[Reader, dict[str, Any]], addresses: dict[str, str], nodes: dict[str, Host]
) -> None:
    reader, _options = watched

    def found(metric: str) -> Samples:
        return reader.read(addresses["node1"])[metric]

    with fault("node1", "zero_temperature=2", "uncorrectable_ecc=5", "missing_card=7", "port_down=0:20"):
        wait_for("the card is missing", lambda: found("gaudi_cards_present") == {(): 7})
        assert found("gaudi_card_temperature_celsius")["2",] == 0
        assert found("gaudi_card_ecc_uncorrected_total")["5",] > 0
        wait_for("the port is down", lambda: found("gaudi_port_up")["0", "20"] == 0)
    wait_for("the card is back", lambda: found("gaudi_cards_present") == {(): 8})
    joules = found("gaudi_card_energy_joules_total")["0",]
    wait_for("energy grows", lambda: found("gaudi_card_energy_joules_total")["0",] > joules)
    with fault("node1", "hl_smi_hangs"):
        last = "gaudi_collector_last_success_timestamp_seconds"
        wait_for("it hangs", lambda: nodes["node1"].run("pgrep -f '[h]l-smi -Q'").rc == 0)
        before = found(last)
        wait_for("the rest is told", lambda: found(last)["node",] > before["node",] + INTERVAL)
        assert found(last)["cards",] == before["cards",]
        assert len(nodes["node1"].check_output("pgrep -fc '[h]l-smi -Q'").split()) == 1
    wait_for("it is told again", lambda: found(last)["cards",] > before["cards",])
