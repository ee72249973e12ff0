# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A node that is to be watched: what is written, what is started, what is refused. openssl is the real one."""

from __future__ import annotations

import grp
import json
import os
import stat
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.plan import CARDS, NODE, Options
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.state import converge
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult, run_process

SERVER = "prometheus-node-exporter.service"
OPTIONS = Options(
    state="present",
    cards=8,
    cards_from="hl_smi",
    interval=15,
    hl_smi_seconds=60,
    served_by="distribution",
    address="10.0.0.11",
    port=9100,
    all_interfaces=False,
    names=("gaudi-01", "10.0.0.11"),
    readers=("-----BEGIN CERTIFICATE-----\nserver\n-----END CERTIFICATE-----\n",),
    readers_to_come=False,
    directory="/var/lib/prometheus/node-exporter",
    unit=SERVER,
    program="/usr/bin/prometheus-node-exporter",
    group=grp.getgrgid(os.getegid()).gr_name,
    arguments_file="/etc/default/prometheus-node-exporter",
)


@dataclass
class Node:
    """systemd and ss of a node; ``listening`` are ports of others, ``calls`` what was asked of systemd to change."""

    root: Path
    enabled: set[str] = field(default_factory=set)
    active: set[str] = field(default_factory=set)
    listening: set[int] = field(default_factory=set)
    calls: list[str] = field(default_factory=list)

    def __call__(
        self, argv: Sequence[str], *, timeout: float | None = None, env: Mapping[str, str] | None = None
    ) -> CommandResult:
        if argv[0] == "openssl":
            return run_process(argv, timeout=timeout, env=env)
        if argv[0] == "ss":
            return CommandResult(0, "LISTEN\n" if int(argv[-1].rpartition(":")[2]) in self.listening else "", "")
        verb, unit = argv[1], argv[-1]
        known = {"is-enabled": self.enabled, "is-active": self.active}
        if verb in known:
            return CommandResult(0 if unit in known[verb] else 1, "", "")
        self.calls.append(f"{verb} {unit}" if unit != verb else verb)
        if verb == "enable":
            self.enabled.add(unit)
        if verb == "restart":
            self.active.add(unit)
        if verb == "disable":
            # Which ends with an error for a unit that has no file.
            own = unit.startswith("gaudi3-scale-metrics@")
            assert not own or (self.root / "etc/systemd/system/gaudi3-scale-metrics@.service").exists()
            self.enabled.discard(unit)
            self.active.discard(unit)
        return CommandResult(0, "", "")

    def run(self, check_mode: bool = False, **changed: Any) -> dict[str, Any]:
        self.calls.clear()
        return converge(replace(OPTIONS, **changed), self, check_mode, str(self.root))

    def text(self, path: str) -> str:
        return (self.root / path.lstrip("/")).read_text()


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_a_node_is_watched_and_a_second_run_changes_nothing(node: Node) -> None:
    first = node.run()
    assert first["changed"]
    assert node.active == node.enabled == {CARDS, NODE, SERVER}
    arguments = [
        line for line in node.text(f"/etc/systemd/system/{SERVER}.d/gaudi3-scale.conf").splitlines() if "ARGS" in line
    ]
    given = "--web.listen-address=10.0.0.11:9100 --web.config.file=/etc/gaudi3_scale/exporter/web.yml"
    directory = "--collector.textfile.directory=/var/lib/prometheus/node-exporter"
    assert arguments == [f"ExecStart=/usr/bin/prometheus-node-exporter $ARGS {given} {directory}"]
    second = node.run()
    assert (second["changed"], second["steps"], node.calls) == (False, [], [])
    assert second["certificate"] == first["certificate"]


def test_check_mode_tells_all_and_touches_nothing(node: Node) -> None:
    foretold = node.run(check_mode=True)
    assert foretold["certificate"] == ""
    assert (list(node.root.rglob("*")), node.calls) == ([], [])
    assert node.run()["steps"] == foretold["steps"]


def test_the_key_stays_and_its_certificate_names_the_node(node: Node) -> None:
    certificate = node.run()["certificate"]
    key = node.root / "etc/gaudi3_scale/exporter/key.pem"
    assert stat.S_IMODE(key.stat().st_mode) == 0o640
    assert "PRIVATE" not in certificate
    shown = subprocess.run(
        ["openssl", "x509", "-noout", "-ext", "subjectAltName,extendedKeyUsage"],
        input=certificate, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert "DNS:gaudi-01, IP Address:10.0.0.11" in shown
    assert "TLS Web Server Authentication" in shown


def test_another_name_needs_another_certificate(node: Node) -> None:
    before = node.run()["certificate"]
    assert node.run(names=("gaudi-02", "10.0.0.11"))["certificate"] != before


def test_a_key_of_another_certificate_is_made_anew(node: Node) -> None:
    before = node.run()["certificate"]
    subprocess.run(
        ["openssl", "genpkey", "-algorithm", "RSA", "-out", node.root / "etc/gaudi3_scale/exporter/key.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    again = node.run()
    assert again["steps"] == ["certificate"]
    assert again["certificate"] != before
    assert f"restart {SERVER}" in node.calls


def test_only_readers_get_an_answer(node: Node) -> None:
    node.run()
    tls = json.loads(node.text("/etc/gaudi3_scale/exporter/web.yml").partition("\n")[2])["tls_server_config"]
    assert (tls["client_auth_type"], tls["min_version"]) == ("RequireAndVerifyClientCert", "TLS12")
    assert node.text("/etc/gaudi3_scale/exporter/readers.pem") == OPTIONS.readers[0]


def test_a_reader_that_goes_is_none_any_more(node: Node) -> None:
    node.run()
    node.run(readers=(), address="127.0.0.1")
    assert not (node.root / "etc/gaudi3_scale/exporter/readers.pem").exists()
    assert "client" not in node.text("/etc/gaudi3_scale/exporter/web.yml")


def test_taken_away_nothing_listens_to_everyone(node: Node) -> None:
    node.run()
    gone = node.run(state="absent")
    assert gone["changed"]
    assert node.active == set()
    assert [path.name for path in node.root.rglob("*") if path.is_file()] == []
    assert not node.run(state="absent")["changed"]


def test_on_a_virgin_node_there_is_nothing_to_take_away(node: Node) -> None:
    assert not node.run(state="absent")["changed"]
    assert node.calls == []


def test_the_site_s_own_node_exporter_is_left_alone(node: Node) -> None:
    node.active.add(SERVER)
    node.listening.add(9100)
    node.run(served_by="site", directory="/srv/textfile")
    assert "--directory /srv/textfile " in node.text("/etc/systemd/system/gaudi3-scale-metrics@.service")
    assert [call for call in node.calls if SERVER in call] == []
    assert not (node.root / "etc/gaudi3_scale").exists()


def test_with_the_vendor_s_exporter_nobody_else_asks_the_cards(node: Node) -> None:
    node.run()
    node.listening.add(41611)
    node.run(cards_from="vendor")
    assert node.active == {NODE, SERVER}


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"address": "0.0.0.0"}, "address is 0.0.0.0, which is every network"),
        ({"address": "::"}, "address is ::, which is every network"),
        ({"address": "gaudi-01"}, "address is 'gaudi-01', which is none"),
        ({"readers": ()}, "readers is empty, and everyone who reaches 10.0.0.11"),
        ({"readers": ("server.pem",)}, "readers has what is no certificate in PEM"),
        (
            {"readers": (OPTIONS.readers[0] + "-----BEGIN PRIVATE KEY-----",)},
            "readers has what is no certificate in PEM",
        ),
    ],
)
def test_what_opens_the_exporter_to_all_is_refused(node: Node, changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(GaudiError, match=sentence):
        node.run(**changed)
    assert (list(node.root.rglob("*")), node.calls) == ([], [])


def test_check_mode_knows_of_readers_that_are_made_by_then(node: Node) -> None:
    foretold = node.run(check_mode=True, readers=(), readers_to_come=True)
    assert any("client_ca_file" in one["after"] for one in foretold["diff"])


def test_all_interfaces_is_for_who_says_so(node: Node) -> None:
    assert node.run(address="::", all_interfaces=True)["changed"]
    assert "--web.listen-address=[::]:9100 " in node.text(f"/etc/systemd/system/{SERVER}.d/gaudi3-scale.conf")


@pytest.mark.parametrize(
    ("port", "sentence"),
    [(41611, "the vendor's exporter answers at port 41611"), (9100, "something answers at port 9100 that is not")],
)
def test_another_exporter_is_named(node: Node, port: int, sentence: str) -> None:
    node.listening.add(port)
    with pytest.raises(GaudiError, match=sentence):
        node.run()
    assert node.calls == []


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ('ARGS="--web.listen-address=:9100"\n', True),
        ('ARGS="--collector.systemd --collector.textfile.directory=/srv"\n', True),
        ('# ARGS="--web.config.file=/x"\nARGS="--collector.systemd"\n', False),
    ],
)
def test_an_argument_that_is_given_twice_is_named(node: Node, text: str, refused: bool) -> None:
    (node.root / "etc/default").mkdir(parents=True)
    (node.root / "etc/default/prometheus-node-exporter").write_text(text)
    if not refused:
        assert node.run()["changed"]
        return
    with pytest.raises(GaudiError, match="/etc/default/prometheus-node-exporter has --"):
        node.run()
