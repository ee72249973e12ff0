# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A tracking server over HTTP that answers as MLflow's does, and hangs, fails or cuts the line when it is told to."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# How it answers.
WELL, HANGS, FAILS, SLOW, KEEPS_AND_CUTS, REFUSES, DRIPS = (
    "well",
    "hangs",
    "fails",
    "slow",
    "keeps and cuts",
    "no",
    "drips",
)


class MlflowStub:
    """``points`` has each metric as often as MLflow's table would: its key is all of its fields."""

    def __init__(self) -> None:
        self.mood = WELL
        self.runs: dict[str, dict[str, Any]] = {}
        self.points: dict[str, set[tuple[Any, ...]]] = {}
        self.requests: list[tuple[str, str | None]] = []
        self._lock = threading.Lock()
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                stub.answer(self)

            do_POST = do_GET  # noqa: N815

            def log_message(self, *_arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        path = request.path.removeprefix("/api/2.0/mlflow/").partition("?")[0]
        self.requests.append((path, request.headers.get("Authorization")))
        body = json.loads(request.rfile.read(int(request.headers.get("Content-Length") or 0)) or b"{}")
        mood = self.mood
        if mood == HANGS:
            time.sleep(60)
            return
        if mood == SLOW:
            time.sleep(0.7)
        if mood in (FAILS, REFUSES):
            self._send(request, 503 if mood == FAILS else 403, {"error_code": "PERMISSION_DENIED", "message": "no"})
            return
        with self._lock:
            status, told = self._do(path, body)
        if mood == KEEPS_AND_CUTS:
            request.connection.close()
            return
        self._send(request, status, told, drips=mood == DRIPS)

    def _do(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if path == "experiments/get-by-name":
            return 200, {"experiment": {"experiment_id": "1"}}
        if path == "runs/search":
            wanted = body["filter"].split("'")[1]
            found = [
                id_ for id_, run in self.runs.items() if {"key": "gaudi3_scale.spool", "value": wanted} in run["tags"]
            ]
            return 200, {"runs": [{"info": {"run_id": id_}} for id_ in found]}
        if path == "runs/create":
            id_ = f"run{len(self.runs)}"
            self.runs[id_] = {**body, "status": "RUNNING"}
            self.points[id_] = set()
            return 200, {"run": {"info": {"run_id": id_}}}
        if path == "runs/log-batch":
            assert len(body["metrics"]) <= 1000
            self.points[body["run_id"]] |= {tuple(sorted(metric.items())) for metric in body["metrics"]}
            return 200, {}
        if path == "runs/delete":
            del self.runs[body["run_id"]], self.points[body["run_id"]]
            return 200, {}
        if path == "runs/update":
            self.runs[body["run_id"]]["status"] = body["status"]
            return 200, {}
        return 404, {"error_code": "ENDPOINT_NOT_FOUND", "message": path}

    def _send(self, request: BaseHTTPRequestHandler, status: int, told: dict[str, Any], drips: bool = False) -> None:
        content = json.dumps(told).encode()
        request.send_response(status)
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        for byte in content if drips else ():
            request.wfile.write(bytes([byte]))
            request.wfile.flush()
            time.sleep(0.3)
        if not drips:
            request.wfile.write(content)
