# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The endpoints over HTTP."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from . import answers, protocol
from .log import say
from .metrics import Metrics
from .model import Model
from .protocol import CHAT, COMPLETIONS, MODELS, TOKENIZE, BadRequestError, Limits
from .scheduler import Scheduler

STOPPED = "EngineCore encountered an issue. See stack trace (above) for the root cause."
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass
class Service:
    """What a request meets. ``in_flight`` is the requests that are being answered."""

    version: str
    model: Model
    scheduler: Scheduler
    metrics: Metrics
    limits: Limits
    keys: tuple[str, ...]
    root: str
    draining: bool = False
    in_flight: int = 0
    changed: threading.Condition = field(default_factory=threading.Condition)

    def enter(self) -> bool:
        """Count one more; not once the server drains."""
        with self.changed:
            if self.draining:
                return False
            self.in_flight += 1
            return True

    def leave(self) -> None:
        with self.changed:
            self.in_flight -= 1
            self.changed.notify_all()

    def drain(self, seconds: float) -> bool:
        """Take no more, and wait; whether all had their answers."""
        with self.changed:
            self.draining = True
            return self.changed.wait_for(lambda: self.in_flight == 0, seconds)


class Server(ThreadingHTTPServer):
    """A thread for each connection, and room for many that come at once."""

    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, address: tuple[str, int], service: Service) -> None:
        self.service = service
        super().__init__(address, Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is no news."""


class Handler(BaseHTTPRequestHandler):
    """One connection, which may bring several requests."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def log_message(self, *_arguments: object) -> None:
        """The access log of uvicorn, left out."""

    def do_GET(self) -> None:
        service = self.server.service
        if not self._may():
            return
        if self.path == "/health":
            self._answer(200, b"", "text/plain")
        elif self.path == "/version":
            self._json(200, {"version": service.version, "simulated": True})
        elif self.path == "/metrics":
            self._answer(200, service.metrics.text(*service.scheduler.load()).encode(), METRICS_TYPE)
        elif self.path == MODELS:
            limits = service.limits
            card = {"id": limits.served_name, "object": "model", "created": 0, "owned_by": "vllm"}
            card |= {"root": service.root, "parent": None, "max_model_len": limits.max_model_len}
            self._json(200, {"object": "list", "data": [card]})
        else:
            self._json(404, {"detail": "Not Found"})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if not self._may():
            return
        service = self.server.service
        if self.path not in (COMPLETIONS, CHAT, TOKENIZE):
            self._json(404, {"detail": "Not Found"})
        elif self.path == TOKENIZE:
            self._tokenize(body)
        else:
            is_served = service.enter()
            try:
                self._complete(body, is_served)
            finally:
                if is_served:
                    service.leave()

    def _may(self) -> bool:
        keys = self.server.service.keys
        if not keys or not self.path.startswith("/v1"):
            return True
        given = self.headers.get("Authorization", "")
        if any(secrets.compare_digest(given.encode(), f"Bearer {key}".encode()) for key in keys):
            return True
        self._json(401, {"error": "Unauthorized"})
        return False

    def _tokenize(self, body: bytes) -> None:
        service = self.server.service
        try:
            tokens = service.model.tokens(str(json.loads(body)["prompt"]))
        except (ValueError, KeyError, TypeError) as error:
            self._json(400, BadRequestError(str(error)).body())
            return
        told = {"count": len(tokens), "max_model_len": service.limits.max_model_len, "tokens": tokens}
        self._json(200, told)

    def _complete(self, body: bytes, is_served: bool) -> None:
        service = self.server.service
        try:
            told = json.loads(body)
            if not isinstance(told, dict):
                raise BadRequestError("Input should be a valid dictionary")
            asked = protocol.read_request(told, self.path == CHAT, service.model, service.limits)
        except BadRequestError as error:
            self._json(error.status, error.body())
            return
        except (ValueError, TypeError) as error:
            self._json(400, BadRequestError(str(error)).body())
            return
        if is_served:
            submitted = answers.submit(asked, service.model, service.scheduler)
        else:
            # Seen of a real 0.32 that drains: status 200, and nothing but this reason.
            submitted = answers.aborted(asked, service.model)
        try:
            if asked.stream:
                self._stream(answers.events(submitted))
            else:
                self._json(200, answers.whole(submitted))
        except OSError:
            self.close_connection = True
            for answer in submitted:
                answer.request.ended_by = "abort"
        except answers.BrokenError:
            # A real 0.32 ends a stream so: the client has to see the error, since [DONE] follows.
            if asked.stream:
                self.close_connection = True
                stopped = BadRequestError(STOPPED, 500, "InternalServerError")
                self._chunk(f"data: {json.dumps(stopped.body())}\n\n")
                self._chunk("data: [DONE]\n\n")
                self.wfile.write(b"0\r\n\r\n")
            else:
                self._json(500, BadRequestError(STOPPED, 500, "InternalServerError").body())

    def _stream(self, told: Iterable[dict[str, Any]]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in told:
            self._chunk(f"data: {json.dumps(event)}\n\n")
        self._chunk("data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, text: str) -> None:
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _json(self, status: int, told: object) -> None:
        self._answer(status, json.dumps(told).encode(), "application/json")

    def _answer(self, status: int, data: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def serve(server: Server) -> None:
    """In a thread of its own, so that the main one may wait for a signal."""
    threading.Thread(target=server.serve_forever, name="http", daemon=True).start()
    say(f"Starting vLLM server on port {server.server_address[1]}")
    say("Application startup complete.")
