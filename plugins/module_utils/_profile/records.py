# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What each rank wrote about the steps of a window (``profile-rank-N.json``), read as data of somebody who may write
anything."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Mapping, Optional

from .._errors import GaudiError
from .._node.json_file import parse_object

SCHEMA = 1
# Parts of a step that are this rank's own; what is in none of them is the host's time between them.
PARTS = ("data", "forward", "backward", "optimizer", "compile")
LARGEST_RECORD = 4 << 20
MOST_STEPS, MOST_RANKS, MOST_LINKS, LONGEST_NAME = 10_000, 1 << 16, 64, 253
_LONGEST_STEP = 1e6


@dataclass(frozen=True)
class Step:
    """``seconds`` is all of it, ``communication`` what the rank waited for others: None where nothing tells it.
    ``drain`` is how long the card was still at work when the host had queued everything. A ``traced`` step
    is slower. ``queued`` is how long the rank waited for a processor that others had."""

    number: int
    seconds: float
    parts: Mapping[str, float]
    communication: Optional[float]
    drain: float = 0.0
    traced: bool = False
    queued: float = 0.0

    @property
    def waited(self) -> float:
        return self.communication or 0.0

    @property
    def host(self) -> float:
        return max(0.0, self.seconds - self.waited - sum(self.parts.values()))


@dataclass(frozen=True)
class Link:
    """What came from the rank ``peer`` took ``seconds``."""

    peer: int
    seconds: float


@dataclass(frozen=True)
class RankRecord:
    """``stalled`` are seconds of the window in which the allocator looked for memory. ``trace`` is a file's name."""

    rank: int
    world_size: int
    node: str
    device: str
    steps: tuple[Step, ...]
    memory_peak: int = 0
    memory_limit: Optional[int] = None
    stalled: float = 0.0
    links: tuple[Link, ...] = ()
    trace: str = ""
    notes: tuple[str, ...] = ()


def as_data(record: RankRecord) -> dict[str, Any]:
    """As it is written into the file."""
    steps = [
        {
            "step": step.number,
            "seconds": round(step.seconds, 7),
            **{part: round(step.parts.get(part, 0.0), 7) for part in PARTS},
            "communication": None if step.communication is None else round(step.communication, 7),
            "drain": round(step.drain, 7),
            "traced": step.traced,
            "queued": round(step.queued, 7),
        }
        for step in record.steps
    ]
    links = [{"peer": link.peer, "seconds": round(link.seconds, 7)} for link in record.links]
    plain = {name: value for name, value in vars(record).items() if name not in ("steps", "links", "notes")}
    return {"schema": SCHEMA, **plain, "steps": steps, "links": links, "notes": list(record.notes)}


def parse_record(text: str | bytes, name: str) -> RankRecord:
    """Raises GaudiError, which names the file, for what no rank has written."""
    try:
        data = parse_object(text, LARGEST_RECORD)
        return record_of(data)
    except (ValueError, KeyError, TypeError) as error:
        reason = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else error
        raise GaudiError(f"{name} is not a rank's profile: {reason}; profile the job again.") from None


def record_of(data: Mapping[str, Any]) -> RankRecord:
    """ValueError, KeyError or TypeError for what is none."""
    if data.get("schema") != SCHEMA:
        raise ValueError(f"its schema is {str(data.get('schema'))[:20]!r}, this release reads {SCHEMA}")
    world = _whole(data["world_size"], 1, MOST_RANKS)
    return RankRecord(
        rank=_whole(data["rank"], 0, world - 1),
        world_size=world,
        node=_name(data["node"]),
        device=_name(data["device"]),
        steps=tuple(_step(step) for step in _list(data["steps"], MOST_STEPS)),
        memory_peak=_whole(data.get("memory_peak", 0), 0, 1 << 60),
        memory_limit=None if data.get("memory_limit") is None else _whole(data["memory_limit"], 0, 1 << 60),
        stalled=_seconds(data.get("stalled", 0.0)),
        links=tuple(
            Link(_whole(link["peer"], 0, world - 1), _seconds(link["seconds"]))
            for link in _list(data.get("links", []), MOST_LINKS)
        ),
        trace=_name(data.get("trace", "")),
        notes=tuple(_name(note) for note in _list(data.get("notes", []), 8)),
    )


def _step(data: Mapping[str, Any]) -> Step:
    communication = data["communication"]
    return Step(
        _whole(data["step"], 0, 1 << 40),
        _seconds(data["seconds"]),
        {part: _seconds(data[part]) for part in PARTS},
        None if communication is None else _seconds(communication),
        _seconds(data.get("drain", 0.0)),
        bool(data.get("traced", False)),
        _seconds(data.get("queued", 0.0)),
    )


def _list(value: Any, most: int) -> list[Any]:
    if not isinstance(value, list) or len(value) > most:
        raise ValueError(f"a list of at most {most} was expected")
    return value


def _whole(value: Any, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{str(value)[:20]!r} is not a whole number from {least} to {most}")
    return value


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{str(value)[:20]!r} is not a number of seconds")
    if not 0 <= value <= _LONGEST_STEP:
        raise ValueError(f"{value:g} is not a number of seconds")
    return float(value)


def _name(value: Any) -> str:
    """Of a node, a device or a file in the same directory: shown on screens."""
    if not isinstance(value, str) or len(value) > LONGEST_NAME or not value.isprintable() or "/" in value:
        raise ValueError(f"{str(value)[:20]!r} is not a name")
    return value
