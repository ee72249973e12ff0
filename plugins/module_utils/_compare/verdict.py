# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What the runs say of each setting: helps, hurts, no difference beyond noise, failed, or changes the loss; pure."""

from __future__ import annotations

import math
import statistics
from dataclasses import asdict, dataclass
from typing import Sequence

from .._batch.search import CRASH, HANG, OK, OUT_OF_MEMORY, WORKLOAD_ERROR
from .comparison import BASE, Comparison, Setting
from .intervals import Interval, mean_interval, paired_ratio
from .plan import Run, paired, speed, step_times
from .sentences import reason

HELPS = "helps"
HURTS = "hurts"
NO_DIFFERENCE = "no difference"
CHANGES_LOSS = "changes the loss"
FAILED = "failed"
NOT_MEASURED = "not measured"
_WHY_FAILED = {
    OUT_OF_MEMORY: "ran out of memory",
    CRASH: "crashed",
    HANG: "timed out",
    WORKLOAD_ERROR: "could not be run",
}


@dataclass(frozen=True)
class Verdict:
    """One setting. ``speed`` is samples a second and ``step_time`` seconds a step, each over the base's.

    ``memory`` and ``loss_change`` are parts of the base's; a loss is compared only where a step has the same samples.
    None where something was not measured.
    """

    name: str
    verdict: str
    why: str
    rounds: int
    speed: Interval | None
    step_time: Interval | None
    samples_per_second: float | None
    step_seconds: float | None
    peak_memory_bytes: float | None
    memory: float | None
    loss: float | None
    loss_change: float | None

    def as_dict(self, setting: Setting) -> dict[str, object]:
        """For programs, with what the setting changes. JSON has no word for what is no number: that is None."""
        loss, change = (_finite(value) for value in (self.loss, self.loss_change))
        changes = {"flags": setting.flags, "options": setting.options, "batch_size": setting.batch_size}
        return {**asdict(self), "loss": loss, "loss_change": change, **changes}


def verdicts(runs: Sequence[Run], comparison: Comparison) -> list[Verdict]:
    """One for each setting, in their order."""
    return [_verdict(runs, setting.name, comparison) for setting in comparison.settings]


def measured(runs: Sequence[Run], name: str, comparison: Comparison) -> dict[str, list[float]]:
    """Samples a second of each counted run, with the median time, memory and loss; empty lists where none."""
    good = [run for run in runs if run.name == name and run.round and run.outcome == OK]
    samples = comparison.samples_of(name)
    return {
        "samples_per_second": [samples / run.step_seconds for run in good if run.step_seconds],
        "step_seconds": [run.step_seconds for run in good if run.step_seconds],
        "peak_memory_bytes": [float(run.peak_memory_bytes) for run in good if run.peak_memory_bytes],
        "loss": [run.loss for run in good if run.loss is not None],
    }


def _verdict(runs: Sequence[Run], name: str, comparison: Comparison) -> Verdict:
    of_setting, of_base = measured(runs, name, comparison), measured(runs, BASE, comparison)
    ratio, times = speed(runs, name, comparison), step_times(runs, name)
    memory, base_memory = _median(of_setting["peak_memory_bytes"]), _median(of_base["peak_memory_bytes"])
    change = _loss_change(runs, name, comparison)
    word, why = _judge(runs, name, ratio, change, comparison)
    return Verdict(
        name=name,
        verdict=word,
        why=why,
        rounds=len(paired(runs, name)),
        speed=ratio,
        step_time=paired_ratio(*times, comparison.level) if times else None,
        samples_per_second=_median(of_setting["samples_per_second"]),
        step_seconds=_median(of_setting["step_seconds"]),
        peak_memory_bytes=memory,
        memory=memory / base_memory if memory and base_memory else None,
        loss=_median(of_setting["loss"]),
        loss_change=change.estimate if change else None,
    )


def _judge(
    runs: Sequence[Run], name: str, ratio: Interval | None, change: Interval | None, comparison: Comparison
) -> tuple[str, str]:
    failed = next((run for run in runs if run.name == name and run.outcome != OK), None)
    if failed is not None:
        return FAILED, f"{_WHY_FAILED.get(failed.outcome, failed.outcome)}: {reason(failed.message)}"
    if ratio is None:
        return NOT_MEASURED, "fewer than two rounds" if paired(runs, name) else ""
    if change is not None and _differs(change, comparison.loss_tolerance):
        than = "is not a number" if math.isnan(change.estimate) else f"differs by {change.estimate:+.2%}"
        return CHANGES_LOSS, f"the mean loss {than}, so its speed does not count"
    if not ratio.excludes(1):
        return NO_DIFFERENCE, f"the interval {ratio.low:.3f} to {ratio.high:.3f} contains 1"
    times = comparison.samples_of(name) / comparison.samples_of(BASE)
    other = "" if times == 1 else f"; its loss is not compared, because a step has {times:g} times the samples"
    return (HELPS if ratio.estimate > 1 else HURTS), f"samples/s {ratio.estimate - 1:+.1%}{other}"


def _loss_change(runs: Sequence[Run], name: str, comparison: Comparison) -> Interval | None:
    """The part by which the loss differs. None where none was told, or where a step learns from other samples."""
    if comparison.samples_of(name) != comparison.samples_of(BASE):
        return None
    pairs = [(setting.loss, base.loss) for setting, base in paired(runs, name)]
    reported = [(setting, base) for setting, base in pairs if setting is not None and base is not None]
    if any(not math.isfinite(setting) and math.isfinite(base) for setting, base in reported):
        return Interval(math.nan, math.nan, math.nan, comparison.level)
    return mean_interval([(setting - base) / abs(base) for setting, base in reported if base], comparison.level)


def _differs(change: Interval, tolerance: float) -> bool:
    """By more than the tolerance, and beyond what differs from round to round."""
    return math.isnan(change.estimate) or (abs(change.estimate) > tolerance and change.excludes(0))


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None
