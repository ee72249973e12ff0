# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A site's webhook on a node of the sandbox, which writes down each alert; and questions to the Prometheus there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from testinfra.host import Host

PORT = 5051
URL = f"http://127.0.0.1:{PORT}/site"
_RECEIVED = "/run/received.jsonl"
# Writes down each message with its header, and when it came.
_RECEIVER = f"""
import http.server, json, time

class Heard(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with open("{_RECEIVED}", "a") as file:
            file.write(json.dumps([time.time(), self.headers.get("Authorization"), body]) + "\\n")
        self.send_response(200)
        self.end_headers()

http.server.HTTPServer(("127.0.0.1", {PORT}), Heard).serve_forever()
"""
_ASK = """
import ssl, sys, urllib.parse, urllib.request
trusted = ssl.create_default_context(cafile="/etc/gaudi3_scale/monitoring/certificate.pem")
query = urllib.parse.urlencode({"query": sys.argv[1]})
print(urllib.request.urlopen(f"https://127.0.0.1:9090/api/v1/query?{query}", context=trusted).read().decode())
"""


@contextmanager
def receiver(host: Host) -> Iterator[None]:
    """The webhook runs on this node."""
    host.run("systemctl stop receiver")
    host.check_output(f"cat > /run/receiver.py <<'END'\n{_RECEIVER}END")
    host.check_output(f"rm -f {_RECEIVED}; systemd-run --unit receiver python3 /run/receiver.py")
    try:
        yield
    finally:
        host.check_output("systemctl stop receiver")


def heard(host: Host) -> list[tuple[float, str | None, dict[str, Any]]]:
    """When by the node's clock, authorization and alert, of each that came."""
    messages = map(json.loads, host.run(f"cat {_RECEIVED}").stdout.splitlines())
    return [(at, header, alert) for at, header, body in messages for alert in body["alerts"]]


def ask(host: Host, query: str) -> list[dict[str, Any]]:
    """What the node's Prometheus answers, asked there and believed for its certificate."""
    said = host.check_output("python3 -c %s %s", _ASK, query)
    found: list[dict[str, Any]] = json.loads(said)["data"]["result"]
    return found
