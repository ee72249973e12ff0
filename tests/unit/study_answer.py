# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A tuning study, and the report that the node which keeps it writes of it."""

from __future__ import annotations

from typing import Any

OPTIONS: dict[str, Any] = {
    "name": "s",
    "objective": "throughput",
    "trials": 4,
    "steps": 20,
    "tokens": None,
    "pruner": "none",
    "space": {
        "batch_size": {"low": 8, "step": 8},
        "accumulation": [1, 2],
        "checkpointing": [False, True],
        "compile": None,
        "workers": None,
    },
    "flags": {"PT_HPU_X": ["1", None]},
    "command": ["-m", "gaudi3_scale.train"],
    "built_in": True,
    "processes": 1,
    "device": "cpu",
    "timeout": 60,
    "sequence_length": 16,
    "environment": {"WANDB_API_KEY": "planted-key"},
    "probe": {"maximum": 64},
}
BEST: dict[str, Any] = {
    "trial": 3,
    "value": 1000.5,
    "params": {"batch_size": 64, "accumulation": 2, "checkpointing": True},
    "flags": {"PT_HPU_X": "1"},
}
REPORT: dict[str, Any] = {
    "title": "Study s: 4 of 4 trials",
    "columns": ["trial", "outcome", "batch_size"],
    "rows": [{"trial": 3, "outcome": "ok", "tokens/s": 1000, "loss": None, "batch_size": 64, "why": ""}],
    "notes": ["Trial 3 is the best"],
    "charts": [],
    "sections": [
        {
            "title": "Nodes",
            "columns": ["node", "state"],
            "rows": [{"node": "n2", "state": "failed", "trials": 1, "broken": 1, "why": "3 trials broke"}],
            "notes": [],
        }
    ],
    "data": {"objective": "throughput", "best": BEST, "done": 4},
}


def given_of_a_study(report: str, failure: str = "") -> dict[str, Any]:
    """What the kind ``tune_training`` is told beside the hosts."""
    fixed = {"gaudi_training_precision": "bf16", "gaudi_training_arguments": ["--clip", "1"]}
    return {"study": OPTIONS, "fixed": fixed, "keeper": "n1", "report": report, "failure": failure}
