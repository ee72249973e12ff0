# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""One streamed completion after the other over one connection, with the time of each token."""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..._node.screen_text import one_line
from .http_answer import HttpAnswer
from .sse import Events
from .target import Target

COMPLETIONS = "/v1/completions"
ABORTED = "abort"
_PIECE = 1 << 16
# Of an answer that is an error, and of what is shown of it.
_LONGEST_ERROR, _SHOWN = 1 << 14, 200


@dataclass
class Sample:
    """One request. Times are of one clock, in seconds; ``error`` is why it has no whole answer."""

    begun: float
    first: float = 0.0
    last: float = 0.0
    ended: float = 0.0
    gaps: list[float] = field(default_factory=list)
    input_tokens: int = 0
    output_tokens: int = 0
    error: str = ""

    @property
    def first_token(self) -> float:
        """Latency to the first token."""
        return self.first - self.begun


class BrokenError(Exception):
    """Why an answer is none, in a few words."""


class Connection:
    """To one server, opened when it is needed and again where the server has closed it."""

    def __init__(self, target: Target, context: ssl.SSLContext | None) -> None:
        self._target, self._context = target, context
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def completion(self, body: bytes) -> Sample:
        """Ask for one; whatever goes wrong is its ``error``."""
        sample = Sample(time.perf_counter())
        try:
            await self._timed(body, sample)
        except BrokenError as error:
            sample.error = str(error)
        except (OSError, ssl.SSLError, ValueError) as error:
            sample.error = one_line(str(error) or type(error).__name__)[:_SHOWN]
        finally:
            sample.ended = time.perf_counter()
            if sample.error or not sample.ended:
                self.close()
        return sample

    async def get(self, path: str) -> Any:
        """The JSON of a small answer. Raises BrokenError, OSError, ValueError."""
        content = b"".join([piece async for piece in self._pieces("GET", path, b"")])
        return json.loads(content)

    def close(self) -> None:
        """Without waiting for the other side."""
        if self._streams:
            self._streams[1].transport.abort()
        self._streams = None

    async def _timed(self, body: bytes, sample: Sample) -> None:
        events, is_done = Events(), False
        async for piece in self._pieces("POST", COMPLETIONS, body):
            for event in events.take(piece):
                if event == b"[DONE]":
                    is_done = True
                else:
                    _note(json.loads(event), sample)
        if not is_done:
            raise BrokenError("the stream ended before its last event")
        if not sample.first:
            raise BrokenError("the stream had no token")

    async def _pieces(self, method: str, path: str, body: bytes) -> AsyncIterator[bytes]:
        """The body of the answer as it comes. Raises BrokenError for another status than 200."""
        reader, writer = await self._open()
        writer.write(self._head(method, path, len(body)) + body)
        await writer.drain()
        answer, refused = HttpAnswer(), b""
        while not answer.is_whole:
            data = await reader.read(_PIECE)
            if not data:
                answer.end()
                break
            piece = answer.take(data)
            if answer.status == 200:
                if piece:
                    yield piece
            else:
                refused = (refused + piece)[:_LONGEST_ERROR]
        if not answer.may_stay:
            self.close()
        if answer.status != 200:
            raise BrokenError(_refusal(answer.status, refused))
        if not answer.is_whole:
            raise BrokenError("the answer was cut")

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams and self._streams[0].at_eof():
            self.close()
        if not self._streams:
            self._streams = await asyncio.open_connection(self._target.host, self._target.port, ssl=self._context)
        return self._streams

    def _head(self, method: str, path: str, length: int) -> bytes:
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self._target.authority}", f"Content-Length: {length}"]
        lines.append("Content-Type: application/json")
        if self._target.key:
            lines.append(f"Authorization: Bearer {self._target.key}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")


def _note(event: Mapping[str, Any], sample: Sample) -> None:
    """An event with a choice is a token, or several; the last has the counts instead."""
    if not isinstance(event, Mapping):
        raise BrokenError("an event is no JSON object")
    if event.get("error"):
        raise BrokenError(_words(event))
    choices = event.get("choices")
    if choices:
        # A server that stops answers so, with status 200 and no token, or in the middle of one.
        if any(isinstance(one, Mapping) and one.get("finish_reason") == ABORTED for one in choices):
            raise BrokenError("the server aborted the request")
        now = time.perf_counter()
        if sample.first:
            sample.gaps.append(now - sample.last)
        else:
            sample.first = now
        sample.last = now
    usage = event.get("usage")
    if isinstance(usage, Mapping):
        sample.input_tokens = int(usage.get("prompt_tokens") or 0)
        sample.output_tokens = int(usage.get("completion_tokens") or 0)


def _refusal(status: int, content: bytes) -> str:
    try:
        words = _words(json.loads(content))
    except ValueError:
        words = ""
    return f"status {status}{': ' if words else ''}{words}" if status else "the connection was closed without an answer"


def _words(told: object) -> str:
    """Of an error, as vLLM and others send it."""
    error = told.get("error") if isinstance(told, Mapping) else None
    message = error.get("message") if isinstance(error, Mapping) else error
    return one_line(str(message or ""))[:_SHOWN]
