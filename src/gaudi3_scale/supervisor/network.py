# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Datagrams between the supervisors of a job."""

from __future__ import annotations

import contextlib
import errno
import select
import socket
import threading
import time
from collections import deque
from typing import Any, Collection, Mapping, Sequence

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._job.network import address_towards
from gaudi3_scale.supervisor.pieces import MOST_BYTES, MOST_PIECES
from gaudi3_scale.supervisor.refusals import ask_for_refusals, refused_targets

# What is asked for; a stock kernel grants 208 KiB, which are fewer than 100 datagrams of a kilobyte.
BUFFER_BYTES = 1 << 22
# Several times three bursts of four datagrams from each of 64 nodes; of a flood the newest are kept.
MOST_KEPT = 64 * MOST_PIECES * 4
# What a stock kernel holds; under a flood, whoever waits is woken after as many.
MOST_AT_ONCE = 256
RESOLVE_AGAIN_S = 10.0
# What 1 Gbit/s takes to make room for a message of several pieces to 64 nodes, several times.
SEND_S = 0.02
PAUSE_S = 0.01


class Network:
    """``addresses`` by host; one whose name cannot be resolved yet is tried again.

    A thread empties the socket, since a kernel's buffer holds little and a slow disk keeps the loop from it for long.
    """

    def __init__(self, host: str, addresses: Mapping[str, str], port: int) -> None:
        self._port = port
        self._targets: dict[int, tuple[Any, ...]] = {}
        self._socket = _listen(host, addresses[host], port)
        self._woken, self.wake = _pair()
        self._ends, self._end = _pair()
        self._closed = threading.Event()
        self._came: deque[bytes] = deque(maxlen=MOST_KEPT)
        self._refused: deque[int] = deque(maxlen=MOST_KEPT)
        self._reported = False
        self._hears_refusals = ask_for_refusals(self._socket)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        others = {index: address for index, (name, address) in enumerate(addresses.items()) if name != host}
        # A name service that does not answer must not keep the loop from its work.
        threading.Thread(target=self._resolve, args=(others,), daemon=True).start()

    def _resolve(self, others: Mapping[int, str]) -> None:
        while True:
            for index, address in others.items():
                with contextlib.suppress(OSError):
                    found = socket.getaddrinfo(address, self._port, self._socket.family, socket.SOCK_DGRAM)
                    self._targets[index] = found[0][4]
            if len(self._targets) == len(others) or self._closed.wait(RESOLVE_AGAIN_S):
                return

    def receive(self, timeout: float) -> tuple[list[bytes], frozenset[int]]:
        """What came, and the nodes (indexes into the addresses) whose kernel says that nobody listens there.

        Waits up to ``timeout`` seconds for the first of either, or for a signal. A refusal is a hint and no more: it is
        not signed, and a firewall may send it for a node that is well.
        """
        _wait(self._woken, select.POLLIN, timeout)
        with contextlib.suppress(BlockingIOError):
            self._woken.recv(1024)
        # Before what is there is taken: what comes after it wakes again.
        self._reported = False
        datagrams = [self._came.popleft() for _datagram in range(len(self._came))]
        return datagrams, frozenset(self._refused.popleft() for _index in range(len(self._refused)))

    def send(self, datagrams: Sequence[bytes], to: Collection[int] | None = None) -> None:
        """To all others, or to those of these indexes; what cannot be sent now is sent again with the next ones."""
        targets = [target for index, target in list(self._targets.items()) if to is None or index in to]
        end = time.monotonic() + SEND_S
        for datagram in datagrams:
            for target in targets:
                self._send(datagram, target, end)

    def _send(self, datagram: bytes, target: tuple[Any, ...], end: float) -> None:
        # A socket gives what became of an earlier datagram as the error of the next call, which then sends nothing.
        for _attempt in range(3):
            try:
                self._socket.sendto(datagram, target)
                return
            except BlockingIOError:
                _wait(self._socket, select.POLLOUT, max(0.0, end - time.monotonic()))
            except OSError:
                continue

    def close(self) -> None:
        """Ends the thread. Nothing is received or sent any more."""
        self._closed.set()
        self._end.send(b"\0")
        self._reader.join()
        # Signals may still write to ``wake``: its number must not become that of another file.
        for opened in (self._socket, self._ends, self._end):
            opened.close()

    def _read(self) -> None:
        """Until it is closed."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        poll.register(self._ends, select.POLLIN)
        while not self._closed.is_set():
            events = dict(poll.poll()).get(self._socket.fileno(), 0)
            refused = self._refusals() if events & select.POLLERR and self._hears_refusals else []
            came = self._queued()
            self._refused.extend(refused)
            self._came.extend(came)
            if came or refused:
                self._wake()
            else:
                # No error that stays may keep this thread busy.
                self._closed.wait(PAUSE_S)

    def _queued(self) -> list[bytes]:
        came: list[bytes] = []
        # An OSError is what became of an earlier datagram, or that there is none.
        with contextlib.suppress(OSError):
            while len(came) < MOST_AT_ONCE:
                came.append(self._socket.recv(MOST_BYTES))
        return came

    def _refusals(self) -> list[int]:
        try:
            refused = refused_targets(self._socket)
        except OSError:
            return []
        return [index for index, target in list(self._targets.items()) if target[:2] in refused]

    def _wake(self) -> None:
        if not self._reported:
            self._reported = True
            with contextlib.suppress(BlockingIOError):
                self.wake.send(b"\0")


def _wait(opened: socket.socket, event: int, timeout: float) -> None:
    poll = select.poll()
    poll.register(opened, event)
    poll.poll(timeout * 1000)


def _pair() -> tuple[socket.socket, socket.socket]:
    """One to read and one to write, neither of which waits."""
    reads, writes = socket.socketpair()
    reads.setblocking(False)
    writes.setblocking(False)
    return reads, writes


def _listen(host: str, address: str, port: int) -> socket.socket:
    """A socket on this node's address; where that is translated on the way here, on the one that leads to it."""
    try:
        family, _kind, _protocol, _name, target = socket.getaddrinfo(address, port, type=socket.SOCK_DGRAM)[0]
    except OSError as error:
        raise GaudiError(f"address {address} of {host} cannot be resolved: {error.strerror}; correct it.") from error
    opened = socket.socket(family, socket.SOCK_DGRAM)
    opened.setblocking(False)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
    try:
        _bind(opened, target, address, port)
    except OSError as error:
        opened.close()
        raise GaudiError(
            f"control_port {port} cannot be used on {host}: {error.strerror}; choose another port, or stop what uses "
            "it."
        ) from error
    return opened


def _bind(opened: socket.socket, target: tuple[object, ...], address: str, port: int) -> None:
    try:
        opened.bind(target)
    except OSError as error:
        if error.errno != errno.EADDRNOTAVAIL:
            raise
        # Never on all addresses: a node has other networks too.
        opened.bind((address_towards(address, port), port))
