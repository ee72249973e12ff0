# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A server with the endpoints that the client asks, whose times are known: an answer waits for one of its seats."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

Answer = Callable[[asyncio.StreamWriter, dict[str, Any]], Any]


class StubServer:
    """Listens while it is entered. ``seats`` requests run at a time, a token each takes ``token_s``."""

    def __init__(self, seats: int = 64, token_s: float = 0.002, odd: Answer | None = None, key: str = "") -> None:
        self.seats, self.token_s, self.odd, self.key = seats, token_s, odd, key
        self.port, self.connections = 0, 0
        self.bodies: list[dict[str, Any]] = []

    def __enter__(self) -> StubServer:
        self._loop = asyncio.new_event_loop()
        started = threading.Event()
        threading.Thread(target=self._run, args=(started,), daemon=True).start()
        started.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)

    def _run(self, started: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        self._seats = asyncio.Semaphore(self.seats)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        started.set()
        self._loop.run_forever()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                lengths = [line.split()[1] for line in head.split("\r\n") if line.startswith("Content-Length:")]
                body = await reader.readexactly(int(lengths[0]) if lengths else 0)
                if f"Authorization: Bearer {self.key}" not in head and self.key and "/v1" in head:
                    send_json(writer, {"error": "Unauthorized"}, 401)
                elif head.startswith("GET /v1/models"):
                    send_json(writer, {"data": [{"id": "stub", "max_model_len": 4096}]})
                elif head.startswith("GET /version"):
                    send_json(writer, {"version": "9.9"})
                elif not head.startswith("POST /v1/completions"):
                    send_json(writer, {"detail": "Not Found"}, 404)
                else:
                    asked = json.loads(body)
                    self.bodies.append(asked)
                    await (self.odd or self._stream)(writer, asked)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def _stream(self, writer: asyncio.StreamWriter, asked: dict[str, Any]) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        async with self._seats:
            for _number in range(asked["max_tokens"]):
                await asyncio.sleep(self.token_s)
                send_event(writer, {"choices": [{"text": "a"}]})
        usage = {"prompt_tokens": len(asked["prompt"]), "completion_tokens": asked["max_tokens"]}
        send_event(writer, {"choices": [], "usage": usage})
        send_chunk(writer, b"data: [DONE]\n\n")
        writer.write(b"0\r\n\r\n")


def send_json(writer: asyncio.StreamWriter, told: object, status: int = 200) -> None:
    data = json.dumps(told).encode()
    writer.write(b"HTTP/1.1 %d Said\r\nContent-Length: %d\r\n\r\n%s" % (status, len(data), data))


def send_event(writer: asyncio.StreamWriter, told: object) -> None:
    send_chunk(writer, b"data: %s\n\n" % json.dumps(told).encode())


def send_chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(b"%x\r\n%s\r\n" % (len(data), data))
