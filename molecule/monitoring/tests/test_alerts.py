# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus and Alertmanager on one of two nodes; each rule by promtool.

A fault in a card, a message to the site, and by a real ansible-rulebook its node out of a real Slurm until it is well.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ansible_runner
import pytest
import yaml
from testinfra.host import Host

from scripts.dashboards.panels import DASHBOARDS
from tests import event_rulebook
from tests.alert_receiver import URL, ask, heard, receiver
from tests.sandbox_jobs import wait_for
from tests.sandbox_nodes import ROOT, fault, hosts, hostvars, run, sandbox
from tests.unit.cloudwatch_services import ACCOUNT, REGION, Moto

from .rule_cases import CASES, document, recorded

SERVER, OTHER = "node2", "node1"
TOKEN = "what-the-rulebook-wants-to-hear"
RULES = "/etc/gaudi3_scale/monitoring/rules"
MARK = "/etc/gaudi3_scale/quarantine.json"
# Where the rulebook is to listen on the machine that watches.
ALERTS = 5050
# And where Amazon's services are, to which credentials of the operator's belong.
AMAZON, AWS = 5005, "/etc/gaudi3_scale/aws"
GRAFANA = "/run/grafana/provisioning"


OPTIONS: dict[str, Any] = {
    "gaudi_exporter_interval": 5,
    "gaudi_monitoring_alerts_page": "https://ops.example.org/gaudi/alerts.html",
    "gaudi_monitoring_grafana": GRAFANA,
    "gaudi_monitoring_quarantine": {"url": f"http://127.0.0.1:{ALERTS}/alerts", "token": TOKEN},
    "gaudi_monitoring_webhooks": [{"url": URL}],
}


@pytest.fixture(scope="module")
def nodes() -> dict[str, Host]:
    return hosts()


AMTOOL = "/etc/gaudi3_scale/monitoring/amtool.yml"
# Whoever has no certificate and believes anybody's.
STRANGER = """
import ssl, urllib.request
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
alert = b'[{"labels": {"alertname": "Forged", "gaudi_action": "quarantine", "instance": "node1"}}]'
wanted = urllib.request.Request("https://127.0.0.1:9093/api/v2/alerts", alert, {"Content-Type": "application/json"})
print(urllib.request.urlopen(wanted, context=context).status)
"""


def watch(place: Path, arguments: str = "", **more: Any) -> ansible_runner.Runner:
    """``monitoring.yml`` with the second node as the machine that watches."""
    inventory = place / "monitoring.json"
    inventory.write_text(json.dumps({"monitoring": {"hosts": {SERVER: {}}}}))
    return run(place, "monitoring", inventory=[str(inventory)], arguments=arguments, **{**OPTIONS, **more})


@pytest.fixture(scope="module")
def server(nodes: dict[str, Host], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """The second node watches both, and a receiver beside it hears its alerts; taken away afterwards."""
    place = tmp_path_factory.mktemp("server")
    host = nodes[SERVER]
    # Nobody here has a Grafana: it has a directory, and a unit that is restarted.
    unit = "[Service]\\nExecStart=/usr/bin/sleep infinity\\n"
    host.check_output(f"mkdir -p {GRAFANA}/dashboards; printf '{unit}' > /run/systemd/system/grafana-server.service")
    driver = run(place, "driver")
    assert driver.status == "successful", driver.stdout.read()[-4000:]
    for arguments in ("--check --diff", "", ""):
        done = watch(place, arguments)
        said = done.stdout.read()
        assert done.status == "successful", said[-4000:]
        assert TOKEN not in said
    assert set(done.stats["changed"]) == set()
    with receiver(host):
        yield host
    for _turn in ("first", "second"):
        done = watch(place, gaudi_exporter_state="absent", gaudi_monitoring_state="absent")
        assert done.status == "successful", done.stdout.read()[-4000:]
    assert set(done.stats["changed"]) == set()
    assert not host.file("/etc/gaudi3_scale/dashboards").exists
    assert not host.file(f"{GRAFANA}/dashboards/gaudi3_scale.yaml").exists
    host.check_output("systemctl stop grafana-server")
    assert host.run("ss -Hltn '( sport = :9090 or sport = :9093 or sport = :9094 )'").stdout == ""


def test_all_nodes_are_read_by_name(server: Host) -> None:
    def up() -> dict[str, str]:
        return {one["metric"]["instance"]: one["value"][1] for one in ask(server, 'up{job="gaudi"}')}

    wait_for("both are up", lambda: up() == {OTHER: "1", SERVER: "1"})
    wait_for("all cards", lambda: ask(server, "count(gaudi_card_info)")[0]["value"][1] == "16")
    listening = server.check_output("ss -Hltn").splitlines()
    places = {line.split()[3] for line in listening if line.split()[3].endswith((":9090", ":9093", ":9094"))}
    assert places == {"127.0.0.1:9090", "127.0.0.1:9093"}


@pytest.mark.in_turn
def test_no_other_account_of_the_machine_asks_alertmanager(server: Host) -> None:
    """An alert takes a node out of service."""
    asked = f"amtool --http.config.file={AMTOOL} --alertmanager.url=https://127.0.0.1:9093 alert"
    assert server.run(asked).rc == 0
    assert server.run(f"runuser -u nobody -- {asked}").rc != 0
    # TLS 1.3 refuses a certificate after the handshake: the caller reads why, or an end where the server was faster.
    stranger = server.run("runuser -u nobody -- python3 -c %s", STRANGER)
    assert (stranger.rc, stranger.stdout) == (1, "") and "Connection refused" not in stranger.stderr, stranger.stderr
    assert "Forged" not in server.check_output(asked)


# There is no alert yet, nobody trains or serves, and ports of simulated cards are no interfaces that count.
NOT_HERE = ("gaudi_job", "gaudi_serving")
NOTHING_TO_SHOW = {"Alerts", "Joules a token", "A million tokens", "Links that came and went"}


def test_each_question_of_a_dashboard_has_an_answer(server: Host) -> None:
    """Also those that have nothing to show here: theirs is an empty one and no error."""

    def unanswered() -> set[str]:
        return {title for name, title in empty_panels(server) if name not in NOT_HERE} - NOTHING_TO_SHOW

    # A rate wants two values.
    ends = time.monotonic() + 60
    while (left := unanswered()) and time.monotonic() < ends:
        time.sleep(5)
    assert left == set()
    assert server.file(f"{GRAFANA}/dashboards/gaudi3_scale.yaml").contains("path: /etc/gaudi3_scale/dashboards")
    assert server.service("grafana-server").is_running


def empty_panels(server: Host) -> set[tuple[str, str]]:
    """Dashboard and title of each panel whose question has no answer."""
    chosen = {"node": SERVER, "training": "nobody", "kwh": "0.2", "pue": "1.3", "node_hour": "30"}
    empty = set()
    for dashboard in DASHBOARDS:
        document = json.loads(server.file(f"/etc/gaudi3_scale/dashboards/{dashboard.name}.json").content_string)
        for panel in document["panels"]:
            for target in panel["targets"]:
                question = target["expr"]
                # The longest first: one name begins as another does.
                for name in sorted(chosen, key=len, reverse=True):
                    question = question.replace(f"${name}", chosen[name])
                if not ask(server, question):
                    empty.add((dashboard.name, panel["title"]))
    return empty


@pytest.fixture
def rulebook(server: Host, tmp_path: Path) -> Iterator[Path]:
    """It listens where the machine that watches sends its alerts; its directory."""
    sandbox("slurm")
    slurm = {"gaudi_quarantine_drain": "slurm", "gaudi_drain_host": OTHER}
    with event_rulebook.listening(tmp_path, TOKEN, **slurm) as port, on_the_server(server, ALERTS, port):
        yield tmp_path


@contextmanager
def on_the_server(server: Host, at: int, port: int) -> Iterator[None]:
    """A program of this machine, as if it listened on that one: SSH brings its port there."""
    known = hostvars()[SERVER]
    forward = [
        "-N",
        "-o",
        "ControlPath=none",
        "-o",
        "ExitOnForwardFailure=yes",
        "-R",
        f"127.0.0.1:{at}:127.0.0.1:{port}",
    ]
    trusted = ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]
    key = known["ansible_ssh_private_key_file"]
    place = f"{known['ansible_user']}@{known['ansible_host']}"
    with subprocess.Popen(["ssh", "-i", key, *forward, *trusted, place], stderr=subprocess.DEVNULL) as running:
        try:
            wait_for("a way back", lambda: server.run(f"ss -Hltn 'sport = :{at}'").stdout)
            yield
        finally:
            running.terminate()


def slurm_state(nodes: dict[str, Host]) -> str:
    line: str = nodes[OTHER].check_output(f"scontrol --oneliner show node {OTHER}")
    return line.partition(" State=")[2].partition(" ")[0] + line.partition(" Reason=")[2]


def test_a_card_that_did_not_start_takes_its_node_out_until_it_is_measured(
    server: Host, nodes: dict[str, Host], rulebook: Path, tmp_path: Path
) -> None:
    assert not heard(server), "nothing is wrong yet"
    named = {"gaudi_quarantine_node": OTHER, "gaudi_quarantine_drain": "slurm", "gaudi_drain_host": OTHER}
    with fault(OTHER, "zero_temperature=2"):
        wait_for("the site hears it", lambda: heard(server))
        wait_for("the mark", lambda: nodes[OTHER].file(MARK).exists, 120)
    mark = json.loads(nodes[OTHER].file(MARK).content_string)
    assert (mark["reason"], mark["owner"]) == ("alert GaudiCardCold", "alerts"), event_rulebook.said(rulebook)
    assert "DRAIN" in slurm_state(nodes)
    assert "gaudi3_scale: quarantine: alert GaudiCardCold" in slurm_state(nodes)
    as_it_was_told({json.dumps(alert, sort_keys=True): (header, alert) for _at, header, alert in heard(server)})
    refused = run(tmp_path, "return_node", **named)
    assert refused.status == "failed"
    assert "it stays in quarantine, since 20" in " ".join(refused.stdout.read().split())
    assert "DRAIN" in slurm_state(nodes)
    stages = ["self_test", "pairs"]
    measured = run(tmp_path, "qualify_nodes", gaudi_qualify_stages=stages, gaudi_report_target=str(tmp_path))
    assert measured.status == "successful", measured.stdout.read()[-4000:]
    returned = run(tmp_path, "return_node", **named)
    assert returned.status == "successful", returned.stdout.read()[-4000:]
    assert not nodes[OTHER].file(MARK).exists
    assert "DRAIN" not in slurm_state(nodes)


def as_it_was_told(alerts: dict[str, tuple[str | None, dict[str, Any]]]) -> None:
    """One alert, to the site, which has no token: what it is, what to do, and where that is written."""
    assert {alert["labels"]["alertname"] for _header, alert in alerts.values()} == {"GaudiCardCold"}
    (header, alert) = next(iter(alerts.values()))
    assert header is None
    assert alert["labels"] == {
        "alertname": "GaudiCardCold",
        "card": "2",
        "gaudi_action": "quarantine",
        "instance": OTHER,
        "job": "gaudi",
        "severity": "critical",
    }
    assert alert["annotations"]["summary"].startswith(f"card 2 of {OTHER} reports 0 degrees")
    assert alert["annotations"]["runbook_url"] == f"{OPTIONS['gaudi_monitoring_alerts_page']}#gaudicardcold"


@pytest.fixture
def amazon(server: Host) -> Iterator[Moto]:
    """CloudWatch and STS where the machine that watches asks for them, and an operator's credentials there."""
    moto = Moto()
    keys = "[default]\\naws_access_key_id = an-id\\naws_secret_access_key = a-key\\n"
    server.check_output(f"install -d -m 700 {AWS} && printf '{keys}' | install -m 600 /dev/stdin {AWS}/credentials")
    try:
        with on_the_server(server, AMAZON, int(moto.url.rpartition(":")[2])):
            yield moto
    finally:
        moto.close()
        server.check_output(f"rm -r {AWS}")


# In the short run unit tests have the program meet moto, without systemd and with an answer as Prometheus gives it.
@pytest.mark.long
def test_what_prometheus_has_is_sent_to_cloudwatch_until_it_is_not_wanted_any_more(
    server: Host, amazon: Moto, tmp_path: Path
) -> None:
    endpoint = f"http://127.0.0.1:{AMAZON}"
    wanted = {
        "region": REGION,
        "account": ACCOUNT,
        "interval": 10,
        "endpoint": endpoint,
        "sts_endpoint": endpoint,
        "metrics": ["gaudi_card_temperature_celsius", "up"],
    }
    done = watch(tmp_path, gaudi_monitoring_cloudwatch=wanted)
    said = done.stdout.read()
    assert done.status == "successful", said[-4000:]
    assert "times an hour" in said

    def sent() -> set[tuple[str, ...]]:
        metrics = amazon.client.list_metrics(Namespace="Gaudi")["Metrics"]
        return {(one["MetricName"], *sorted(label["Value"] for label in one["Dimensions"])) for one in metrics}

    wait_for("all cards and both nodes", lambda: len(sent()) >= 18)
    cards = {("gaudi_card_temperature_celsius", str(card), node) for card in range(8) for node in (OTHER, SERVER)}
    assert sent() == cards | {("up", OTHER), ("up", SERVER)}
    again = watch(tmp_path, gaudi_monitoring_cloudwatch=wanted)
    assert not again.stats["changed"]
    gone = watch(tmp_path)
    assert gone.status == "successful", gone.stdout.read()[-4000:]
    assert server.run("systemctl list-unit-files 'gaudi3-scale-cloudwatch*' --no-legend").stdout == ""
    assert server.file(f"{AWS}/credentials").exists


@pytest.mark.in_turn
def test_each_rule_fires_where_it_has_to_and_not_where_it_must_not(server: Host) -> None:
    named = {alert["alert"] for file in alerts().values() for alert in file}
    assert named == {case.alert for case in CASES if case.fires} == {case.alert for case in CASES if not case.fires}
    for name, file in alerts().items():
        pass_there(server, document(f"{RULES}/{name}", {alert["alert"] for alert in file}))


@pytest.mark.in_turn
def test_what_the_vendors_exporter_says_has_our_names_and_units(server: Host) -> None:
    pass_there(server, recorded(f"{RULES}/gaudi_vendor.yml"))


def pass_there(server: Host, wanted: dict[str, Any]) -> None:
    server.check_output(f"cat > /run/rules_test.yml <<'END'\n{json.dumps(wanted)}\nEND")
    tested = server.run("promtool test rules /run/rules_test.yml")
    assert tested.rc == 0, tested.stdout + tested.stderr


def alerts() -> dict[str, list[dict[str, Any]]]:
    """Name of the file -> its alerts."""
    places = sorted((ROOT / "roles/gaudi_monitoring/files/rules").glob("*.yml"))
    files = {place.name: yaml.safe_load(place.read_text(encoding="utf-8")) for place in places}
    return {
        name: [rule for group in file["groups"] for rule in group["rules"] if "alert" in rule]
        for name, file in files.items()
    }
