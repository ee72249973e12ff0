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
    readers_to_come=(),
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
    # As the distribution's package makes it; its collectors write where they are told.
    directory: str = OPTIONS.directory[1:]

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
            about = unit.removeprefix("gaudi3-scale-metrics@").removesuffix(".service")
            if about != unit.removesuffix(".service"):
                (self.root / self.directory / f"gaudi_{about}.prom").write_text("gaudi_node_quarantined 0\n")
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

    def metrics(self) -> list[str]:
        return sorted(path.name for path in (self.root / self.directory).iterdir())

    def text(self, path: str) -> str:
        return (self.root / path.lstrip("/")).read_text()


@pytest.fixture
def node(tmp_path: Path) -> Node:
    (tmp_path / OPTIONS.directory[1:]).mkdir(parents=True)
    return Node(tmp_path)


def is_untouched(node: Node) -> bool:
    return not any(path.is_file() for path in node.root.rglob("*")) and not node.calls


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
    assert is_untouched(node)
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
    node.directory = "srv/textfile"
    (node.root / node.directory).mkdir(parents=True)
    node.run(served_by="site", directory="/srv/textfile")
    assert "--directory /srv/textfile " in node.text("/etc/systemd/system/gaudi3-scale-metrics@.service")
    assert [call for call in node.calls if SERVER in call] == []
    assert not (node.root / "etc/gaudi3_scale").exists()


def test_with_the_vendor_s_exporter_nobody_else_asks_the_cards(node: Node) -> None:
    node.run()
    node.listening.add(41611)
    node.run(cards_from="vendor")
    assert node.active == {NODE, SERVER}


@pytest.mark.parametrize("server", ["distribution", "site"])
@pytest.mark.parametrize(
    ("changed", "left"), [({"cards_from": "vendor"}, ["gaudi_node.prom"]), ({"state": "absent"}, [])]
)
def test_metrics_that_nobody_writes_any_more_are_gone(
    node: Node, changed: dict[str, str], left: list[str], server: str
) -> None:
    node.run(served_by=server)
    assert node.metrics() == ["gaudi_cards.prom", "gaudi_node.prom"]
    foretold = node.run(check_mode=True, served_by=server, **changed)
    assert node.metrics() == ["gaudi_cards.prom", "gaudi_node.prom"]
    done = node.run(served_by=server, **changed)
    assert node.metrics() == left
    path = node.root / OPTIONS.directory[1:] / "gaudi_cards.prom"
    assert done["steps"] == foretold["steps"] and f"file {path}" in done["steps"]
    assert not any("gaudi_node_quarantined" in shown["before"] for shown in done["diff"])
    assert not node.run(served_by=server, **changed)["changed"]


def test_metrics_that_were_left_by_somebody_go_too(node: Node) -> None:
    (node.root / node.directory / "gaudi_cards.prom").write_text("gaudi_cards_present 7\n")
    assert node.run(state="absent")["steps"] == [f"file {node.root / node.directory / 'gaudi_cards.prom'}"]
    assert node.metrics() == []


def test_what_reads_hostile_files_as_root_has_limits(node: Node) -> None:
    node.run()
    lines = node.text("/etc/systemd/system/gaudi3-scale-metrics@.service").splitlines()
    directory = "ReadWritePaths=-/var/lib/prometheus/node-exporter"
    assert {"ProtectSystem=full", "MemoryMax=1G", "TasksMax=256", directory} <= {*lines}


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"address": "0.0.0.0"}, "address is 0.0.0.0, which is every network"),
        ({"address": "::"}, "address is ::, which is every network"),
        ({"address": "gaudi-01"}, "address is 'gaudi-01', which is not an address"),
        ({"readers": ()}, "readers is empty, so everyone who reaches 10.0.0.11"),
        ({"readers": ("server.pem",)}, "readers has an entry that is not a PEM certificate"),
        (
            {"readers": (OPTIONS.readers[0] + "-----BEGIN PRIVATE KEY-----",)},
            "readers has an entry that is not a PEM certificate",
        ),
        (
            {"readers_to_come": ("watcher", "second")},
            r"^readers_to_come has watcher,second \(the role's gaudi_exporter_servers\), .* gaudi-01,watcher,second",
        ),
    ],
)
def test_what_opens_the_exporter_to_all_is_refused(node: Node, changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(GaudiError, match=sentence):
        node.run(**changed)
    assert is_untouched(node)


def test_check_mode_knows_of_readers_that_are_made_by_then(node: Node) -> None:
    foretold = node.run(check_mode=True, readers=(), readers_to_come=("watcher",))
    assert any("client_ca_file" in one["after"] for one in foretold["diff"])


@pytest.mark.parametrize("readers", [(), (OPTIONS.readers[0].replace("server", "site's"),)])
def test_a_run_that_does_not_reach_a_reader_takes_nothing_from_it(node: Node, readers: tuple[str, ...]) -> None:
    """As the remedy of an alert, which is for one node, with the watching machine left out by --limit."""
    node.run(readers=(*readers, OPTIONS.readers[0]))
    foretold = node.run(check_mode=True, readers=readers, readers_to_come=("watcher",))
    assert not foretold["changed"]
    with pytest.raises(GaudiError, match="readers_to_come has watcher"):
        node.run(readers=readers, readers_to_come=("watcher",))
    assert OPTIONS.readers[0] in node.text("/etc/gaudi3_scale/exporter/readers.pem")
    assert node.calls == []


def test_where_nobody_reads_nobody_is_waited_for(node: Node) -> None:
    assert not node.run(state="absent", readers=(), readers_to_come=("watcher",))["changed"]
    assert node.run(served_by="site", readers=(), readers_to_come=("watcher",))["changed"]


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"port": 0}, "^port is 0, which is not a port; give one from 1 to 65535"),
        ({"port": 65536}, "^port is 65536, which is not a port"),
        ({"interval": 0}, "^interval is 0, which is less than a second; give 1 or more"),
        ({"hl_smi_seconds": -1}, "^hl_smi_seconds is -1, which is less than a second"),
        ({"served_by": "site", "interval": 0}, "^interval is 0"),
        (
            {"served_by": "site", "directory": "/srv/none"},
            "^directory is /srv/none, which does not exist; create it, or",
        ),
    ],
)
@pytest.mark.parametrize("check_mode", [True, False])
def test_what_nobody_can_mean_is_refused(node: Node, changed: dict[str, Any], sentence: str, check_mode: bool) -> None:
    with pytest.raises(GaudiError, match=sentence):
        node.run(check_mode, **changed)
    assert is_untouched(node)
    assert not node.run(state="absent", **changed)["changed"]


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
