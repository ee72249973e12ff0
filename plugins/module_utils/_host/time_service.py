# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A service that sets the clock: the one that runs already, or the site's choice from the distribution."""

from __future__ import annotations

from pathlib import Path

from .._errors import GaudiError
from .._node import systemd_units
from .._node.commands import Run, last_line
from .._node.os_release import APT, package_manager
from .kernel.values import value_difference
from .node import Node
from .packages import install_missing

UNMANAGED, CHRONY, TIMESYNCD = "unmanaged", "chrony", "systemd-timesyncd"
CHOICES = (UNMANAGED, CHRONY, TIMESYNCD)
# Whatever of these runs sets the clock; a second one beside it would fight it. Names of Debian's and of RHEL's units.
SERVICES = (
    "chrony.service",
    "chronyd.service",
    "systemd-timesyncd.service",
    "ntpsec.service",
    "ntp.service",
    "ntpd.service",
    "openntpd.service",
    "phc2sys.service",
)
UNITS = {
    (CHRONY, True): "chrony.service",
    (CHRONY, False): "chronyd.service",
    (TIMESYNCD, True): f"{TIMESYNCD}.service",
}


def check_choice(choice: str) -> None:
    """Refuse what is no choice."""
    if choice not in CHOICES:
        raise GaudiError(f"time_sync={choice!r} is not valid; use one of {', '.join(CHOICES)}.")


def unit_of(choice: str, manager: str) -> str:
    """The unit of ``choice``; GaudiError where the distribution has none."""
    unit = UNITS.get((choice, manager == APT))
    if unit is None:
        raise GaudiError(f"time_sync={choice} is not packaged for RHEL and its derivatives; set time_sync to {CHRONY}.")
    return unit


def running_service(run: Run) -> str | None:
    """The time service that runs, if one does."""
    # One word for each, in this order, also for units that do not exist.
    states = run(["systemctl", "is-active", *SERVICES]).stdout.split()
    return next((unit for unit, state in zip(SERVICES, states) if state in systemd_units.ACTIVE), None)


def plan_time_service(choice: str, node: Node, run: Run) -> dict[str, object]:
    """What is wanted, and which service runs before anything is changed; nothing is asked where it is unmanaged."""
    if choice == UNMANAGED:
        return {"wanted": None, "running": None}
    unit_of(choice, package_manager(node.etc))
    return {"wanted": choice, "running": running_service(run)}


def install(facts: dict[str, object], node: Node, run: Run, check_mode: bool) -> list[dict[str, str]]:
    """Install and start the choice where no service runs; the steps made (in check mode: to make)."""
    if facts["wanted"] is None or facts["running"] is not None:
        return []
    choice = str(facts["wanted"])
    unit = unit_of(choice, package_manager(node.etc))
    steps = install_missing([choice], "time_sync", run, str(Path(node.etc).parent), check_mode)
    steps.append(value_difference(unit, "not running", "running"))
    if not check_mode:
        systemd_units.enable(run, unit)
        done = run(["systemctl", "start", unit])
        if done.rc != 0 or not systemd_units.is_active(run, unit):
            raise GaudiError(f"time_sync: {unit} does not run: {_reason(unit, run, done.stderr)}.")
    return steps


def _reason(unit: str, run: Run, said: str) -> str:
    if systemd_units.unit_properties(run, unit, "ConditionResult").get("ConditionResult") == "no":
        return (
            "a condition of its unit is not met, as in a container, which has its host's clock; set time_sync to "
            f"{UNMANAGED} there"
        )
    return f"{last_line(said, 'it ended')}; see `journalctl --unit {unit}` on the node"
