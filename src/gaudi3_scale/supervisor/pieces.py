# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Bytes of any length as signed datagrams that no network has to cut, and the other way.

A datagram is HMAC-SHA256 with the launch's key, then what it covers: the version of the protocol, who sent it as which
of its messages, which piece of how many it is, and the piece. Fragments of IP would be fewer bytes, but many networks
drop them.
"""

from __future__ import annotations

import hmac
import struct
from typing import NamedTuple

# Counts up with whatever an older supervisor would misunderstand.
PROTOCOL = 1
# Each path carries it: IPv6 promises 1280 bytes, with its headers, on all links and through most tunnels.
PIECE_BYTES = 1200
MOST_PIECES = 16
# A ping has no pieces.
PING = 0

DIGEST_BYTES = 32
# Protocol, pieces (or PING), number of this piece, index, incarnation, sequence.
HEADER = struct.Struct(">BBBHQQ")
DATA_BYTES = PIECE_BYTES - DIGEST_BYTES - HEADER.size
# A ping is longer only where a peer that lies about its sequence numbers made its differences long.
MOST_BYTES = 1400
# A double, which JSON's readers may make of it, holds every whole number up to here.
MOST = 2**53


class Sender(NamedTuple):
    """Who says something (by its index), and as which of its messages."""

    node: int
    incarnation: int
    sequence: int


class Signed(NamedTuple):
    """What a datagram holds that is of this launch and protocol."""

    sender: Sender
    pieces: int
    number: int
    data: bytes


def datagram_of(part: Signed, key: bytes) -> bytes:
    said = HEADER.pack(PROTOCOL, part.pieces, part.number, *part.sender) + part.data
    return hmac.digest(key, said, "sha256") + said


def in_pieces(sender: Sender, data: bytes, key: bytes) -> list[bytes]:
    """``data`` in as many datagrams as it takes; none of them is longer than PIECE_BYTES."""
    parts = [data[start : start + DATA_BYTES] for start in range(0, len(data), DATA_BYTES)]
    return [datagram_of(Signed(sender, len(parts), number, part), key) for number, part in enumerate(parts)]


def signed_part(datagram: bytes, key: bytes, nodes: int) -> Signed | None:
    """What is in it, in a job of ``nodes`` nodes; None for another launch, another protocol, and what nobody says."""
    said = datagram[DIGEST_BYTES:]
    if not HEADER.size < len(said) <= MOST_BYTES - DIGEST_BYTES:
        return None
    if not hmac.compare_digest(datagram[:DIGEST_BYTES], hmac.digest(key, said, "sha256")):
        return None
    protocol, pieces, number, index, incarnation, sequence = HEADER.unpack_from(said)
    if protocol != PROTOCOL or index >= nodes or incarnation > MOST or sequence > MOST:
        return None
    if not number < pieces <= MOST_PIECES and (pieces, number) != (PING, 0):
        return None
    data = said[HEADER.size :]
    # Only the last piece of several is shorter than it could be.
    if pieces != PING and (len(data) > DATA_BYTES or (number < pieces - 1 and len(data) < DATA_BYTES)):
        return None
    return Signed(Sender(index, incarnation, sequence), pieces, number, data)


class _Partial(NamedTuple):
    """``found`` by number."""

    sender: Sender
    pieces: int
    found: dict[int, bytes]


class Pieces:
    """Puts pieces together: of each node those of its newest message, so at most MOST_PIECES a node are kept."""

    def __init__(self) -> None:
        self._partial: dict[int, _Partial] = {}

    def whole(self, part: Signed) -> bytes | None:
        """All of what ``part`` is the last missing piece of; they may come in any order, and again."""
        if part.pieces == 1:
            return part.data
        known = self._partial.get(part.sender.node)
        if known is None or part.sender > known.sender:
            known = self._partial[part.sender.node] = _Partial(part.sender, part.pieces, {})
        if part.sender < known.sender or part.pieces != known.pieces:
            return None
        known.found[part.number] = part.data
        if len(known.found) < known.pieces:
            return None
        del self._partial[part.sender.node]
        return b"".join(known.found[number] for number in range(known.pieces))
