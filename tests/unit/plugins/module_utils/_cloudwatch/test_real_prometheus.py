# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus, set up as the role does it, asked as the program asks: with and without readers of its own."""

from __future__ import annotations

import grp
import http.server
import json
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cloudwatch.options import METRICS, Source, Target
from ansible_collections.gaudi3.scale.plugins.module_utils._cloudwatch.points import points_of
from ansible_collections.gaudi3.scale.plugins.module_utils._cloudwatch.prometheus_query import (
    Reading,
    SilentError,
    read,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._monitoring.files import wanted_files
from ansible_collections.gaudi3.scale.plugins.module_utils._monitoring.options import Options, Service
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.tls_identity import Identity, certificate_of, make

pytestmark = pytest.mark.skipif(not shutil.which("prometheus"), reason="Prometheus is not here")

GROUP = grp.getgrgid(os.getegid()).gr_name
TARGET = Target("eu-central-1")
TOLD = """
gaudi_cards_driven 8
gaudi_card_temperature_celsius{card="0"} 61.5
gaudi_card_temperature_celsius{card="1"} 0
gaudi_job_loss{training="t"} NaN
"""
RULES = """
groups:
  - name: one
    rules:
      - {alert: GaudiCardCold, expr: gaudi_card_temperature_celsius == 0, labels: {severity: critical}}
"""


@pytest.fixture(scope="module")
def exporter() -> Iterator[int]:
    class Told(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(TOLD.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Told)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()


class Server:
    """Prometheus below ``root``, with our own ``web.yml``."""

    def __init__(self, root: Path, exporter: int, with_readers: bool) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.directory = root / "etc/gaudi3_scale/monitoring"
        own = Identity(str(self.directory / "cloudwatch"), ("localhost",), GROUP)
        make(own, run_process)
        service = Service("prometheus.service", "/usr/bin/prometheus")
        options = Options(
            state="present",
            nodes={"n1": f"127.0.0.1:{exporter}"},
            node_certificates={},
            rules={"gaudi_one.yml": RULES},
            retention="1d",
            address="127.0.0.1",
            port=self.port,
            alertmanager_port=9,
            all_interfaces=False,
            readers=(certificate_of(own),) if with_readers else (),
            webhooks=(),
            quarantine=None,
            names=("monitoring",),
            group=GROUP,
            prometheus=service,
            alertmanager=service,
            root=str(root),
        )
        make(options.identity, run_process)
        for wanted in wanted_files(options, {}, []):
            if wanted.content is not None and "/systemd/" not in wanted.path:
                Path(wanted.path).parent.mkdir(parents=True, exist_ok=True)
                Path(wanted.path).write_text(wanted.content)
        self._scrape_often(self.directory / "prometheus.yml")
        self._process = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={self.directory}/prometheus.yml",
                f"--web.config.file={self.directory}/web.yml",
                f"--web.listen-address=127.0.0.1:{self.port}",
                f"--storage.tsdb.path={root}/data",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    @property
    def source(self) -> Source:
        return Source("127.0.0.1", self.port, str(self.directory))

    def read(self, target: Target = TARGET) -> Reading:
        return read(self.source, target, time.time())

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(20)

    @staticmethod
    def _scrape_often(path: Path) -> None:
        """The exporter of this test has no certificate, and nobody waits a quarter of a minute here."""
        document = json.loads(path.read_text().partition("\n")[2])
        document["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
        scraped = document["scrape_configs"][0]
        scraped["scheme"] = "http"
        scraped.pop("tls_config")
        path.write_text(json.dumps(document))


@pytest.fixture(scope="module", params=[True, False], ids=["readers", "no readers"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, exporter: int) -> Iterator[Server]:
    found = Server(tmp_path_factory.mktemp("server"), exporter, request.param)
    yield found
    found.close()


def waited_for(holds: Callable[[], bool]) -> bool:
    for _ in range(200):
        try:
            if holds():
                return True
        except SilentError:
            pass
        time.sleep(0.2)
    return False


def test_values_and_alerts_are_read_with_what_the_role_gives(server: Server) -> None:
    assert waited_for(lambda: "ALERTS" in server.read().series)
    reading = server.read()
    assert reading.series == {
        "ALERTS": 1,
        "up": 1,
        "gaudi_cards_driven": 1,
        "gaudi_card_temperature_celsius": 2,
        "gaudi_job_loss": 1,
    }
    assert {*reading.series} <= {*METRICS}
    points, refused = points_of(reading.samples)
    assert refused == []
    assert {(point.name, point.dimensions, point.value) for point in points} == {
        ("up", (("node", "n1"),), 1.0),
        ("gaudi_cards_driven", (("node", "n1"),), 8.0),
        ("gaudi_card_temperature_celsius", (("card", "0"), ("node", "n1")), 61.5),
        ("gaudi_card_temperature_celsius", (("card", "1"), ("node", "n1")), 0.0),
        (
            "ALERTS",
            (
                ("alertname", "GaudiCardCold"),
                ("alertstate", "firing"),
                ("card", "1"),
                ("node", "n1"),
                ("severity", "critical"),
            ),
            1.0,
        ),
    }
    assert all(abs(point.time - time.time()) < 30 for point in points)


def test_the_limit_counts_what_it_has(server: Server) -> None:
    assert waited_for(lambda: bool(server.read().series))
    with pytest.raises(GaudiError, match="and most is 1; raise most"):
        server.read(Target("eu-central-1", most=1))


def test_names_that_it_does_not_know_are_no_error(server: Server) -> None:
    assert waited_for(lambda: bool(server.read().series))
    assert server.read(Target("eu-central-1", metrics=("no_such_metric",))).series == {}


def test_where_it_has_readers_nobody_else_is_answered(server: Server, tmp_path: Path) -> None:
    assert waited_for(lambda: bool(server.read().series))
    place = tmp_path / "monitoring"
    place.mkdir()
    shutil.copy(server.directory / "certificate.pem", place)
    source = Source("127.0.0.1", server.port, str(place))
    if (server.directory / "readers.pem").exists():
        with pytest.raises(SilentError, match="does not answer"):
            read(source, TARGET, time.time())
    else:
        assert read(source, TARGET, time.time()).series
