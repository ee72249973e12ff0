# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A timer of systemd by which a node runs its tests again."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._errors import GaudiError
from .._node.commands import Run, last_line
from .._node.rendered_files import WantedFile, differences, pending, write
from .._node.root_program import WITH_VARIABLES, require_roots, root_python
from .._node.systemd_units import UNIT_DIRECTORY, disable, enable, is_active, is_enabled, reload_units
from .files import DIRECTORY
from .unit import CONFINED, LIMITS

NAME = "gaudi3-scale-qualification-scheduled"
_PLAIN = re.compile(r"/[A-Za-z0-9_./:,+@-]*")
TIMER, SERVICE = f"{NAME}.timer", f"{NAME}.service"


@dataclass(frozen=True)
class Schedule:
    """See the options of the module ``hpu_qualify_schedule``."""

    state: str
    on_calendar: str
    randomized_delay_seconds: int
    venv: str
    flags: str


def apply(options: Schedule, run: Run, check_mode: bool, etc: str = "/etc") -> dict[str, Any]:
    """What the module returns; raises GaudiError for a time that systemd does not know."""
    is_present = options.state == "present"
    if is_present:
        _check_calendar(options.on_calendar, run)
        for option, path in (("venv", options.venv), ("flags", options.flags)):
            _check_plain(option, path)
        require_roots(options.flags, "flags", WITH_VARIABLES)
    changes = pending(_wanted(options, etc))
    enabled = is_enabled(run, TIMER) and is_active(run, TIMER)
    if not check_mode:
        if not is_present and enabled:
            disable(run, TIMER)
        for change in changes:
            write(change)
        if changes:
            reload_units(run)
        if is_present and (changes or not enabled):
            enable(run, TIMER)
            _start(run)
    return {
        "changed": bool(changes) or enabled != is_present,
        "diff": differences(changes),
        "units": [TIMER, SERVICE],
    }


def _wanted(options: Schedule, etc: str) -> list[WantedFile]:
    is_present = options.state == "present"
    texts = {TIMER: _timer(options), SERVICE: _service(options)} if is_present else {TIMER: None, SERVICE: None}
    return [WantedFile(str(Path(etc, UNIT_DIRECTORY, name)), text) for name, text in texts.items()]


def _timer(options: Schedule) -> str:
    return f"""# Written by gaudi3.scale.
[Unit]
Description=gaudi3.scale: this node's tests, again

[Timer]
OnCalendar={options.on_calendar}
RandomizedDelaySec={options.randomized_delay_seconds}
# A node that was off at the time makes up for it.
Persistent=true

[Install]
WantedBy=timers.target
"""


def _service(options: Schedule) -> str:
    python = root_python(options.venv)
    hardening = "\n".join((*LIMITS, *CONFINED))
    return f"""# Written by gaudi3.scale.
[Unit]
Description=gaudi3.scale: this node's tests, again

[Service]
Type=oneshot
EnvironmentFile=-{options.flags}
ExecStart={python} -I -m gaudi3_scale.qualify --directory {DIRECTORY} --again --unless-held
# Left out, or inconclusive: not a failure of the node.
SuccessExitStatus=2
{hardening}
"""


def _check_plain(option: str, path: str) -> None:
    """In a unit a blank parts words, and % and $ stand for something else."""
    if not _PLAIN.fullmatch(path):
        raise GaudiError(f"{option} is {path!r:.200}; write an absolute path of letters, digits and _./:,+@- alone.")


def _check_calendar(text: str, run: Run) -> None:
    done = run(["systemd-analyze", "calendar", "--", text])
    if done.rc != 0:
        raise GaudiError(
            f"on_calendar is {text!r}, which is not a time ({last_line(done.stderr)}); write it as systemd.time(7) has "
            "it, such as Sun 03:00."
        )


def _start(run: Run) -> None:
    done = run(["systemctl", "restart", TIMER])
    if done.rc != 0:
        raise GaudiError(f"{TIMER} cannot be started: {last_line(done.stderr)}; see `systemctl status {TIMER}`.")
