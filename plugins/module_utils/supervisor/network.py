# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Datagrams between the supervisors of a job."""

from __future__ import annotations

import contextlib
import errno
import selectors
import socket
import threading
import time
from typing import Any, Mapping

from ..errors import GaudiError
from .messages import MOST_BYTES

# A burst of votes of 64 nodes fits several times.
BUFFER_BYTES = 1 << 20
MOST_AT_ONCE = 1000
RESOLVE_AGAIN_S = 10.0


class Network:
    """``addresses`` by host; one whose name cannot be resolved yet is tried again."""

    def __init__(self, host: str, addresses: Mapping[str, str], port: int) -> None:
        self._port = port
        self._targets: dict[str, tuple[Any, ...]] = {}
        self._socket = _listen(host, addresses[host], port)
        self._woken, wake = socket.socketpair()
        self._woken.setblocking(False)
        wake.setblocking(False)
        self.wake = wake
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._socket, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        others = {name: address for name, address in addresses.items() if name != host}
        # A name service that does not answer must not keep the loop from its work.
        threading.Thread(target=self._resolve, args=(others,), daemon=True).start()

    def _resolve(self, others: Mapping[str, str]) -> None:
        while True:
            for name, address in others.items():
                with contextlib.suppress(OSError):
                    found = socket.getaddrinfo(address, self._port, self._socket.family, socket.SOCK_DGRAM)
                    self._targets[name] = found[0][4]
            if len(self._targets) == len(others):
                return
            time.sleep(RESOLVE_AGAIN_S)

    def receive(self, timeout: float) -> list[bytes]:
        """What came; waits up to ``timeout`` seconds for the first datagram, or for a signal."""
        self._selector.select(timeout)
        with contextlib.suppress(OSError):
            self._woken.recv(1024)
        datagrams: list[bytes] = []
        while len(datagrams) < MOST_AT_ONCE:
            try:
                datagrams.append(self._socket.recv(MOST_BYTES))
            except BlockingIOError:
                break
            except OSError:
                # An answer to an earlier datagram: nobody listens there.
                continue
        return datagrams

    def send(self, datagram: bytes) -> None:
        """To all others; what cannot be sent now is sent again with the next one."""
        for target in list(self._targets.values()):
            with contextlib.suppress(OSError):
                self._socket.sendto(datagram, target)

    def close(self) -> None:
        self._selector.close()
        self._socket.close()


def _listen(host: str, address: str, port: int) -> socket.socket:
    """A socket on this node's address, or on all where the address is translated on the way to this node."""
    try:
        family, _kind, _protocol, _name, target = socket.getaddrinfo(address, port, type=socket.SOCK_DGRAM)[0]
    except OSError as error:
        raise GaudiError(f"address {address} of {host} cannot be resolved: {error.strerror}; correct it.") from error
    opened = socket.socket(family, socket.SOCK_DGRAM)
    opened.setblocking(False)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
    for place in (target, ("", port)):
        try:
            opened.bind(place)
            return opened
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL and place is target:
                continue
            opened.close()
            raise GaudiError(
                f"control_port {port} cannot be used on {host}: {error.strerror}; choose another port, or stop what "
                "uses it."
            ) from error
    raise AssertionError("unreachable")
