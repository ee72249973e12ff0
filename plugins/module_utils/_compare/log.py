# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The runs of a comparison that a node keeps, in one file for each comparison; an interrupted one goes on from them."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import Any, Mapping, Sequence

from .._batch.probe.key import digest, probe_fields
from .._node.json_file import parse_json
from .._node.rendered_files import WantedFile, pending, read_text, write
from .comparison import Comparison
from .plan import Run

_NAMES = {one.name for one in fields(Run)}
# The variables of a setting may have a secret in them.
_MODE = 0o600


def described(comparison: Comparison) -> dict[str, dict[str, Any]]:
    """What each setting has in full, the base too. Rounds and intervals are no part: more rounds go on."""
    return {
        name: {
            "flags": dict(comparison.of(name).flags),
            "options": dict(comparison.workload_of(name).options),
            "batch_size": comparison.of(name).batch_size,
        }
        for name in comparison.names
    }


def place_fields(comparison: Comparison, venv: str, kernel_root: str) -> dict[str, str]:
    """What a speed depends on beside the settings: the workload, the device, and the versions on the node."""
    found = probe_fields(comparison.workload, {}, venv, kernel_root)
    # The options are told with each setting.
    return {name: value for name, value in found.items() if not name.startswith("option ")}


def comparison_key(comparison: Comparison, place: Mapping[str, str], environment: Mapping[str, str]) -> str:
    """Sixteen hexadecimal digits; another one as soon as anything that a run depends on differs."""
    return digest([dict(place), described(comparison), dict(environment), comparison.seed])


def log_path(state_directory: str, key: str) -> str:
    return f"{state_directory}/compare/{key}.json"


def read_runs(path: str) -> tuple[list[Run], str]:
    """The runs, and why the file could not be understood; then there are none, and it is put aside when written."""
    text = read_text(path)
    if text is None:
        return [], ""
    try:
        return [_run(data) for data in parse_json(text, named=True)["runs"]], ""
    except (ValueError, KeyError, TypeError) as error:
        return [], " ".join(f"{type(error).__name__}: {error}".split())[:100]


def write_runs(path: str, runs: Sequence[Run], about: Mapping[str, object], damaged: bool) -> str | None:
    """Keep them, with what they are about for a person to read; returns where a damaged file was put aside."""
    text = json.dumps({**about, "runs": [asdict(run) for run in runs]}, indent=2) + "\n"
    backups = [write(change) for change in pending([WantedFile(path, text, _MODE, backup=damaged)])]
    return next((backup for backup in backups if backup), None)


def _run(data: Mapping[str, Any]) -> Run:
    known: dict[str, Any] = {name: value for name, value in data.items() if name in _NAMES}
    if isinstance(known.get("loss"), str):
        # The name of what is no number.
        known["loss"] = float(known["loss"])
    run = Run(**known)
    for value in (run.step_seconds, run.peak_memory_bytes, run.loss):
        if value is not None and not isinstance(value, (int, float)):
            raise ValueError(f"{value!r} is not a measurement")
    if not isinstance(run.round, int) or not isinstance(run.name, str) or not isinstance(run.message, str):
        raise ValueError(f"{data!r} is not a run")
    return run
