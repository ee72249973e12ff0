# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Metrics of the node's batch-size probes: what was the answer for each workload, and how near its limit that is."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from .._batch.probe.log import log_of
from .._batch.search import OK, Trial
from .._node.json_file import LARGEST, parse_json
from .._node.regular_file import read_bounded
from .exposition import Family, Sample

# Each workload with its options, release and cards is a series for good.
_MOST = 20
# Of what the trials depend on: the rest is in the file, by its key.
_LABELS = ("workload", "device")


@dataclass(frozen=True)
class _Probed:
    labels: Mapping[str, str]
    trial: Trial
    at: float


def probe_families(directory: str) -> Iterable[Family]:
    """Of the probes that were made last; ``directory`` is where the node keeps them."""
    found = [one for one in map(_read, _newest(Path(directory))) if one is not None]
    for name, (told, value_of) in _FIGURES.items():
        values = [(value_of(one), one.labels) for one in found]
        yield Family(name, told, tuple(Sample(value, labels) for value, labels in values if value is not None))


def _batch_size(probed: _Probed) -> float | None:
    return probed.trial.batch_size


def _memory_ratio(probed: _Probed) -> float | None:
    trial = probed.trial
    return trial.peak_memory_bytes / trial.limit_bytes if trial.peak_memory_bytes and trial.limit_bytes else None


def _step_seconds(probed: _Probed) -> float | None:
    return probed.trial.step_seconds


def _at(probed: _Probed) -> float | None:
    return probed.at


_FIGURES: Mapping[str, tuple[str, Callable[[_Probed], float | None]]] = {
    "gaudi_probe_batch_size": ("Batch size that the last probe found.", _batch_size),
    "gaudi_probe_memory_ratio": ("Fraction of a card's memory that a step used at that size.", _memory_ratio),
    "gaudi_probe_step_seconds": ("How long a step took at that size.", _step_seconds),
    "gaudi_probe_timestamp_seconds": ("When the last probe finished.", _at),
}


def _newest(directory: Path) -> list[tuple[float, Path]]:
    """When each was written, and its file."""
    found = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                about = entry.stat(follow_symlinks=False)
                if entry.name.endswith(".json") and stat.S_ISREG(about.st_mode):
                    found.append((about.st_mtime, Path(entry.path)))
    except OSError:
        # No probe was made yet, or one is put aside at this moment.
        return []
    return sorted(found, reverse=True)[:_MOST]


def _read(place: tuple[float, Path]) -> _Probed | None:
    """None where there is no answer yet, or the file cannot be understood; the next probe then says so."""
    at, path = place
    try:
        data = parse_json(read_bounded(str(path), LARGEST), named=True)
        log = log_of(data)
        labels = {"key": path.stem, **{name: str(data["fields"][name]) for name in _LABELS}}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    # Trials are in the order of time, and answers in that in which each search was made first.
    answers = {*log.answers.values()}
    trials = [trial for trial in log.trials if trial.outcome == OK and trial.batch_size in answers]
    return _Probed(labels, trials[-1], at) if trials else None
