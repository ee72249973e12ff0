# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The few things the collection asks of systemd, each as one function over ``systemctl``."""

from __future__ import annotations

from .commands import Run
from .errors import GaudiError

UNIT_DIRECTORY = "systemd/system"


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
            f"{unit} failed: {(log or done.stderr).strip()}; `systemctl status {unit}` on the node tells more.",
            unit=unit,
            log=log.splitlines(),
        )


def _systemctl(run: Run, *arguments: str) -> None:
    done = run(["systemctl", *arguments])
    if done.rc != 0:
        raise GaudiError(f"systemctl {' '.join(arguments)} failed: {done.stderr.strip()}.", rc=done.rc)
