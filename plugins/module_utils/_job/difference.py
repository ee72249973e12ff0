# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""In what two descriptions of a job differ, in words; for a job that runs and one that is asked for under its name."""

from __future__ import annotations

from typing import Mapping

from .._errors import GaudiError
from .plan import DESCRIBED_DEFAULTS

# Values of the environment can be keys and passwords, and a message goes to logs that everybody reads.
UNSHOWN = ("environment",)


def description_differences(running: Mapping[str, object], asked: Mapping[str, object]) -> list[str]:
    """One phrase for each part in which the two descriptions differ, in the order of ``asked``.

    A part that a description leaves out has its default.
    """
    old, new = {**DESCRIBED_DEFAULTS, **running}, {**DESCRIBED_DEFAULTS, **asked}
    keys = [*asked, *(key for key in running if key not in asked)]
    return [
        words for key in keys if old.get(key) != new.get(key) for words in _phrases(key, old.get(key), new.get(key))
    ]


def refuse_difference(name: str, differences: list[str]) -> GaudiError:
    """The refusal of another description for a job that runs; without the node, so that a launch can say it once."""
    return GaudiError(
        f"job {name} is running with another description: {'; '.join(differences)}; "
        "stop it first (playbooks/stop_training.yml), give the new job another name, or set replace: true.",
        differences=differences,
    )


def _phrases(key: str, running: object, asked: object) -> list[str]:
    if isinstance(running, Mapping) and isinstance(asked, Mapping):
        names = [name for name in sorted({*running, *asked}) if running.get(name) != asked.get(name)]
        if key in UNSHOWN:
            return [f"{key} differs in {', '.join(names)}"]
        return [_phrase(f"{key}.{name}", running.get(name), asked.get(name)) for name in names]
    return [_phrase(key, running, asked)]


def _phrase(key: str, running: object, asked: object) -> str:
    """Of two lists of the same length only the items that differ: a command can be long."""
    if isinstance(running, list) and isinstance(asked, list) and len(running) == len(asked):
        pairs = [(old, new) for old, new in zip(running, asked) if old != new]
        return f"{key} has {', '.join(f'{old!r} where {new!r} is asked for' for old, new in pairs)}"
    return f"{key} is {running!r}, asked for {asked!r}"
