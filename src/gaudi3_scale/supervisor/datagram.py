# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A message as datagrams: lines of JSON, compressed, in signed pieces (``pieces.py``), and the other way.

What carries another key, that of an earlier launch for instance, is no message, and neither is what nobody of this
program says.

The lines are the current generation, the accepted one (or nothing) and the rest. All nodes tell the same generations
again and again, so a reader knows the line and need not look into it.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import replace
from typing import Any, Sequence

from gaudi3_scale.supervisor.generation import Generation, as_plain
from gaudi3_scale.supervisor.messages import (
    REASON_LENGTH,
    TEXT_LENGTH,
    Ack,
    Message,
    Ping,
    Report,
    short_failure,
)
from gaudi3_scale.supervisor.pieces import (
    DATA_BYTES,
    MOST_PIECES,
    PING,
    Pieces,
    Sender,
    Signed,
    datagram_of,
    in_pieces,
    signed_part,
)
from gaudi3_scale.supervisor.received import Known, known_of_peer, message_of_peer, named_incarnations, ping_of_peer

# More than the longest texts take, at twelve bytes a character. A few bytes may be made to unpack to a thousand times
# as many.
MOST_UNPACKED = 1 << 19
# Characters of a text, where the longest does not fit: what a rank left behind may compress badly.
SHORTER = (TEXT_LENGTH, TEXT_LENGTH // 8, TEXT_LENGTH // 40)
# While nodes vote there are two at a time, and a third with who has yet to hear of the result.
GENERATIONS_KNOWN = 4
# Of seconds: microseconds do, and a float that says more is 17 digits.
DIGITS = 6
USUAL = vars(Report())


def encode(message: Message | Ping, key: bytes) -> list[bytes]:
    """One datagram; or, for a message that fits none, its ping and then itself in pieces."""
    sender = Sender(message.index, message.incarnation, message.sequence)
    if isinstance(message, Ping):
        return [_ping(sender, message, key)]
    data = b""
    for length in SHORTER:
        data = _packed(_shortened(message, length))
        if len(data) <= MOST_PIECES * DATA_BYTES:
            break
    pieces = in_pieces(sender, data, key)
    return pieces if len(pieces) == 1 else [_ping(sender, message, key), *pieces]


class Decoder:
    """Datagrams of the launch with this key, in a job of ``nodes`` nodes. Whatever comes, it neither raises nor grows.

    Equal generations of different messages are one object.
    """

    def __init__(self, key: bytes, nodes: int) -> None:
        self._key, self._nodes = key, nodes
        self._pieces = Pieces()
        self._generations: dict[bytes, Known] = {}
        # By node, and whether it was a ping.
        self._newest: dict[tuple[int, bool], Sender] = {}

    def take(self, datagram: bytes) -> Message | Ping | None:
        """What ``datagram`` says or completes; None where that is nothing, or nothing new.

        What came before, or is older, is not unpacked: anybody can send it again, and often.
        """
        part = signed_part(datagram, self._key, self._nodes)
        if part is None:
            return None
        kind = (part.sender.node, part.pieces == PING)
        if kind in self._newest and part.sender <= self._newest[kind]:
            return None
        try:
            said = self._said(part)
        except (ValueError, RecursionError, zlib.error):
            return None
        if said is not None:
            self._newest[kind] = part.sender
        return said

    def _said(self, part: Signed) -> Message | Ping | None:
        if part.pieces == PING:
            return ping_of_peer(json.loads(_unpacked(part.data)), part.sender, self._nodes)
        whole = self._pieces.whole(part)
        return None if whole is None else self._message(part.sender, _unpacked(whole))

    def _message(self, sender: Sender, text: bytes) -> Message:
        current, accepted, rest = text.split(b"\n", 3)
        proposed = self._known(accepted).generation if accepted else None
        return message_of_peer(json.loads(rest), sender, self._known(current), proposed, self._nodes)

    def _known(self, line: bytes) -> Known:
        known = self._generations.get(line)
        if known is None:
            known = known_of_peer(json.loads(line), self._nodes)
            if len(self._generations) >= GENERATIONS_KNOWN:
                del self._generations[next(iter(self._generations))]
            self._generations[line] = known
        return known


def _unpacked(data: bytes) -> bytes:
    unpacker = zlib.decompressobj()
    unpacked = unpacker.decompress(data, MOST_UNPACKED)
    if not unpacker.eof:
        raise ValueError("cut off, or too much")
    return unpacked


def _ping(sender: Sender, said: Message | Ping, key: bytes) -> bytes:
    plain = [_acks(sender, said.acks, [None] * len(said.acks)), _links(said.links), int(said.asks)]
    return datagram_of(Signed(sender, PING, 0, zlib.compress(_json(plain))), key)


def _packed(message: Message) -> bytes:
    accepted = b"" if message.accepted is None else _json(as_plain(message.accepted[1]))
    return zlib.compress(b"\n".join((_json(as_plain(message.committed)), accepted, _json(_plain(message)))))


def _json(plain: object) -> bytes:
    return json.dumps(plain, separators=(",", ":")).encode()


def _plain(message: Message) -> list[Any]:
    """All but the generations and what is in a header, as JSON values, in few bytes."""
    sender = Sender(message.index, message.incarnation, message.sequence)
    report = {name: _short(value) for name, value in vars(message.report).items() if value != USUAL[name]}
    return [
        message.promised,
        message.accepted[0] if message.accepted else None,
        _acks(sender, message.acks, named_incarnations(message.committed, len(message.acks))),
        _links(message.links),
        report,
        message.remembers,
        sorted(message.gone),
        message.leads,
        list(vars(message.interruption).values()) if message.interruption else None,
        int(message.stop),
        int(message.asks),
    ]


def _acks(sender: Sender, acks: Sequence[Ack | None], named: Sequence[int | None]) -> list[Any]:
    """As differences to what the sender has itself; with the incarnation where it is not the one that is ``named``."""
    return [
        ack
        if ack is None
        else sender.sequence - ack[1]
        if ack[0] == name
        else [sender.sequence - ack[1], sender.incarnation - ack[0]]
        for ack, name in zip(acks, named)
    ]


def _links(links: Sequence[float | None]) -> list[int]:
    """Tenths of a second do."""
    return [-1 if age is None else round(age * 10) for age in links]


def _short(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DIGITS)
    return [_short(one) for one in value] if isinstance(value, tuple) else value


def _shortened(message: Message, length: int) -> Message:
    """The message with its texts cut to ``length``, or to as many times it as they may be longer."""
    report, interruption, accepted = message.report, message.interruption, message.accepted
    failure = None if report.failure is None else short_failure(report.failure, length)
    return replace(
        message,
        committed=_generation(message.committed, length),
        accepted=None if accepted is None else (accepted[0], _generation(accepted[1], length)),
        report=replace(report, unfit=report.unfit[:length], failure=failure),
        interruption=None if interruption is None else replace(interruption, text=interruption.text[: _reason(length)]),
    )


def _generation(generation: Generation, length: int) -> Generation:
    failure = None if generation.failure is None else short_failure(generation.failure, length)
    return replace(generation, reason=generation.reason[: _reason(length)], failure=failure)


def _reason(length: int) -> int:
    return REASON_LENGTH * length // TEXT_LENGTH
