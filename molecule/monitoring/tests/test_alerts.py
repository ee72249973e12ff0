# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus and Alertmanager on one of two nodes: a fault in, a message out; and each rule by promtool."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from testinfra.host import Host

from scripts.dashboards.panels import DASHBOARDS
from tests.sandbox_jobs import wait_for
from tests.sandbox_nodes import ROOT, fault, hosts, run

from .rule_cases import CASES, document

SERVER, OTHER = "node2", "node1"
TOKEN = "what-the-rulebook-wants-to-hear"
RULES = "/etc/gaudi3_scale/monitoring/rules"
RECEIVED = "/run/received.jsonl"
GRAFANA = "/run/grafana/provisioning"
# Writes down each message with its header, as the rulebook would hear it.
RECEIVER = f"""
import http.server, json

class Heard(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with open("{RECEIVED}", "a") as file:
            file.write(json.dumps([self.path, self.headers.get("Authorization"), body]) + "\\n")
        self.send_response(200)
        self.end_headers()

http.server.HTTPServer(("127.0.0.1", 5050), Heard).serve_forever()
"""

ASK = """
import ssl, sys, urllib.parse, urllib.request
trusted = ssl.create_default_context(cafile="/etc/gaudi3_scale/monitoring/certificate.pem")
query = urllib.parse.urlencode({"query": sys.argv[1]})
print(urllib.request.urlopen(f"https://127.0.0.1:9090/api/v1/query?{query}", context=trusted).read().decode())
"""


@pytest.fixture(scope="module")
def nodes() -> dict[str, Host]:
    return hosts()


@pytest.fixture(scope="module")
def server(nodes: dict[str, Host], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """The second node watches both, and a receiver beside it hears its alerts; taken away afterwards."""
    place = tmp_path_factory.mktemp("server")
    inventory = place / "monitoring.json"
    inventory.write_text(json.dumps({"monitoring": {"hosts": {SERVER: {}}}}))
    host = nodes[SERVER]
    (place / "receiver.py").write_text(RECEIVER)
    host.check_output(f"cat > /run/receiver.py <<'END'\n{RECEIVER}END")
    host.run("systemctl stop receiver")
    host.check_output(f"rm -f {RECEIVED}; systemd-run --unit receiver python3 /run/receiver.py")
    # Nobody here has a Grafana: it has a directory, and a unit that is restarted.
    unit = "[Service]\\nExecStart=/usr/bin/sleep infinity\\n"
    host.check_output(f"mkdir -p {GRAFANA}/dashboards; printf '{unit}' > /run/systemd/system/grafana-server.service")
    options: dict[str, Any] = {
        "gaudi_exporter_interval": 5,
        "gaudi_monitoring_grafana": GRAFANA,
        "gaudi_monitoring_quarantine": {"url": "http://127.0.0.1:5050/quarantine", "token": TOKEN},
        "gaudi_monitoring_webhooks": [{"url": "http://127.0.0.1:5050/site"}],
    }
    driver = run(place, "driver")
    assert driver.status == "successful", driver.stdout.read()[-4000:]
    for arguments in ("--check --diff", "", ""):
        done = run(place, "monitoring", inventory=[str(inventory)], arguments=arguments, **options)
        said = done.stdout.read()
        assert done.status == "successful", said[-4000:]
        assert TOKEN not in said
    assert set(done.stats["changed"]) == set()
    yield host
    gone = {"gaudi_exporter_state": "absent", "gaudi_monitoring_state": "absent", "gaudi_monitoring_grafana": GRAFANA}
    done = run(place, "monitoring", inventory=[str(inventory)], **gone)
    host.check_output("systemctl stop receiver")
    assert done.status == "successful", done.stdout.read()[-4000:]
    assert not host.file("/etc/gaudi3_scale/dashboards").exists
    assert not host.file(f"{GRAFANA}/dashboards/gaudi3_scale.yaml").exists
    host.check_output("systemctl stop grafana-server")
    assert host.run("ss -Hltn '( sport = :9090 or sport = :9093 or sport = :9094 )'").stdout == ""


def ask(server: Host, query: str) -> list[dict[str, Any]]:
    """What Prometheus answers, asked on its own machine and believed for its certificate."""
    said = server.check_output("python3 -c %s %s", ASK, query)
    found: list[dict[str, Any]] = json.loads(said)["data"]["result"]
    return found


def heard(server: Host) -> list[tuple[str, str | None, dict[str, Any]]]:
    """Path, authorization and alert of each that was sent."""
    text = server.run(f"cat {RECEIVED}").stdout
    messages = map(json.loads, text.splitlines())
    return [(path, header, alert) for path, header, body in messages for alert in body["alerts"]]


def test_all_nodes_are_read_by_name(server: Host) -> None:
    def up() -> dict[str, str]:
        return {one["metric"]["instance"]: one["value"][1] for one in ask(server, 'up{job="gaudi"}')}

    wait_for("both are up", lambda: up() == {OTHER: "1", SERVER: "1"})
    wait_for("all cards", lambda: ask(server, "count(gaudi_card_info)")[0]["value"][1] == "16")
    listening = server.check_output("ss -Hltn").splitlines()
    places = {line.split()[3] for line in listening if line.split()[3].endswith((":9090", ":9093", ":9094"))}
    assert places == {"127.0.0.1:9090", "127.0.0.1:9093"}


def test_each_question_of_a_dashboard_has_an_answer(server: Host) -> None:
    """Also that of a training: nobody trains here, and then it is an empty one and no error."""
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
    assert {name for name, _title in empty} <= {"gaudi_job", "gaudi_fleet", "gaudi_cost"}
    of_trainings = {"Joules a token", "A million tokens"}
    assert {title for name, title in empty if name != "gaudi_job"} <= {"Alerts", *of_trainings}
    assert server.file(f"{GRAFANA}/dashboards/gaudi3_scale.yaml").contains("path: /etc/gaudi3_scale/dashboards")
    assert server.service("grafana-server").is_running


def test_a_card_that_did_not_start_is_told_and_asks_for_a_quarantine(server: Host) -> None:
    assert not heard(server), "nothing is wrong yet"
    with fault(OTHER, "zero_temperature=2"):
        wait_for("the alert", lambda: any(path == "/quarantine" for path, _header, _alert in heard(server)))
        wait_for("the site hears it, too", lambda: any(path == "/site" for path, _header, _alert in heard(server)))
    (header, alert) = next((header, alert) for path, header, alert in heard(server) if path == "/quarantine")
    assert header == f"Bearer {TOKEN}"
    assert alert["labels"] == {
        "alertname": "GaudiCardCold",
        "card": "2",
        "gaudi_action": "quarantine",
        "instance": OTHER,
        "job": "gaudi",
        "severity": "critical",
    }
    assert alert["annotations"]["summary"].startswith(f"card 2 of {OTHER} says 0 degrees")
    assert (ROOT / "docs" / f"{alert['annotations']['page']}.md").is_file()
    assert {alert["labels"]["alertname"] for _path, _header, alert in heard(server)} == {"GaudiCardCold"}
    site = [header for path, header, _alert in heard(server) if path == "/site"]
    assert set(site) == {None}


def test_each_rule_fires_where_it_has_to_and_not_where_it_must_not(server: Host) -> None:
    named = {alert["alert"] for file in alerts().values() for alert in file}
    assert named == {case.alert for case in CASES if case.fires} == {case.alert for case in CASES if not case.fires}
    for name, file in alerts().items():
        wanted = document(f"{RULES}/{name}", {alert["alert"] for alert in file})
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


def test_each_alert_says_what_to_run_and_what_to_read() -> None:
    known = [alert for file in alerts().values() for alert in file]
    for alert in known:
        assert {*alert["annotations"]} == {"summary", "remedy", "page"}, alert["alert"]
        assert (ROOT / "docs" / f"{alert['annotations']['page']}.md").is_file(), alert["alert"]
    handbook = (ROOT / "docs/monitoring.md").read_text(encoding="utf-8")
    assert [alert["alert"] for alert in known if f"`{alert['alert']}`" not in handbook] == []
