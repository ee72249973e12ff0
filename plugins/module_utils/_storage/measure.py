# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""One phase of a measurement on this node, by fio as the account of jobs, in a unit of systemd that ends in time."""

from __future__ import annotations

import posixpath
import re
import time
from collections.abc import Callable
from typing import Any

from .._errors import GaudiError
from .._node.account_unit import DEFAULT_LIMITS
from .._node.commands import CommandResult, Run, last_line
from .._node.job_user import check_user, run_as_user
from .._node.unit_words import unexpanded
from .fio import RAMP_S, WRITE, Phase, Rate, arguments, file_pattern, parse
from .sizes import shown

UNIT = "gaudi3-scale-storage-rates"
# A server that hangs lets fio hang; systemd ends it, and Ansible is answered.
_GRACE_S = 60
# What is never filled: a directory without a byte left stops whoever else writes there.
RESERVE = 1 << 30
_NODE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")
_MEMORY = ("tmpfs", "ramfs")


def measured(phase: Phase, user: str, run: Run, clock: Callable[[], float] = time.monotonic) -> dict[str, Any]:
    """Rates, and the file system's type; raises GaudiError before anything is written, or with what fio said."""
    check_user(user)
    _check_node(phase.node)
    if not phase.directory.startswith("/") or posixpath.normpath(phase.directory) != phase.directory:
        raise GaudiError(f"directory is {phase.directory!r}; write a plain absolute path.")
    if phase.block > phase.size:
        raise GaudiError(f"size is {shown(phase.size)}, less than one request of {shown(phase.block)}; raise size.")
    kind = _fits(phase, run)
    try:
        rate = _run(phase, user, run, clock)
    except GaudiError:
        remove(phase.directory, phase.node, user, run)
        raise
    if phase.name == WRITE and rate.written < phase.block:
        remove(phase.directory, phase.node, user, run)
        raise GaudiError(
            f"{phase.directory} took less than {shown(phase.block)} a file in {phase.seconds} s; give more seconds, or "
            "fewer files."
        )
    return {**rate.as_result(), "file_system": kind}


def remove(directory: str, node: str, user: str, run: Run) -> None:
    """The files of this node, by the account that made them."""
    _check_node(node)
    pattern = file_pattern(node).replace("$jobnum", "*")
    find = ["find", directory, "-maxdepth", "1", "-type", "f", "-name", pattern, "-user", user, "-delete"]
    _as_unit(find, user, directory, _GRACE_S, run)


def _check_node(node: str) -> None:
    """It becomes part of a file's name, which fio and find(1) read in ways of their own."""
    if not _NODE.fullmatch(node):
        raise GaudiError(f"node is {node!r}; give a name of letters, digits, dots, dashes and underscores.")


def _fits(phase: Phase, run: Run) -> str:
    """The file system's type as stat(1) calls it."""
    done = run(["stat", "--file-system", "--format", "%a %S %T", phase.directory], timeout=_GRACE_S)
    found = re.fullmatch(r"([0-9]+) ([0-9]+) (\S+)\s*", done.stdout)
    if done.rc != 0 or not found:
        raise GaudiError(f"{phase.directory} cannot be looked at: {last_line(done.stderr) or 'no answer'}.")
    kind, free, needed = found[3], int(found[1]) * int(found[2]), phase.files * phase.size + RESERVE
    if kind in _MEMORY:
        raise GaudiError(f"{phase.directory} is memory ({kind}), not storage; name a directory that survives a reboot.")
    if phase.name == WRITE and free < needed:
        raise GaudiError(
            f"{phase.directory} has {shown(free)} left, and {shown(needed)} are needed ({phase.files} files of "
            f"{shown(phase.size)}, and {shown(RESERVE)} that stay free); lower size, or the number of files."
        )
    return kind


def _run(phase: Phase, user: str, run: Run, clock: Callable[[], float]) -> Rate:
    limit = RAMP_S + phase.seconds + _GRACE_S
    begun = clock()
    done = _as_unit(arguments(phase), user, phase.directory, limit, run)
    if done.rc == 0:
        return parse(done.stdout, phase)
    said = [line for line in (done.stdout + "\n" + done.stderr).splitlines() if line.startswith("fio: ")]
    reason = said[0] if said else last_line(done.stderr) or f"exit code {done.rc}"
    if not said and clock() - begun >= limit:
        # By systemd, which does not say so.
        reason = (
            f"fio did not finish within {limit} s and was stopped; measure again, and check whether its server responds"
        )
    if "already" in done.stderr and UNIT in done.stderr:
        reason = "another measurement runs on this node; wait for it to finish"
    raise GaudiError(f"{phase.name} in {phase.directory} as {user}: {reason.rstrip('.')}.")


def _as_unit(program: list[str], user: str, directory: str, seconds: int, run: Run) -> CommandResult:
    """As ``user``, with nothing of root's."""
    return run_as_user(user, program, run, timeout=seconds, limits=limits_of(directory), unit=UNIT)


def limits_of(directory: str) -> list[str]:
    """What the unit may do: its directory may lie below one of the system's."""
    return [*DEFAULT_LIMITS, f"ReadWritePaths={unexpanded(f'-{directory}')}"]
