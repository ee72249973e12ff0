# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the program that sends to CloudWatch speaks with, on loopback: moto's real server, one that refuses, one that
never answers, and a Prometheus that answers as its API says, over TLS."""

from __future__ import annotations

import http.server
import itertools
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import boto3
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.tls_identity import Identity, make

REGION = "eu-central-1"
# Whose account moto is, whoever asks.
ACCOUNT = "123456789012"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "an-id", "AWS_SECRET_ACCESS_KEY": "a-key", "AWS_EC2_METADATA_DISABLED": "true"}
Series = tuple[Mapping[str, str], str]


class Moto:
    """The server in a process of its own; ``enforced`` has it ask who calls, as IAM does."""

    def __init__(self, enforced: bool = False) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        further = {"INITIAL_NO_AUTH_ACTION_COUNT": "0"} if enforced else {}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "--host", "127.0.0.1", "--port", str(port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **further},
        )
        # One line for each request: what was called, beside what is there afterwards.
        self._log: list[str] = []
        self._marks = itertools.count()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._wait()
        self.client = boto3.client(
            "cloudwatch",
            endpoint_url=self.url,
            region_name=REGION,
            aws_access_key_id="an-id",
            aws_secret_access_key="a-key",
        )

    def reset(self) -> None:
        urllib.request.urlopen(urllib.request.Request(f"{self.url}/moto-api/reset", method="POST")).close()
        self._log.clear()

    @property
    def requests(self) -> int:
        """How many there were since the last reset, the test's own among them.

        A request's line is written before its answer and read later, so the line of one more is waited for.
        """
        mark = f"/moto-api/?after={next(self._marks)}"
        urllib.request.urlopen(f"{self.url}{mark}").close()
        for _ in range(600):
            if any(mark in line for line in self._log):
                break
            time.sleep(0.1)
        else:
            raise AssertionError("moto logs no more")
        return sum('"POST / ' in line or '"POST /service' in line for line in self._log)

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(10)

    def _read(self) -> None:
        for line in self._process.stderr or ():
            self._log.append(line)

    def _wait(self) -> None:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"{self.url}/moto-api/").close()
                return
            except OSError:
                time.sleep(0.1)
        raise AssertionError("moto does not answer")


@contextmanager
def refusing(code: str, status: int = 400) -> Iterator[str]:
    """A server that answers as Amazon does where it refuses; its URL."""
    message = "User is not authorized to perform: cloudwatch:PutMetricData"
    xml = f"<ErrorResponse><Error><Code>{code}</Code><Message>{message}</Message></Error></ErrorResponse>"

    class Refusing(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            """In the protocol that was asked in: older ones of boto3 speak XML, newer ones JSON."""
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            kind = str(self.headers.get("Content-Type"))
            body = (json.dumps({"__type": code, "message": message}) if "json" in kind else xml).encode()
            self.send_response(status)
            self.send_header("Content-Type", kind if "json" in kind else "text/xml")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    with _served(server):
        yield f"http://127.0.0.1:{server.server_port}"


class Silent:
    """Takes connections and never says a word; ``trickles`` has it say a letter a second, and never come to an end."""

    def __init__(self, trickles: bool = False) -> None:
        self.connections: list[socket.socket] = []
        self._trickles = trickles
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._take, daemon=True).start()

    def close(self) -> None:
        for one in [*self.connections, self._socket]:
            one.close()

    def _take(self) -> None:
        while True:
            try:
                self.connections.append(self._socket.accept()[0])
            except OSError:
                return
            if self._trickles:
                threading.Thread(target=self._trickle, args=[self.connections[-1]], daemon=True).start()

    @staticmethod
    def _trickle(connection: socket.socket) -> None:
        try:
            connection.sendall(b"HTTP/1.1 200 OK\r\nX-Waits: ")
            while True:
                time.sleep(1)
                connection.sendall(b"x")
        except OSError:
            return


class Prometheus:
    """Answers ``/api/v1/query`` with ``series`` over TLS; its own files are below ``directory`` as on a server."""

    def __init__(self, directory: Path, series: Sequence[Series] = ()) -> None:
        self.directory, self.series = directory, list(series)
        self.questions: list[str] = []
        self.status = 200
        identity = Identity(str(directory), ("monitoring",), "root")
        make(identity, run_process)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(identity.certificate, identity.key)
        outer = self

        class Asked(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                body = json.dumps(outer.answer(form["query"][0], float(form["time"][0]))).encode()
                self.send_response(outer.status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Asked)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def answer(self, query: str, now: float) -> dict[str, Any]:
        """Of the two questions that are asked: how many of each name, and all of them."""
        self.questions.append(query)
        if query.startswith("count by (__name__)"):
            names = Counter(labels["__name__"] for labels, _value in self.series)
            found = [({"__name__": name}, str(count)) for name, count in names.items()]
        else:
            found = self.series
        result = [{"metric": dict(labels), "value": [now, value]} for labels, value in found]
        return {"status": "success", "data": {"resultType": "vector", "result": result}}

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def _served(server: http.server.HTTPServer) -> Iterator[None]:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
