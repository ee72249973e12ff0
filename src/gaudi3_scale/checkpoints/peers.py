# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How the nodes of a job speak with each other before their ranks start: TCP, JSON, by the key of the launch.

Both ends prove that they have the key and that they mean the same generation, and each message has its HMAC-SHA256 with
its place among them, so that nobody else's is taken, and none twice. Nothing is encrypted, as between ranks.
Standard library only.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

from gaudi3_scale.core._errors import GaudiError

_PURPOSE = b"gaudi3.scale hand-over 1\n"
_NONCE_BYTES, _MAC_BYTES, _LENGTH_BYTES = 16, 32, 8
_MOST_MESSAGE, _MOST_GREETING = 1 << 26, 64
_CHUNK_BYTES = 1 << 20
# From whoever has not proved yet that it has the key.
_GREETING_S = 10.0
_AGAIN_S = 0.2


class PeerError(Exception):
    """The other node is gone, or what came is not what a node of this job sends."""


class Channel:
    """One connection, once both ends have greeted."""

    def __init__(self, connection: socket.socket, key: bytes, generation: str, *, begins: bool) -> None:
        """Raises PeerError where the other end does not have the key, or means another generation."""
        self._connection = connection
        self._begins = begins
        self._sent = self._received = 0
        self._most = _MOST_GREETING
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connection.settimeout(_GREETING_S)
        mine = secrets.token_bytes(_NONCE_BYTES)
        self._write(mine)
        theirs = self._read(_NONCE_BYTES)
        both = mine + theirs if begins else theirs + mine
        self._key = hmac.digest(key, _PURPOSE + generation.encode() + b"\n" + both, "sha256")
        if begins:
            self.send("greeting")
        if self.receive() != "greeting":
            raise PeerError("it did not identify itself")
        if not begins:
            self.send("greeting")
        # Whoever is not heard any more is ended by the supervisors, whatever this waits for.
        self._most = _MOST_MESSAGE
        connection.settimeout(None)

    def send(self, value: Any) -> None:
        body = json.dumps(value).encode()
        self._write(len(body).to_bytes(_LENGTH_BYTES, "big") + self._mac(self._begins, self._sent, body) + body)
        self._sent += 1

    def receive(self) -> Any:
        """Raises PeerError."""
        length = int.from_bytes(self._read(_LENGTH_BYTES), "big")
        if length > self._most:
            raise PeerError("its message is too long")
        mac, body = self._read(_MAC_BYTES), self._read(length)
        if not hmac.compare_digest(mac, self._mac(not self._begins, self._received, body)):
            raise PeerError("it has another key")
        self._received += 1
        return json.loads(body)

    def send_file(self, path: Path, size: int) -> None:
        """The bytes, then their SHA-256; PeerError where the file has another size by now."""
        digest, left = hashlib.sha256(), size
        with path.open("rb") as stream:
            while left and (chunk := stream.read(min(left, _CHUNK_BYTES))):
                digest.update(chunk)
                self._write(chunk)
                left -= len(chunk)
        if left:
            raise PeerError(f"{path} has become shorter")
        self.send(digest.hexdigest())

    def receive_file(self, size: int) -> Iterator[bytes]:
        """The bytes; PeerError after the last one where they are not those that were sent."""
        digest, left = hashlib.sha256(), size
        while left:
            chunk = self._read(min(left, _CHUNK_BYTES))
            digest.update(chunk)
            left -= len(chunk)
            yield chunk
        if self.receive() != digest.hexdigest():
            raise PeerError("it did not arrive as it was sent")

    def close(self) -> None:
        self._connection.close()

    def wait_for_end(self, seconds: float) -> None:
        """Until the other end has closed: who closes first keeps the port for a minute."""
        self._connection.settimeout(seconds)
        with contextlib.suppress(OSError):
            self._connection.recv(1)
        self.close()

    def _mac(self, from_beginner: bool, number: int, body: bytes) -> bytes:
        about = bytes([from_beginner]) + number.to_bytes(_LENGTH_BYTES, "big")
        return hmac.digest(self._key, about + body, "sha256")

    def _write(self, content: bytes) -> None:
        try:
            self._connection.sendall(content)
        except OSError as error:
            raise PeerError(error.strerror or type(error).__name__) from error

    def _read(self, size: int) -> bytes:
        pieces, left = [], size
        while left:
            try:
                piece = self._connection.recv(min(left, _CHUNK_BYTES))
            except OSError as error:
                raise PeerError(error.strerror or type(error).__name__) from error
            if not piece:
                raise PeerError("it is gone")
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)


class Listener:
    """Takes connections on ``port`` (0: any) until it is closed, and calls ``serve`` for each in a thread."""

    def __init__(self, port: int, key: bytes, generation: str, serve: Callable[[Channel], None]) -> None:
        """Raises GaudiError where the port is taken."""
        self._key, self._generation, self._serve = key, generation, serve
        try:
            # As the ranks' own store: of both kinds of addresses where the node has both.
            both = socket.has_dualstack_ipv6()
            family = socket.AF_INET6 if both else socket.AF_INET
            self._socket = socket.create_server(("", port), family=family, dualstack_ipv6=both, backlog=128)
        except OSError as error:
            raise GaudiError(f"port {port} cannot be listened on: {error.strerror}; stop what uses it.") from error
        self.port: int = self._socket.getsockname()[1]
        threading.Thread(target=self._take, daemon=True).start()

    def close(self) -> None:
        # Without this, whoever waits in accept keeps the port.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _take(self) -> None:
        while True:
            try:
                connection, _address = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._greet, args=(connection,), daemon=True).start()

    def _greet(self, connection: socket.socket) -> None:
        try:
            self._serve(Channel(connection, self._key, self._generation, begins=False))
        except (PeerError, ValueError, OSError):
            # Nobody of this job, or one that has gone: who waits for it sees that.
            connection.close()


def connect(address: str, port: int, key: bytes, generation: str, seconds: float) -> Channel:
    """A channel to a node that is about to listen; PeerError where none is there after ``seconds``."""
    end = time.monotonic() + seconds
    while True:
        try:
            return Channel(socket.create_connection((address, port), _GREETING_S), key, generation, begins=True)
        except (OSError, PeerError) as error:
            reason = str(error) if isinstance(error, PeerError) else error.strerror or str(error)
        if time.monotonic() > end:
            raise PeerError(reason)
        time.sleep(_AGAIN_S)
