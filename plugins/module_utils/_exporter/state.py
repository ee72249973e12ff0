# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Have a node watched: what is there, what is to be, and the way from one to the other."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._errors import GaudiError
from .._node.commands import Run
from .._node.rendered_files import FileChange, WantedFile, differences, pending, read_text, write
from .._node.systemd_units import disable, enable, is_active, is_enabled, reload_units, restart
from .._node.tls_identity import certificate_of, is_there, is_whole, make, remove
from .archive import archive_of
from .plan import (
    CARDS,
    DROP_IN,
    HL_SMI,
    MODULE,
    NODE,
    PRESENT,
    PROGRAM,
    SITE,
    VENDOR_PORT,
    Options,
    check,
    wanted_files,
    wanted_metrics,
)

# What the drop-in gives to the distribution's node exporter; who gives it twice gets none.
_OURS = re.compile(r"--(web\.listen-address|web\.config(?:\.file)?|collector\.textfile\.directory)\b")


@dataclass(frozen=True)
class _Plan:
    """What is not as it is to be. ``metrics`` are files that nobody writes any more."""

    files: list[FileChange]
    program: list[FileChange]
    metrics: list[FileChange]
    certificate: bool
    units: list[str]

    @property
    def steps(self) -> list[str]:
        return [
            *(["program"] if self.program else []),
            *(f"file {change.wanted.path}" for change in [*self.files, *self.metrics]),
            *(["certificate"] if self.certificate else []),
            *(f"unit {unit}" for unit in self.units),
        ]


def converge(options: Options, run: Run, check_mode: bool, root: str = "/") -> dict[str, Any]:
    """What the module returns; raises GaudiError for what is refused, before anything is touched."""
    check(options, check_mode)
    _refuse(options, run, root)
    plan = _plan(options, run, root)
    steps = plan.steps
    if steps and not check_mode:
        _apply(plan, options, run, root)
    certificate = certificate_of(options.identity(root)) if options.is_served else ""
    return {"changed": bool(steps), "diff": differences(plan.files), "steps": steps, "certificate": certificate}


def _plan(options: Options, run: Run, root: str) -> _Plan:
    # Bytes as text, which is how files are compared and written here; it is in no diff.
    program = archive_of(MODULE).decode("utf-8", "surrogateescape") if options.collectors else None
    own = options.identity(root)
    wrong = [unit for unit in (CARDS, NODE) if _runs(unit, run) != (unit in options.collectors)]
    off = options.is_served and not _runs(options.unit, run)
    return _Plan(
        pending(wanted_files(options, root)),
        pending([WantedFile(str(Path(root, PROGRAM[1:])), program)]),
        pending(wanted_metrics(options, root)),
        not is_whole(own, run) if options.is_served else is_there(own),
        [*wrong, *([options.unit] if off else [])],
    )


def _apply(plan: _Plan, options: Options, run: Run, root: str) -> None:
    was_ours = any(change.wanted.path.endswith(DROP_IN) and change.before is not None for change in plan.files)
    # While systemd still knows what they are, and before what they write is removed.
    _stop(options, run, was_ours)
    own = options.identity(root)
    if plan.certificate and options.is_served:
        make(own, run)
    elif plan.certificate:
        remove(own)
    for change in [*plan.program, *plan.files, *plan.metrics]:
        write(change)
    if plan.files:
        reload_units(run)
    collector_changed = bool(plan.program or plan.files)
    _start(options, run, collector_changed, options.unit in plan.units or bool(plan.files) or plan.certificate)


def _runs(unit: str, run: Run) -> bool:
    return is_enabled(run, unit) and is_active(run, unit)


def _stop(options: Options, run: Run, was_ours: bool) -> None:
    unwanted = [unit for unit in (CARDS, NODE) if unit not in options.collectors]
    if was_ours and not options.is_served:
        # As its package has it, it answers to everyone.
        unwanted.append(options.unit)
    for unit in unwanted:
        if is_enabled(run, unit) or is_active(run, unit):
            disable(run, unit)


def _start(options: Options, run: Run, collector_changed: bool, server_changed: bool) -> None:
    begun = [unit for unit in options.collectors if collector_changed or not _runs(unit, run)]
    if options.is_served and server_changed:
        begun.append(options.unit)
    for unit in begun:
        enable(run, unit)
        restart(run, unit)


def _refuse(options: Options, run: Run, root: str) -> None:
    if options.cards_from == HL_SMI and options.collectors and _listens(VENDOR_PORT, run):
        raise GaudiError(
            f"the vendor's exporter answers at port {VENDOR_PORT}, so two programs would poll each card; stop it, or "
            "set cards_from to vendor."
        )
    # The package of the distribution's makes its own.
    is_site = options.state == PRESENT and options.served_by == SITE
    if is_site and not Path(root, options.directory.lstrip("/")).is_dir():
        raise GaudiError(
            f"directory is {options.directory}, which does not exist; create it, or give the one that the site's node "
            "exporter reads."
        )
    if not options.is_served:
        return
    arguments = read_text(str(Path(root, options.arguments_file.lstrip("/")))) or ""
    lines = [line for line in arguments.splitlines() if not line.lstrip().startswith("#")]
    found = next(filter(None, map(_OURS.search, lines)), None)
    if found:
        raise GaudiError(
            f"{options.arguments_file} has {found.group(0)}, which this module sets as well; remove it there, or set "
            "served_by to site."
        )
    if not is_active(run, options.unit) and _listens(options.port, run):
        raise GaudiError(
            f"something answers at port {options.port} that is not {options.unit}; give another port, or set served_by "
            "to site where it is a node exporter of the site's own."
        )


def _listens(port: int, run: Run) -> bool:
    return bool(run(["ss", "-Hltn", f"sport = :{port}"]).stdout.strip())
