# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which libraries a task needs beside the training stack, told before any of them is imported."""

from __future__ import annotations

import importlib.util
from typing import Sequence

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.fine_tune.switches import OFF, values_given
from gaudi3_scale.fine_tune.tasks import Task

# The module that is imported -> what pip installs.
NAMES = {
    "transformers": "transformers>=5,<6",
    "accelerate": "accelerate>=1,<2",
    "peft": "peft",
    "trl": "trl>=1,<2",
    "datasets": "datasets",
    "PIL": "pillow",
    "deepspeed": "the vendor's fork of DeepSpeed for this release",
}


def require(task: Task, words: Sequence[str]) -> None:
    """GaudiError with what has to be installed for the task and these words of the command line."""
    needed = ["transformers", "accelerate"]
    if task.library == "trl":
        needed += ["trl", "datasets"]
    if task.name == "image-classification":
        needed.append("PIL")
    if _asks(words, "use_peft"):
        needed.append("peft")
    if _asks(words, "deepspeed"):
        needed.append("deepspeed")
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        lines = ", ".join(NAMES[name] for name in missing)
        raise GaudiError(
            f"--task {task.name} needs {', '.join(missing)}, which this Python does not have; "
            f"put {lines} into the file that gaudi_training_requirements names."
        )


def _asks(words: Sequence[str], name: str) -> bool:
    """Whether the switch is given, and not as False."""
    values = values_given(words, name)
    return values is not None and not any(value.lower() in OFF for value in values)
