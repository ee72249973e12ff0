# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The export of a job's checkpoint, by the node library and as the job's account: root reads nothing of either."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import Any

from .._errors import GaudiError
from .._node.account_unit import DEFAULT_LIMITS
from .._node.commands import CommandResult, Run, last_line
from .._node.job_user import check_user, run_as_user
from .._node.unit_words import unexpanded

# Hundreds of billions of weights are read five times.
LONGEST_S = 86400
SAID = "gaudi3_scale: "
EXPORTED_BEFORE = ": exported before"


@dataclass(frozen=True)
class ExportOptions:
    """``checkpoint`` is one, or a directory of some; ``directory`` gets the model."""

    checkpoint: str
    directory: str
    venv: str
    user: str


def converge(options: ExportOptions, run: Run, check_mode: bool) -> dict[str, Any]:
    """Export it unless that was done; raises GaudiError with what the node library refuses."""
    check_user(options.user)
    _check_path("directory (gaudi_training_export)", options.directory)
    _check_path("checkpoint", options.checkpoint)
    result = {"changed": True, "directory": options.directory, "lines": []}
    if check_mode:
        return result
    python = f"{options.venv}/bin/python"
    argv = [python, "-m", "gaudi3_scale", "export", options.checkpoint, options.directory]
    done = run_as_user(options.user, argv, run, timeout=LONGEST_S, limits=limits_of(options.directory))
    if done.rc != 0:
        raise GaudiError(f"{options.checkpoint} was not exported to {options.directory}: {_reason(done)}")
    lines = done.stdout.splitlines()
    return {**result, "changed": EXPORTED_BEFORE not in last_line(done.stdout, ""), "lines": lines}


def limits_of(directory: str) -> list[str]:
    """What the unit may do: it makes the directory, which may lie below one of the system's, in the one above."""
    return [*DEFAULT_LIMITS, f"ReadWritePaths={unexpanded(f'-{posixpath.dirname(directory)}')}"]


def _check_path(option: str, path: str) -> None:
    if not path.startswith("/") or posixpath.normpath(path) != path or path == "/":
        raise GaudiError(f"{option} is {path!r}; write a plain absolute path.")


def _reason(done: CommandResult) -> str:
    """The sentence of the node library, or the last line of whatever ended it."""
    said = [line for line in done.stderr.splitlines() if line.startswith(SAID)]
    return said[-1].removeprefix(SAID) if said else f"{last_line(done.stderr).rstrip('.')}."
