# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Small studies for the tests of the tuner."""

from __future__ import annotations

from pathlib import Path

import optuna

from gaudi3_scale.core._tune.study import study_from
from gaudi3_scale.tune.worker import Worker

optuna.logging.set_verbosity(optuna.logging.ERROR)

OPTIONS = {
    "name": "s",
    "objective": "throughput",
    "trials": 4,
    "steps": 20,
    "tokens": None,
    "pruner": "none",
    "space": {
        "batch_size": {"low": 8, "high": 64, "step": 8},
        "accumulation": [1, 2],
        "checkpointing": None,
        "compile": None,
        "workers": None,
    },
    "flags": {},
    "command": [str(Path(__file__).with_name("tuned_trainer.py"))],
    "built_in": True,
    "processes": 1,
    "device": "cpu",
    "timeout": 60,
    "sequence_length": 16,
    "environment": {},
    "probe": None,
}


def small_study(**changed):
    return study_from({**OPTIONS, **changed})


def optuna_study(direction: str = "maximize", **arguments) -> optuna.Study:
    return optuna.create_study(direction=direction, **arguments)


def worker_of(study, found: optuna.Study, directory: Path, host: str = "n1"):
    """A worker, and the list to which it appends what it shows."""
    shown: list[dict] = []
    worker = Worker(
        study,
        found,
        host,
        directory / "trials",
        directory / "logs",
        lambda kind, **fields: shown.append({"kind": kind, **fields}),
    )
    return worker, shown
