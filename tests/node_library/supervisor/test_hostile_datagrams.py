# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Datagrams that nobody of this program sends, without the key and with it: nothing raises, nothing grows."""

from __future__ import annotations

import gc
import hmac
import json
import random
import struct
import tracemalloc
import zlib
from dataclasses import replace

import pytest

from gaudi3_scale.supervisor.datagram import GENERATIONS_KNOWN, MOST_UNPACKED, Decoder, encode
from gaudi3_scale.supervisor.messages import Message, Ping
from gaudi3_scale.supervisor.pieces import (
    DATA_BYTES,
    DIGEST_BYTES,
    HEADER,
    MOST,
    MOST_BYTES,
    MOST_PIECES,
    PIECE_BYTES,
    PING,
    PROTOCOL,
    Sender,
    Signed,
    datagram_of,
    in_pieces,
)
from hostile_messages import (
    KEY,
    MESSAGES,
    NODES,
    PINGS,
    STARTED,
    body_of,
    generation,
    message,
    reported,
    understood,
    with_each_value,
    with_many_values,
    with_missing_and_unknown,
)

EVERYTHING = [*MESSAGES, *PINGS]
SENDER = Sender(1, STARTED, 7)


def check(said: Message | Ping | None) -> bool:
    """Whether it was understood; then it is within bounds, and what another node makes of it is the same."""
    if said is None:
        return False
    assert len(said.acks) == len(said.links) == NODES
    assert all(age is None or 0 <= age < MOST for age in said.links)
    assert all(ack is None or (0 <= ack[0] <= MOST and 0 <= ack[1] <= MOST) for ack in said.acks)
    if isinstance(said, Message):
        assert said.gone <= set(said.committed.indexes)
        assert 0 <= said.leads <= NODES + 1
        assert 0 <= said.remembers <= said.incarnation
    assert understood(encode(said, KEY)) == said
    return True


@pytest.mark.parametrize("one", EVERYTHING, ids=range(len(EVERYTHING)))
def test_what_peers_say_rightly_is_understood(one: Message | Ping) -> None:
    assert understood(encode(one, KEY)) == one
    assert understood(reported(body_of(one), one)) == one


@pytest.mark.parametrize("one", EVERYTHING, ids=range(len(EVERYTHING)))
def test_each_value_may_be_any_other(one: Message | Ping) -> None:
    # Zeros in place of ones are as good; were all refused, nothing would have been tried.
    assert sum(check(understood(datagrams)) for datagrams in with_each_value(one)) > 10


@pytest.mark.parametrize("one", EVERYTHING, ids=range(len(EVERYTHING)))
def test_values_may_be_missing_and_unknown_ones_there(one: Message | Ping) -> None:
    for datagrams in with_missing_and_unknown(one):
        check(understood(datagrams))


def test_many_values_may_change_at_once() -> None:
    for datagrams in with_many_values(random.Random(29501), 700):
        check(understood(datagrams))


@pytest.mark.parametrize(
    ("values", "place", "wrong"),
    [
        ({}, "acks", (None,) * (NODES - 1)),
        ({}, "acks", (None,) * (NODES + 1)),
        ({}, "acks", ((STARTED, -1), None, None, None, None)),
        ({}, "acks", ((STARTED, MOST + 1), None, None, None, None)),
        ({}, "acks", ((-1, 5), None, None, None, None)),
        ({}, "links", (0.1,) * (NODES - 1)),
        ({}, "links", (-0.2,) * NODES),
        ({}, "gone", frozenset({2})),
        ({}, "gone", frozenset({4})),
        ({}, "leads", NODES + 2),
        ({}, "leads", -1),
        ({}, "remembers", STARTED + 2),
        ({}, "remembers", -1),
        ({}, "committed", generation(1, witness=(1, STARTED))),
        ({}, "committed", generation(1, witness=(NODES, STARTED))),
        ({}, "committed", generation(1, witness=(4, -1))),
        ({"accepted": None}, "accepted", ((2, NODES), generation(2))),
        ({}, "index", NODES),
        ({}, "incarnation", MOST + 1),
        ({}, "sequence", MOST + 1),
    ],
)
def test_each_bound_is_kept(values: dict[str, object], place: str, wrong: object) -> None:
    right = message(**values)
    assert understood(encode(right, KEY)) == right
    assert understood(encode(replace(right, **{place: wrong}), KEY)) is None


def test_without_the_key_nothing_is_a_message() -> None:
    chance = random.Random(7)
    decoder = Decoder(KEY, NODES)
    for one in (MESSAGES[0], PINGS[0]):
        (datagram,) = encode(one, KEY)
        for end in range(len(datagram)):
            assert decoder.take(datagram[:end]) is None
        for place in range(len(datagram) * 8):
            flipped = bytearray(datagram)
            flipped[place // 8] ^= 1 << place % 8
            assert decoder.take(bytes(flipped)) is None
        assert decoder.take(encode(one, bytes(32))[0]) is None
        assert decoder.take(datagram) == one
    for length in (0, 1, 31, 32, 33, DIGEST_BYTES + HEADER.size, PIECE_BYTES, MOST_BYTES, 65507):
        assert decoder.take(chance.randbytes(length)) is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00" * 100,
        zlib.compress(b""),
        zlib.compress(b"\n\n"),
        zlib.compress(b"\n" * 100_000),
        zlib.compress(b"\xff\xfe"),
        zlib.compress(b"[" * 200_000),
        zlib.compress(b'{"a":' * 200_000),
        zlib.compress(b"9" * 1_000_000),
        zlib.compress(b"null"),
        zlib.compress(b"[null,null,null]"),
        zlib.compress(json.dumps(body_of(PINGS[0])).encode())[:-5],
        zlib.compress(b"null\n\nnull"),
    ],
    ids=range(13),
)
def test_what_has_the_key_may_hold_anything(data: bytes) -> None:
    assert understood([datagram_of(Signed(SENDER, PING, 0, data), KEY)]) is None
    assert understood(in_pieces(SENDER, data, KEY)) is None
    # Generations that are known do not make the rest so.
    (datagram,) = encode(MESSAGES[0], KEY)
    lines = zlib.decompress(datagram[DIGEST_BYTES + HEADER.size :]).split(b"\n")
    assert understood(in_pieces(SENDER, zlib.compress(b"\n".join([*lines[:2], data])), KEY)) is None


def test_headers_may_hold_anything_with_the_key() -> None:
    data = encode(PINGS[0], KEY)[0][DIGEST_BYTES + HEADER.size :]
    decoder = Decoder(KEY, NODES)
    numbers = (0, 1, 2, MOST_PIECES, MOST_PIECES + 1, 255)
    for pieces in numbers:
        for number in numbers:
            for index in (0, NODES - 1, NODES, 2**16 - 1):
                for large in (0, MOST, MOST + 1, 2**64 - 1):
                    said = struct.pack(">BBBHQQ", PROTOCOL, pieces, number, index, large, large) + data
                    found = decoder.take(hmac.digest(KEY, said, "sha256") + said)
                    right = (pieces, number) == (PING, 0) and index < NODES and large <= MOST
                    # Its differences lead out of bounds, too.
                    assert found is None or (right and check(found))


@pytest.mark.parametrize(
    ("pieces", "number", "length"),
    [
        (1, 0, DATA_BYTES + 1),
        (2, 0, DATA_BYTES - 1),
        (2, 0, DATA_BYTES + 1),
        (2, 1, DATA_BYTES + 1),
        (2, 1, 0),
        (2, 2, 10),
        (MOST_PIECES + 1, 0, DATA_BYTES),
        (PING, 0, MOST_BYTES),
        (PING, 1, 10),
    ],
)
def test_pieces_of_other_numbers_and_lengths_are_none(pieces: int, number: int, length: int) -> None:
    decoder = Decoder(KEY, NODES)
    assert decoder.take(datagram_of(Signed(SENDER, pieces, number, bytes(length)), KEY)) is None
    assert not decoder._pieces._partial


def test_a_count_of_pieces_that_changes_is_no_message() -> None:
    decoder = Decoder(KEY, NODES)
    full = bytes(DATA_BYTES)
    assert decoder.take(datagram_of(Signed(SENDER, 3, 0, full), KEY)) is None
    for number in range(2):
        assert decoder.take(datagram_of(Signed(SENDER, 2, number, full), KEY)) is None
    assert set(decoder._pieces._partial[1].found) == {0}


def memory_of(datagrams: list[bytes]) -> tuple[int, int]:
    """Bytes that a decoder holds after them, and the most that there were."""
    tracemalloc.start()
    decoder = Decoder(KEY, NODES)
    for datagram in datagrams:
        decoder.take(datagram)
    _held, most = tracemalloc.get_traced_memory()
    # Python keeps tuples that are gone for those to come, until then.
    gc.collect()
    held, _most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return held, most


def test_pieces_of_messages_that_never_end_fill_no_memory() -> None:
    full = random.Random(1).randbytes(DATA_BYTES)
    datagrams = [
        datagram_of(Signed(Sender(index, STARTED, sequence), MOST_PIECES, number, full), KEY)
        for sequence in range(40)
        for index in range(NODES)
        for number in range(MOST_PIECES - 1)
    ]
    held, _most = memory_of(datagrams)
    assert held < 2 * NODES * MOST_PIECES * PIECE_BYTES


def test_generations_that_never_come_again_fill_no_memory() -> None:
    datagrams = [
        encode(message(committed=generation(number, reason="x" * 2000), accepted=None, sequence=number), KEY)[0]
        for number in range(1, 500)
    ]
    few, _most = memory_of(datagrams[: 10 * GENERATIONS_KNOWN])
    many, _most = memory_of(datagrams)
    assert many < 1.5 * few


def test_a_small_message_does_not_unpack_to_a_large_one() -> None:
    bomb = zlib.compress(b"0" * 15_000_000, 9)
    datagrams = in_pieces(SENDER, bomb, KEY)
    assert 2 < len(datagrams) <= MOST_PIECES
    held, most = memory_of(datagrams)
    assert most < 4 * MOST_UNPACKED < 15_000_000
    assert held < 100_000
