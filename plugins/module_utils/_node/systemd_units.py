# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The few things the collection asks of systemd, each as one function over ``systemctl``."""

from __future__ import annotations

import signal

from .._errors import GaudiError
from .commands import Run

# How waitid(2) calls an end: CLD_EXITED, CLD_KILLED, CLD_DUMPED.
_CODES = {"1": "exited", "2": "killed", "3": "dumped"}
UNIT_DIRECTORY = "systemd/system"
# What systemd calls states in which processes of the unit are there.
ACTIVE = ("active", "activating", "deactivating", "reloading", "refreshing")


def is_enabled(run: Run, unit: str) -> bool:
    """Whether ``unit`` starts at boot; False for a unit that systemd does not know."""
    return run(["systemctl", "is-enabled", "--quiet", unit]).rc == 0


def is_active(run: Run, unit: str) -> bool:
    """Whether ``unit`` runs now."""
    return run(["systemctl", "is-active", "--quiet", unit]).rc == 0


def reload_units(run: Run) -> None:
    """Make systemd read its unit files and its own settings again; running services are left alone."""
    _systemctl(run, "daemon-reload")


def enable(run: Run, unit: str) -> None:
    """Start ``unit`` at every boot."""
    _systemctl(run, "enable", "--quiet", unit)


def disable(run: Run, unit: str) -> None:
    """Stop ``unit`` and do not start it at boot."""
    _systemctl(run, "disable", "--quiet", "--now", unit)


def restart(run: Run, unit: str, *, timeout: float | None = None) -> None:
    """Run a oneshot unit to its end; a failure brings the end of its own log."""
    done = run(["systemctl", "restart", unit], timeout=timeout)
    if done.rc != 0:
        log = run(["journalctl", "--unit", unit, "--lines", "15", "--no-pager", "--output", "cat"]).stdout.strip()
        raise GaudiError(
            f"{unit} failed: {(log or done.stderr).strip()}; `systemctl status {unit}` on the node has details.",
            unit=unit,
            log=log.splitlines(),
        )


def has_processes(run: Run, unit: str) -> bool:
    """Whether processes of ``unit`` are there, or about to be or to go."""
    return unit_properties(run, unit, "ActiveState").get("ActiveState") in ACTIVE


def active_units(run: Run, pattern: str) -> set[str]:
    """Those of the units that match which have processes, or are about to have some as at boot, by one question.

    ``Job`` is the number of what systemd has still to do for a unit; there is none for one that stays as it is.
    """
    said = run(["systemctl", "show", pattern, "--property", "Id,ActiveState,Job"]).stdout
    units = [dict(line.split("=", 1) for line in block.splitlines() if "=" in line) for block in said.split("\n\n")]
    there = (unit for unit in units if unit.get("ActiveState") in ACTIVE or unit.get("Job", "0") not in ("", "0"))
    return {unit["Id"] for unit in there if unit.get("Id")}


def unit_properties(run: Run, unit: str, *names: str) -> dict[str, str]:
    """``systemctl show`` as a dictionary; it answers for a unit that does not exist, too."""
    done = run(["systemctl", "show", unit, "--property", ",".join(names)])
    if done.rc != 0:
        raise GaudiError(f"systemctl cannot be asked about {unit}: {done.stderr.strip()}; is systemd running here?")
    return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)


def end_of_unit(run: Run, unit: str) -> dict[str, object] | None:
    """How its main process ended, in the words that ExecStopPost is given; None where systemd does not know it."""
    found = unit_properties(run, unit, "Result", "ExecMainCode", "ExecMainStatus")
    code, status = _CODES.get(found.get("ExecMainCode", "")), found.get("ExecMainStatus", "")
    if code is None:
        return None
    if code != "exited" and status.isdecimal() and int(status) in set(signal.Signals):
        status = signal.Signals(int(status)).name.removeprefix("SIG")
    return {"result": found.get("Result", ""), "code": code, "status": status}


def _systemctl(run: Run, *arguments: str) -> None:
    done = run(["systemctl", *arguments])
    if done.rc != 0:
        raise GaudiError(f"systemctl {' '.join(arguments)} failed: {done.stderr.strip()}.", rc=done.rc)
