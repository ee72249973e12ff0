# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a hostile machine sends to the nodes of a job: ``attacker.py KIND PORT SECONDS ADDRESS...``.

Kinds: ``noise`` (datagrams of chance), ``replay`` and ``forge`` (of those in captured.json, as they were, and changed),
``connect`` (TCP, with bytes of chance where something answers). It says how much got out, as JSON.
"""

import json
import os
import random
import socket
import sys
import time
from pathlib import Path

CAPTURED = "/var/tmp/captured.json"


def captured() -> list[bytes]:
    with Path(CAPTURED).open(encoding="ascii") as stream:
        return [bytes.fromhex(one) for one in json.load(stream)]


def changed(datagram: bytes) -> bytes:
    """One bit another, cut off, or the body of one behind the digest of chance."""
    kind = random.randrange(3)
    if kind == 0:
        place = random.randrange(len(datagram))
        return datagram[:place] + bytes([datagram[place] ^ 1 << random.randrange(8)]) + datagram[place + 1 :]
    return datagram[: random.randrange(len(datagram))] if kind == 1 else os.urandom(32) + datagram[32:]


def noise() -> bytes:
    return os.urandom(random.choice((0, 1, 31, 32, 33, 200, 1400, 9000, 60000)))


def flood(kind: str, port: int, seconds: float, addresses: list[str]) -> int:
    known = captured() if kind != "noise" else []
    make = {"noise": noise, "replay": lambda: random.choice(known), "forge": lambda: changed(random.choice(known))}
    sent, end = 0, time.monotonic() + seconds
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        while time.monotonic() < end:
            try:
                sender.sendto(make[kind](), (random.choice(addresses), port))
                sent += 1
            except OSError:
                time.sleep(0.01)
    return sent


def connect(port: int, seconds: float, addresses: list[str]) -> int:
    """How many connections were taken."""
    taken, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            with socket.create_connection((random.choice(addresses), port), 1) as stream:
                taken += 1
                stream.sendall(os.urandom(4096))
        except OSError:
            continue
    return taken


if __name__ == "__main__":
    kind, port, seconds, *addresses = sys.argv[1:]
    chosen = (int(port), float(seconds), addresses)
    print(json.dumps(connect(*chosen) if kind == "connect" else flood(kind, *chosen)))
