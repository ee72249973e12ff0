# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Have a node watched: what is there, what is to be, and the way from one to the other."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

from .._errors import GaudiError
from .._node.commands import Run
from .._node.regular_file import read_bounded
from .._node.rendered_files import differences, pending, read_text, write
from .._node.systemd_units import disable, enable, is_active, is_enabled, reload_units, restart
from .._node.tls_identity import certificate_of, is_there, is_whole, make, remove
from .archive import archive_of
from .plan import CARDS, DROP_IN, HL_SMI, MODULE, NODE, PROGRAM, VENDOR_PORT, Options, check, wanted_files

# What the drop-in gives to the distribution's node exporter; who gives it twice gets none.
_OURS = re.compile(r"--(web\.listen-address|web\.config(?:\.file)?|collector\.textfile\.directory)\b")
_LARGEST = 1 << 24


def converge(options: Options, run: Run, check_mode: bool, root: str = "/") -> dict[str, Any]:
    """What the module returns; raises GaudiError for what is refused, before anything is touched."""
    check(options)
    _refuse(options, run, root)
    program = archive_of(MODULE) if options.collectors else None
    is_new = _content(Path(root, PROGRAM[1:])) != program
    changes = pending(wanted_files(options, str(Path(root, "etc"))))
    own = options.identity(root)
    is_known = is_whole(own, run) if options.is_served else not is_there(own)
    wrong = [unit for unit in (CARDS, NODE) if _runs(unit, run) != (unit in options.collectors)]
    off = options.is_served and not _runs(options.unit, run)
    steps = [
        *(["program"] if is_new else []),
        *(f"file {change.wanted.path}" for change in changes),
        *([] if is_known else ["certificate"]),
        *(f"unit {unit}" for unit in wrong),
        *([f"unit {options.unit}"] if off else []),
    ]
    shown = differences(changes)
    if steps and not check_mode:
        was_ours = any(change.wanted.path.endswith(DROP_IN) and change.before is not None for change in changes)
        # While systemd still knows what they are.
        _stop(options, run, was_ours)
        if is_new:
            _put(Path(root, PROGRAM[1:]), program)
        if not is_known and options.is_served:
            make(own, run)
        elif not is_known:
            remove(own)
        for change in changes:
            write(change)
        if changes:
            reload_units(run)
        _start(options, run, is_new or bool(changes), off or bool(changes) or not is_known)
    certificate = certificate_of(own) if options.is_served else ""
    return {"changed": bool(steps), "diff": shown, "steps": steps, "certificate": certificate}


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
            f"the vendor's exporter answers at port {VENDOR_PORT}, so two programs would ask each card; stop it, or "
            "set cards_from to vendor."
        )
    if not options.is_served:
        return
    arguments = read_text(str(Path(root, options.arguments_file.lstrip("/")))) or ""
    lines = [line for line in arguments.splitlines() if not line.lstrip().startswith("#")]
    found = next(filter(None, map(_OURS.search, lines)), None)
    if found:
        raise GaudiError(
            f"{options.arguments_file} has {found.group(0)}, which this module gives too; take it out there, or set "
            "served_by to site."
        )
    if not is_active(run, options.unit) and _listens(options.port, run):
        raise GaudiError(
            f"something answers at port {options.port} that is not {options.unit}; give another port, or set served_by "
            "to site where it is a node exporter of the site's own."
        )


def _listens(port: int, run: Run) -> bool:
    return bool(run(["ss", "-Hltn", f"sport = :{port}"]).stdout.strip())


def _content(path: Path) -> bytes | None:
    try:
        return read_bounded(str(path), _LARGEST)
    except OSError:
        return None


def _put(path: Path, content: bytes | None) -> None:
    """By a rename: the program that runs has the file that it began with."""
    if content is None:
        path.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(handle, "wb") as stream:
        stream.write(content)
    Path(name).chmod(0o644)
    Path(name).replace(path)
