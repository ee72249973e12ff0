# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A program that root starts as another account: in a unit of systemd's that ends, with all that the program left.

What an account's program forks would otherwise outlive the question that it was started for, out of every unit, and
could gain privileges. Where systemd is not the first process it is started by runuser(1), as far as that goes.
"""

from __future__ import annotations

import math
import os
import pwd
import re
import shlex
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from .._errors import GaudiError
from .commands import CommandResult, Run, search_path
from .environment_file import assignment
from .unit_hardening import FOREIGN_PROGRAM, capability_lines

# As sd_booted(3) asks.
BOOTED = "/run/systemd/system"
# Root's own, in memory, and gone with a boot: what the program's variables are handed over in.
_HANDED_OVER = "/run"
# How long systemd waits between SIGTERM and SIGKILL, and what it may take beside that.
_STOP_S, _GRACE_S = 5, 30
# What systemd makes of a program that cannot be executed (EXIT_EXEC).
_NOT_EXECUTED = 203
# What belongs to a login, hence not to another account's program; systemd sets the account's own.
_OF_A_LOGIN = ("HOME", "USER", "LOGNAME", "SHELL", "MAIL", "PWD", "OLDPWD", "TERM", "DBUS_SESSION_BUS_ADDRESS")
_OF_LOGINS = ("SSH_", "SUDO_", "XDG_", "LISTEN_", "NOTIFY_", "INVOCATION_", "JOURNAL_", "WATCHDOG_")
# A reload, which each launch asks for, has systemd write a unit that was just asked for and read it again, and what 252
# then reads has $$ where $ was and \\; where ; was.
_CHANGED_BY_RELOADS = re.compile("[$;]")
DEFAULT_LIMITS = (*FOREIGN_PROGRAM, *capability_lines())


def run_as(
    entry: pwd.struct_passwd,
    argv: Sequence[str],
    run: Run,
    *,
    timeout: float,
    env: Mapping[str, str] | None = None,
    limits: Sequence[str] = DEFAULT_LIMITS,
    unit: str = "",
) -> CommandResult:
    """Run ``argv`` as the account, as :class:`commands.Run` runs it; ``limits`` are lines of a unit's [Service].

    For the caller's own account it is run as it is. In the unit it has the caller's variables without those of a login.
    ``unit`` names the unit, of which there is one at a time; then it is one whoever the account is.
    """
    if entry.pw_uid == os.geteuid() and not unit:
        return run(argv, timeout=timeout, env=env)
    if not unit and not Path(BOOTED).is_dir():
        home = ("env", *(f"{name}={value}" for name, value in home_variables(entry).items()))
        return run(("runuser", "-u", entry.pw_name, "--", *home, *argv), timeout=timeout, env=env)
    variables = {**_inherited(os.environ), "LC_ALL": "C", "LANGUAGE": "C", **(env or {})}
    variables["PATH"] = search_path(variables.get("PATH"))
    program = shutil.which(argv[0], path=variables["PATH"])
    if program is None and not unit:
        return CommandResult(127, "", f"{argv[0]}: not installed")
    named = [f"--unit={unit}"] if unit else []
    assigned = "".join(f"{assignment(name, value)}\n" for name, value in variables.items())
    further = (*named, *_properties(limits))
    with _file_of(assigned) as file, _unchanged((program or argv[0], *argv[1:]), entry) as words:
        begun = time.monotonic()
        done = run(unit_argv(entry, words, file, timeout, further), timeout=timeout + _STOP_S + _GRACE_S)
    if done.rc != 0 and time.monotonic() - begun >= timeout:
        # By systemd, which does not say so.
        return CommandResult(124, done.stdout, f"{argv[0]}: timed out after {timeout:g} s")
    return CommandResult(126, done.stdout, f"{argv[0]}: cannot be run") if done.rc == _NOT_EXECUTED else done


def home_variables(entry: pwd.struct_passwd) -> dict[str, str]:
    """What a login would tell the account of itself; root's home is of no use to anybody else."""
    return {"HOME": entry.pw_dir, "USER": entry.pw_name, "LOGNAME": entry.pw_name}


def unit_argv(
    entry: pwd.struct_passwd, argv: Sequence[str], file: str, timeout: float, further: Sequence[str]
) -> list[str]:
    """How systemd is asked for it. Variables are in a file of root's: a unit's own are shown to everybody."""
    about = ["--quiet", "--wait", "--pipe", "--collect", f"--uid={entry.pw_name}"]
    ends = [f"RuntimeMaxSec={math.ceil(timeout)}", f"TimeoutStopSec={_STOP_S}", "KillMode=control-group"]
    properties = [*_properties((*ends, f"EnvironmentFile={file}")), *further]
    description = f"--description=gaudi3.scale: {Path(argv[0]).name} as {entry.pw_name}"
    return ["systemd-run", *about, description, *properties, "--", *argv]


def _properties(lines: Sequence[str]) -> list[str]:
    return [f"--property={line}" for line in lines]


def _inherited(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environment.items()
        if name not in _OF_A_LOGIN and not name.startswith(_OF_LOGINS) and _is_written(name, value)
    }


def _is_written(name: str, value: str) -> bool:
    """Shell functions, for instance, are not; nobody asked for them either."""
    try:
        return bool(assignment(name, value))
    except GaudiError:
        return False


@contextmanager
def _unchanged(argv: Sequence[str], entry: pwd.struct_passwd) -> Iterator[Sequence[str]]:
    """The words as systemd leaves them: in a script that the account may read where it would not."""
    shell = shutil.which("sh", path=search_path(None))
    if shell is None or not any(map(_CHANGED_BY_RELOADS.search, argv)):
        yield argv
        return
    with _file_of(f"exec {shlex.join(argv)}\n", entry.pw_gid) as script:
        yield shell, script


@contextmanager
def _file_of(text: str, group: int | None = None) -> Iterator[str]:
    """A file of root's alone, or one that ``group`` may read too."""
    place = _HANDED_OVER if os.access(_HANDED_OVER, os.W_OK) else None
    with tempfile.NamedTemporaryFile("w", dir=place, prefix="gaudi3_scale-", encoding="utf-8") as file:
        if group is not None:
            os.fchown(file.fileno(), -1, group)
            os.fchmod(file.fileno(), 0o640)
        file.write(text)
        file.flush()
        yield file.name
