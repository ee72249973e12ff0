# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The metrics that rank 0 of a job appends to its file as lines of JSON, and how they look on a screen."""

from __future__ import annotations

import os
import statistics
from dataclasses import dataclass
from typing import Mapping, Sequence

from .._node.quantities import quantity, short_bytes
from .._node.regular_file import open_regular
from .json_lines import LONGEST_LINE, object_of

# As much as one call returns; what is beyond comes with the next call, from the offset it is given.
CHUNK_BYTES = LONGEST_LINE
# Lines that are shown at once of a job that has run for a while.
OPENING_LINES = 3
# From this part of a step on, what is none of its parts is shown too: a checkpoint, for the most part.
NOTABLE_REST = 0.05
# What a step line counts a second of; where there is more than one of them the first is shown.
RATES = ("tokens", "samples")
# The parts of a step (docs/follow.md) as a line has room for them.
SHORT_PARTS = {"data": "data", "forward": "fwd", "backward": "bwd", "optimizer": "opt", "communication": "comm"}


@dataclass(frozen=True)
class Metrics:
    """``lines`` since the offset that was asked for, and the ``offset`` (bytes) from which to go on."""

    lines: tuple[Mapping[str, object], ...]
    offset: int


def read_metrics(path: str, after: int = 0) -> Metrics:
    """The whole lines of ``path`` from byte ``after`` on; a negative one counts from the end, as in a slice.

    A file shorter than ``after`` is a new one: it is read from its start.
    """
    try:
        with open_regular(path) as stream:
            size = os.fstat(stream.fileno()).st_size
            start = max(0, size + after) if after < 0 else after if after <= size else 0
            stream.seek(start)
            data = stream.read(CHUNK_BYTES)
    except OSError:
        return Metrics((), 0)
    # The writer may be in the middle of its last line, and a start counted from the end in that of any other.
    whole = data[: data.rfind(b"\n") + 1]
    if not whole and len(data) == CHUNK_BYTES:
        # No line of ours is so long: whoever follows goes on behind it.
        whole = data
    return Metrics(tuple(filter(None, map(object_of, whole.splitlines()))), start + len(whole))


def step_losses(lines: tuple[Mapping[str, object], ...]) -> list[object]:
    """The losses of the steps among ``lines``, in their order."""
    return [line["loss"] for line in lines if line.get("kind") == "step" and "loss" in line]


def metric_line(metric: Mapping[str, object]) -> str:
    """One metric as a line for people; a kind or key that is not known here is shown as it is."""
    kind = str(metric.get("kind", "?"))
    if kind == "step":
        parts = (_step, _loss, _norm, _speed, _share, _split, _memory, _slowest, _left)
        return "  ".join(filter(None, (part(metric) for part in parts)))
    if kind == "start":
        return _start(metric)
    if kind == "nodes":
        return _nodes(metric)
    if kind == "collective":
        return _collective(metric)
    step = f" at step {metric['step']}" if metric.get("step") is not None else ""
    # What people wrote for people stands first, and alone.
    said = next((str(metric[key]) for key in ("message", "reason", "text") if metric.get(key)), "")
    known = ("kind", "time", "step", "max_steps", "message", "reason", "text")
    rest = [_field(key, value) for key, value in metric.items() if key not in known and value is not None]
    reported = ", ".join([said, *rest] if said else rest)
    return f"{kind.replace('_', ' ')}{step}" + (f": {reported}" if reported else "")


def _collective(metric: Mapping[str, object]) -> str:
    seconds, busbw = metric.get("seconds"), metric.get("busbw_gb_per_s")
    parts = [f"{metric.get('collective', '?')} of {metric.get('bytes', '?')} bytes"]
    parts += [f"{quantity(seconds * 1e6)} us"] if isinstance(seconds, (int, float)) else []
    parts += [f"busbw {quantity(busbw)} GB/s"] if isinstance(busbw, (int, float)) else []
    return "  ".join(parts)


def opening_lines(lines: Sequence[Mapping[str, object]], started: float | None, now: float) -> list[str]:
    """What is shown of a job at the first look: all of one that has just begun, of another one where it is now."""
    if len(lines) <= OPENING_LINES or lines[0].get("kind") == "start":
        return [metric_line(line) for line in lines]
    since = f"It has run for {duration(now - started)}; its last lines:" if started else "Its last lines:"
    return [since, *(metric_line(line) for line in lines[-OPENING_LINES:])]


def _step(metric: Mapping[str, object]) -> str:
    total = metric.get("max_steps")
    return f"step {metric.get('step', '?')}" + (f"/{total}" if total else "")


def _loss(metric: Mapping[str, object]) -> str:
    loss = metric.get("loss")
    if isinstance(loss, str):
        # The name of what is no number.
        return f"loss {loss[:16]}"
    return f"loss {loss:.4f}" if isinstance(loss, (int, float)) else ""


def _norm(metric: Mapping[str, object]) -> str:
    norm = metric.get("gradient_norm")
    if isinstance(norm, str):
        return f"grad {norm[:16]}"
    return f"grad {norm:.2g}" if isinstance(norm, (int, float)) else ""


def _share(metric: Mapping[str, object]) -> str:
    """Of the card's peak; what is above it was refused by whoever wrote the line, and is by whoever reads it."""
    share = metric.get("mfu")
    return f"mfu {100 * share:.0f} %" if isinstance(share, (int, float)) and 0 <= share <= 1 else ""


def _speed(metric: Mapping[str, object]) -> str:
    """In tokens where they were counted, else in samples."""
    for unit in RATES:
        speed, share = metric.get(f"{unit}_per_second"), metric.get(f"{unit}_per_second_per_card")
        if isinstance(speed, (int, float)):
            card = f" ({quantity(share)}/card)" if isinstance(share, (int, float)) and share != speed else ""
            return f"{quantity(speed)} {unit}/s{card}"
    return ""


def _split(metric: Mapping[str, object]) -> str:
    """The step's time, and in hundredths of it what each part takes; what rounds to nothing is left out."""
    seconds = metric.get("seconds")
    if not isinstance(seconds, Mapping) or not isinstance(seconds.get("step"), (int, float)) or not seconds["step"]:
        return ""
    shares = {
        name: round(100 * seconds[part] / seconds["step"])
        for part, name in SHORT_PARTS.items()
        if isinstance(seconds.get(part), (int, float))
    }
    rest = seconds.get("other")
    if isinstance(rest, (int, float)) and rest >= NOTABLE_REST * seconds["step"]:
        shares["rest"] = round(100 * rest / seconds["step"])
    reported = " ".join(f"{name} {share}" for name, share in shares.items() if share)
    return short_seconds(seconds["step"]) + (f": {reported} %" if reported else "")


def _memory(metric: Mapping[str, object]) -> str:
    memory = metric.get("memory_bytes")
    return short_bytes(memory) if isinstance(memory, (int, float)) else ""


def _slowest(metric: Mapping[str, object]) -> str:
    rank = metric.get("slowest")
    if not isinstance(rank, Mapping):
        return ""
    return f"slow: rank {rank.get('rank')} on {rank.get('node')}, {rank.get('ratio')} of the median"


def _left(metric: Mapping[str, object]) -> str:
    seconds = metric.get("seconds_left")
    return f"{duration(seconds)} left" if isinstance(seconds, (int, float)) else ""


def _start(metric: Mapping[str, object]) -> str:
    resumed = metric.get("resumed_from")
    begun = f"resumes from step {resumed}" if resumed else "started"
    ranks = f", {metric['world_size']} rank(s)" if "world_size" in metric else ""
    nodes = f" on {metric['nodes']} node(s)" if "nodes" in metric else ""
    device = f", {metric['device']}" if "device" in metric else ""
    return f"{begun}{ranks}{nodes}{device}"


def _nodes(metric: Mapping[str, object]) -> str:
    """The nodes' own work, the one with the most of it named."""
    nodes = metric.get("nodes")
    known = {name: node.get("busy_seconds") for name, node in nodes.items()} if isinstance(nodes, Mapping) else {}
    busy = {name: seconds for name, seconds in known.items() if isinstance(seconds, (int, float))}
    if not busy:
        return "nodes: nothing was measured"
    first = max(busy, key=lambda name: busy[name])
    most = f", most on {first} ({short_seconds(busy[first])})" if len(busy) > 1 else ""
    return f"nodes: own work {short_seconds(statistics.median(busy.values()))} a step{most}"


def _field(key: str, value: object) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if key.endswith("bytes"):
            return f"{key.removesuffix('bytes').strip('_') or 'size'} {short_bytes(value)}"
        if key.endswith("seconds"):
            return f"{key.removesuffix('seconds').strip('_') or 'took'} {short_seconds(value)}"
        if key == "tokens_per_second":
            return f"{quantity(value)} tokens/s"
    return f"{key} {_plain(value)}"


def _plain(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def short_seconds(seconds: float) -> str:
    """1.24 s, 412 ms, 4.7 ms."""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{1000 * seconds:.{0 if seconds >= 0.1 else 1}f} ms"


def duration(seconds: float) -> str:
    """Seconds as people write them: 42 s, 3 min 05 s, 2 h 04 min, 3 d 01 h."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86400} d {whole % 86400 // 3600:02d} h"
