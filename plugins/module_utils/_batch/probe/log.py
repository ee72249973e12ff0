# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a node remembers of its trials, in one file for each key; a probe that was interrupted goes on from it.

Only what a size did is kept, fit or not: a crash or a hang says nothing about the next run.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Mapping

from ..._node.json_file import parse_json
from ..._node.rendered_files import WantedFile, pending, read_text, write
from ..memory_model import Prior
from ..search import OK, OUT_OF_MEMORY, Trial

KEPT = (OK, OUT_OF_MEMORY)
# The variables and options of a workload are nobody else's business.
_MODE = 0o600
_NAMES = tuple(one.name for one in fields(Trial))


@dataclass(frozen=True)
class ProbeLog:
    """``answers`` maps a search to the size that was its answer when it was last made.

    ``prior`` is what was worked out on the host before the first trial; ``estimated`` whether that was tried.
    ``damage`` says why the file could not be read; it is put aside when the next one is written.
    """

    trials: tuple[Trial, ...] = ()
    answers: Mapping[str, int] = field(default_factory=dict)
    prior: Prior | None = None
    estimated: bool = False
    damage: str = ""

    def forgotten(self) -> ProbeLog:
        """Without what the workload's code may have changed since."""
        return replace(self, trials=(), prior=None, estimated=False)

    def with_trial(self, trial: Trial) -> ProbeLog:
        return replace(self, trials=(*self.trials, trial))

    def with_answer(self, search: str, batch_size: int) -> ProbeLog:
        return replace(self, answers={**self.answers, search: batch_size})


def log_path(state_directory: str, key: str) -> str:
    return f"{state_directory}/probe/{key}.json"


def read_log(path: str) -> ProbeLog:
    """What the file has; an empty log where there is none, and one with ``damage`` where it cannot be understood."""
    text = read_text(path)
    if text is None:
        return ProbeLog()
    try:
        return log_of(parse_json(text, named=True))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return ProbeLog(damage=" ".join(f"{type(error).__name__}: {error}".split())[:100])


def log_of(data: Mapping[str, Any]) -> ProbeLog:
    """From what a file has; ValueError, KeyError, TypeError or AttributeError where it is none of ours."""
    return ProbeLog(
        tuple(map(_trial, data["trials"])),
        {str(search): int(size) for search, size in data["answers"].items()},
        Prior(**data["estimate"]) if data.get("estimate") else None,
        "estimate" in data,
    )


def write_log(path: str, log: ProbeLog, described: Mapping[str, object]) -> str | None:
    """Keep the log, with what it is about for a person to read; returns where a damaged one was put aside."""
    estimate = {"estimate": asdict(log.prior) if log.prior else None} if log.estimated else {}
    trials = [asdict(trial) for trial in log.trials]
    data = {**described, "answers": dict(log.answers), **estimate, "trials": trials}
    backup = None
    for change in pending([WantedFile(path, json.dumps(data, indent=2) + "\n", _MODE, backup=bool(log.damage))]):
        backup = write(change)
    return backup


def _trial(data: Mapping[str, Any]) -> Trial:
    """A trial as it was kept, by whichever version. Raises ValueError for what cannot have been one."""
    known: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in data.items() if name in _NAMES
    }
    trial = Trial(**{**known, "losses": tuple(map(float, known.get("losses") or ()))})
    if trial.outcome not in KEPT or isinstance(trial.batch_size, bool) or not isinstance(trial.batch_size, int):
        raise ValueError(f"a trial of size {trial.batch_size!r} with the outcome {trial.outcome!r}")
    for name in (
        "peak_memory_bytes",
        "step_seconds",
        "resting_memory_bytes",
        "peak_spread_bytes",
        "limit_bytes",
        "held_memory_bytes",
    ):
        value = getattr(trial, name)
        if value is not None and not isinstance(value, (int, float)):
            raise ValueError(f"{name} is {value!r}")
    return trial
