# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Messages, and what a peer that has the launch's key may put in place of each value in them."""

from __future__ import annotations

import json
import math
import random
import zlib
from collections.abc import Iterator

from gaudi3_scale.supervisor.datagram import Decoder, encode
from gaudi3_scale.supervisor.generation import END, RUN, WAIT, Generation
from gaudi3_scale.supervisor.messages import Interruption, Message, Ping, Report
from gaudi3_scale.supervisor.pieces import DIGEST_BYTES, HEADER, PING, Sender, Signed, datagram_of, in_pieces
from tests.unit.json_places import places, with_value

KEY = bytes(range(32))
NAMES = ("n0", "n1", "n2", "spare", "witness")
NODES = len(NAMES)
STARTED = 1795302442153
FAILURE = {
    "rank": 3,
    "local_rank": 1,
    "exit_code": -9,
    "time": 1795302442.5,
    "exception": "ValueError",
    "message": "no",
    "lines": ["a", "b"],
    "path": "/var/log/x",
    "host": "",
    "echo": 0,
}
# What takes the place of each value in turn.
HOSTILE = [
    None, True, False, -1, 0, 1, 2, 2**31, 2**53 + 1, 2**64, 10**400, -(10**400), 1.5, -0.5, 1e308,
    math.inf, -math.inf, math.nan, "", "x", "1", "x" * 100_000, "\x1b[2J\ud800{{ 1 }}\n", [], [0], [[]], [None] * 5000,
    [[0, 1]] * 3, [[0, 0], [0, 0]], {}, {"": 0}, {"rank": 1}, {"echo": [], "time": {}}, FAILURE, [1, "run", [], 0],
]  # fmt: skip


def generation(number: int, kind: str = RUN, **values: object) -> Generation:
    places = ((0, STARTED), (1, STARTED + 1), None)
    return Generation(number, kind, places, **{"reason": "begun", "left_out": (2,), "grown": (3,), **values})


def message(**values: object) -> Message:
    report = Report("gone", True, "", False, (12, None), (0.1, None), 1.5, FAILURE, 2.5)
    given = {
        "index": 1,
        "incarnation": STARTED + 1,
        "sequence": 7,
        "committed": generation(1, witness=(4, STARTED + 4)),
        "promised": (2, 1),
        "accepted": ((2, 1), generation(2)),
        "acks": ((STARTED, 5), None, (STARTED + 2, 900), None, (STARTED + 4, 1)),
        "links": (0.4, None, 0.1, 0.2, 12.0),
        "report": report,
        "gone": frozenset({1}),
        "leads": 3,
        "interruption": Interruption(1, "hang", 1, "no step for 9 s"),
        **values,
    }
    return Message(**given)


MESSAGES = [
    message(),
    message(
        accepted=None, interruption=None, report=Report("running", True, steps=(5, 6), busy=(9.0, 9.0), step_age=99.0)
    ),
    message(report=Report("idle", False, "a card is missing", True, leaving=True), index=3, incarnation=STARTED + 3),
    message(committed=generation(3, END, outcome="failed", failure={**FAILURE, "host": "n1"}), accepted=None),
    message(committed=generation(0, WAIT), stop=True, asks=True, remembers=STARTED, sequence=8),
]
PINGS = [
    Ping(1, STARTED + 1, 7, message().acks, message().links),
    Ping(4, STARTED + 4, 8, (None,) * NODES, (None,) * NODES, asks=True),
]


def body_of(one: Message | Ping) -> object:
    """The JSON value of the datagram; of a message, a list of the current generation, the accepted one and the rest."""
    (datagram,) = encode(one, KEY)
    text = zlib.decompress(datagram[DIGEST_BYTES + HEADER.size :])
    if isinstance(one, Ping):
        return json.loads(text)
    return [json.loads(line) if line else None for line in text.split(b"\n")]


def reported(body: object, like: Message | Ping) -> list[bytes]:
    """The datagrams that say ``body`` in place of ``like``."""
    sender = Sender(like.index, like.incarnation, like.sequence)
    if isinstance(like, Ping):
        return [datagram_of(Signed(sender, PING, 0, zlib.compress(json.dumps(body).encode())), KEY)]
    lines = body if isinstance(body, list) else [body]
    text = b"\n".join(b"" if line is None else json.dumps(line).encode() for line in lines)
    return in_pieces(sender, zlib.compress(text), KEY)


def understood(datagrams: list[bytes], key: bytes = KEY) -> Message | Ping | None:
    """By somebody who has heard nothing before."""
    decoder = Decoder(key, NODES)
    found = [decoder.take(datagram) for datagram in datagrams]
    return next((said for said in found if said is not None), None)


def with_each_value(one: Message | Ping) -> Iterator[list[bytes]]:
    """``one`` with each value in turn being another."""
    body = body_of(one)
    for path in places(body):
        for value in HOSTILE:
            yield reported(with_value(body, path, value), one)


def with_missing_and_unknown(one: Message | Ping) -> Iterator[list[bytes]]:
    """``one`` with each value in turn left out, and with one too many in each place."""
    body = body_of(one)
    for path in places(body):
        parent = body
        for key in path:
            parent = parent[key]
        if isinstance(parent, list):
            for place in range(len(parent)):
                yield reported(with_value(body, path, parent[:place] + parent[place + 1 :]), one)
            yield reported(with_value(body, path, [*parent, 0]), one)
            yield reported(with_value(body, path, [*parent, *parent]), one)
        if isinstance(parent, dict):
            for name in parent:
                yield reported(
                    with_value(body, path, {key: value for key, value in parent.items() if key != name}), one
                )
            yield reported(with_value(body, path, {**parent, "__class__": 1}), one)


def with_many_values(chance: random.Random, rounds: int) -> Iterator[list[bytes]]:
    """Any of them with up to four values being others."""
    for _round in range(rounds):
        one = chance.choice([*MESSAGES, *PINGS])
        body = body_of(one)
        for _change in range(chance.randint(1, 4)):
            body = with_value(body, chance.choice(list(places(body))), chance.choice(HOSTILE))
        yield reported(body, one)
