# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Have a monitoring machine send to CloudWatch: what is there, what is to be, and the way from one to the other."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._exporter.archive import archive_of
from .._monitoring.options import PRESENT
from .._node.commands import Run
from .._node.rendered_files import FileChange, WantedFile, differences, pending, write
from .._node.systemd_units import disable, enable, is_active, is_enabled, reload_units, restart
from .._node.tls_identity import Identity, is_there, remove
from .amazon import check_private
from .calls import NOTHING, told
from .files import ALARMS, DIRECTORY, MODULE, PROGRAM, SERVICE, TIMER, wanted_files
from .options import AMAZON, Options, Source, Target, check
from .prometheus_query import Reading, SilentError, read

Ask = Callable[[Source, Target, float], Reading]
# Ours among the alarms: those of the site lie beside them, and stay.
_OURS = "gaudi_*.json"


@dataclass(frozen=True)
class _Plan:
    """What is not as it is to be; ``certificate`` is whether there is one that has to go."""

    files: list[FileChange]
    program: list[FileChange]
    certificate: bool
    units: list[str]

    @property
    def steps(self) -> list[str]:
        return [
            *(["program"] if self.program else []),
            *(f"file {change.wanted.path}" for change in self.files),
            *(["certificate"] if self.certificate else []),
            *(f"unit {unit}" for unit in self.units),
        ]


def converge(options: Options, run: Run, check_mode: bool, root: str = "/", ask: Ask = read) -> dict[str, Any]:
    """What the module returns; raises GaudiError for what is refused, before anything is touched."""
    check(options)
    cloudwatch = NOTHING
    if options.target is not None and options.state == PRESENT:
        check_private(str(Path(root, AMAZON[1:])))
        cloudwatch = told(options.target, _reading(options.source, options.target, ask))
    plan = _plan(options, run, root)
    steps = plan.steps
    shown: list[dict[str, str]] = list(differences(plan.files))
    if steps and cloudwatch["sentence"]:
        shown.append({"prepared": f"{cloudwatch['sentence']}\n"})
    if steps and not check_mode:
        _apply(plan, options, run, root)
    return {"changed": bool(steps), "diff": shown, "steps": steps, "cloudwatch": dict(cloudwatch)}


def _reading(source: Source, target: Target, ask: Ask) -> Reading | None:
    """None where Prometheus does not answer: it may just have been started, or be foretold by check mode."""
    try:
        return ask(source, target, time.time())
    except SilentError:
        return None


def _plan(options: Options, run: Run, root: str) -> _Plan:
    is_present = options.state == PRESENT
    alarms = sorted(path.name for path in Path(root, DIRECTORY[1:], ALARMS).glob(_OURS))
    # Bytes as text, which is how files are compared and written here; it is in no diff.
    program = archive_of(MODULE).decode("utf-8", "surrogateescape") if is_present else None
    runs = is_enabled(run, TIMER) and is_active(run, TIMER)
    return _Plan(
        pending(wanted_files(options, alarms, root)),
        pending([WantedFile(str(Path(root, PROGRAM[1:])), program)]),
        not is_present and is_there(_identity(root)),
        [] if runs == is_present else [TIMER],
    )


def _identity(root: str) -> Identity:
    """What Prometheus knows it by, where it answers its readers alone; the role makes it."""
    return Identity(str(Path(root, DIRECTORY[1:])), ("localhost",))


def _apply(plan: _Plan, options: Options, run: Run, root: str) -> None:
    is_present = options.state == PRESENT
    if not is_present:
        _stop(run)
        remove(_identity(root))
    for change in [*plan.program, *plan.files]:
        write(change)
    if plan.files:
        reload_units(run)
    if is_present:
        enable(run, TIMER)
        restart(run, TIMER)
    else:
        _remove_empty(Path(root, DIRECTORY[1:]))


def _stop(run: Run) -> None:
    """While systemd still knows what they are: the timer first, so that it begins no other run."""
    if is_enabled(run, TIMER) or is_active(run, TIMER):
        disable(run, TIMER)
    run(["systemctl", "stop", SERVICE])
    # One whose last run failed would be listed for ever.
    run(["systemctl", "reset-failed", SERVICE])


def _remove_empty(directory: Path) -> None:
    """What somebody else has put there stays, and then so do they."""
    for path in (directory / ALARMS, directory):
        with suppress(OSError):
            path.rmdir()
