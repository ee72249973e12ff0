# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the supervisors of a job tell each other: each its whole state, in one datagram.

Nothing in a message is a time of day: clocks of nodes differ. Ages are in seconds before it was sent. Nodes are indexes
into hosts and spares. A message is JSON, compressed, behind its HMAC-SHA256 with the launch's key: what carries another
key, that of an earlier launch for instance, is none.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import zlib
from dataclasses import asdict, dataclass
from typing import Mapping, Optional

from .generation import Generation, as_plain, from_plain

# Where a node's own share of the current generation stands.
IDLE = "idle"
RUNNING = "running"
DONE = "done"
ENDING = "ending"
GONE = "gone"

# Why the ranks of a generation are ended.
RANK_FAILED = "rank_failed"
NODE_LOST = "node_lost"
ISOLATED = "isolated"
HANG = "hang"
STOP = "stop"
LEAVING = "leaving"
GROWING = "growing"

DIGEST_BYTES = 32
# What a datagram can carry, less its headers.
MOST_BYTES = 65000
TEXT_LENGTH = 400
LINES_KEPT = 15

Ballot = tuple[int, int]
Accepted = Optional[tuple[Ballot, Generation]]


@dataclass(frozen=True)
class Halt:
    """The ranks of generation ``generation`` are to end: for what cause, seen at or by which node."""

    generation: int
    cause: str
    index: int
    text: str = ""


@dataclass(frozen=True)
class Report:
    """A node's own share. Lists have an entry for each of its ranks; ``step_age``: seconds since a step came last.

    ``fit`` None: not looked at yet; ``unfit`` is the reason of a False. ``stuck``: processes that cannot be ended.
    ``failure`` is :meth:`job.failure.RankFailure.as_dict` with its time given as the age ``failure_age``.
    """

    phase: str = IDLE
    fit: bool | None = None
    unfit: str = ""
    stuck: bool = False
    steps: tuple[int | None, ...] = ()
    busy: tuple[float | None, ...] = ()
    step_age: float | None = None
    failure: Mapping[str, object] | None = None
    failure_age: float = 0.0
    leaving: bool = False


@dataclass(frozen=True)
class Message:
    """``voter`` False: this supervisor was started again and does not know what it voted for before.

    ``heard``: by index, the age of what was last heard of each node; None for never.
    """

    index: int
    incarnation: int
    sequence: int
    committed: Generation
    promised: Ballot
    accepted: Accepted
    heard: tuple[float | None, ...]
    report: Report
    halt: Halt | None = None
    stop: bool = False
    voter: bool = True


def encode(message: Message, key: bytes) -> bytes:
    """The datagram."""
    report = {name: value for name, value in asdict(message.report).items() if value != getattr(Report(), name)}
    body = {
        "i": message.index,
        "n": message.incarnation,
        "q": message.sequence,
        "g": as_plain(message.committed),
        "p": message.promised,
        "a": [message.accepted[0], as_plain(message.accepted[1])] if message.accepted else None,
        # Tenths of a second do.
        "h": [-1 if age is None else round(age * 10) for age in message.heard],
        "r": report,
        "x": list(asdict(message.halt).values()) if message.halt else None,
        "s": int(message.stop),
        "v": int(message.voter),
    }
    data = zlib.compress(json.dumps(body, separators=(",", ":")).encode())
    return hmac.digest(key, data, "sha256") + data


def decode(datagram: bytes, key: bytes) -> Message | None:
    """The message; None for what is not one of this launch."""
    digest, data = datagram[:DIGEST_BYTES], datagram[DIGEST_BYTES:]
    if not hmac.compare_digest(digest, hmac.digest(key, data, "sha256")):
        return None
    try:
        body = json.loads(zlib.decompress(data))
        accepted = body["a"]
        return Message(
            index=int(body["i"]),
            incarnation=int(body["n"]),
            sequence=int(body["q"]),
            committed=from_plain(body["g"]),
            promised=_ballot(body["p"]),
            accepted=(_ballot(accepted[0]), from_plain(accepted[1])) if accepted else None,
            heard=tuple(None if age < 0 else age / 10 for age in body["h"]),
            report=_report(body["r"]),
            halt=Halt(*body["x"]) if body["x"] else None,
            stop=bool(body["s"]),
            voter=bool(body["v"]),
        )
    except (ValueError, KeyError, TypeError, IndexError, zlib.error):
        # Of another version of this program, which had the key all the same.
        return None


def _ballot(data: list[int]) -> Ballot:
    return int(data[0]), int(data[1])


def _report(data: dict[str, object]) -> Report:
    lists = {name: tuple(value) for name, value in data.items() if isinstance(value, list)}
    return Report(**{**data, **lists})  # type: ignore[arg-type]


def short_failure(failure: Mapping[str, object]) -> dict[str, object]:
    """The failure in a length that a datagram carries well; the whole log is where its ``path`` says."""
    lines = failure.get("lines")
    kept = [str(line)[-TEXT_LENGTH // 2 :] for line in lines[-LINES_KEPT:]] if isinstance(lines, (list, tuple)) else []
    message = str(failure.get("message", ""))
    return {**failure, "message": message[: 2 * TEXT_LENGTH], "lines": kept}


def launch_of(key: bytes) -> str:
    """A name of the launch that tells nothing of its key."""
    return hashlib.sha256(b"launch" + key).hexdigest()[:16]
