# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a run's metric lines say of its steps (docs/follow.md): any program may have written them; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._benchmark.steady import Line
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import (
    by_name,
    maybe,
    number,
    record,
    said,
    scalar,
    taken,
    whole,
)

# Where a program tells both, tokens count: batches of other lengths have the same work.
UNITS = ("tokens_per_second", "samples_per_second")
_START = record(
    {"world_size": whole(1)},
    {
        **dict.fromkeys(("precision", "device"), maybe(said)),
        **dict.fromkeys(("versions", "flags"), by_name(scalar)),
    },
)
_STEP = record(
    {"step": whole()},
    {
        **dict.fromkeys(UNITS, maybe(number)),
        "seconds": record({}, {"step": maybe(number)}),
        "memory_bytes": maybe(whole()),
    },
)


@dataclass(frozen=True)
class RunLines:
    """``start`` is the line of that kind, ``unit`` one of ``UNITS``, and ``memory_bytes`` the highest that was told."""

    start: Mapping[str, Any] = field(default_factory=dict)
    lines: Sequence[Line] = ()
    unit: str = ""
    memory_bytes: int | None = None


def lines_of(host: str, told: Sequence[Any]) -> RunLines:
    """Of the run that was begun last; raises GaudiError for what no node of ours would say."""
    kinds = [line for line in told if isinstance(line, Mapping)]
    starts = [place for place, line in enumerate(kinds) if line.get("kind") == "start"]
    if not starts:
        raise GaudiError(f"rank 0 on {host} told no start; let the program call report_step, or see its log.")
    start = taken(host, "training_job_info", _START, kinds[starts[-1]])
    steps = [
        taken(host, "training_job_info", _STEP, line) for line in kinds[starts[-1] :] if line.get("kind") == "step"
    ]
    unit = next((unit for unit in UNITS if any(step.get(unit) for step in steps)), "")
    if not unit:
        raise GaudiError(f"rank 0 on {host} told neither tokens nor samples; give report_step one of them.")
    memory = [step["memory_bytes"] for step in steps if step.get("memory_bytes")]
    return RunLines(start, _measured(steps, unit), unit, max(memory, default=None))


def _measured(steps: Sequence[Mapping[str, Any]], unit: str) -> list[Line]:
    """The lines with a rate, each with the steps since the line before: the first one of a run has none."""
    lines = []
    for before, step in zip(steps, steps[1:]):
        rate, seconds = step.get(unit), step.get("seconds", {}).get("step")
        if rate and seconds and rate > 0 and seconds > 0 and step["step"] > before["step"]:
            lines.append(Line(before["step"] + 1, step["step"], seconds, rate))
    return lines
