# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A node's qualification: begun as a unit of systemd's that outlives whoever began it, looked at, and ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._cards.hpu_facts import HpuFacts
from .._errors import GaudiError
from .._node.commands import Run, last_line
from .._node.kernel_modules import Holder
from .._node.root_program import PYTHON, WITH_VARIABLES, require_roots, root_python
from .._node.systemd_units import has_processes
from .files import Files
from .matrix import BURN_IN
from .plan import Options, plan
from .results import ABSENT, ENDED, INTERRUPTED, RUNNING
from .unit import CONFINED, LIMITS

UNIT = "gaudi3-scale-qualification.service"
_POLL_S = 0.5
# A burn-in is nobody's hurry.
_LOW = ("--property=Nice=19", "--property=CPUSchedulingPolicy=idle", "--property=IOSchedulingClass=idle")


@dataclass(frozen=True)
class How:
    """``restart``: end what runs, and begin anew. ``detach``: nobody waits for the end."""

    restart: bool = False
    detach: bool = False


def start(
    options: Options,
    facts: HpuFacts,
    holders: list[Holder],
    how: How,
    run: Run,
    check_mode: bool,
    files: Files,
) -> dict[str, Any]:
    """Begin, or go on with what was cut off; raises GaudiError where it cannot be."""
    wanted = plan(options, facts)
    known = files.read(files.plan)
    if has_processes(run, UNIT):
        if known.get("key") == wanted["key"] and not how.restart:
            if not how.detach:
                _will_be_seen(wanted, known, check_mode, files)
            return {"changed": False, "plan": wanted}
        if not how.restart:
            raise GaudiError(
                f"A qualification of level {known.get('level')} runs on this node; wait for it to finish, or set "
                "restart."
            )
    elif _is_to_be_taken(wanted, known, how, files):
        _will_be_seen(wanted, known, check_mode, files)
        return {"changed": False, "plan": wanted}
    elif holders:
        raise GaudiError(_held(holders))
    if not check_mode:
        python = _roots_python(options)
        stop(run)
        # What was cut off goes on; what has ended, or was something else, is measured anew.
        if how.restart or known.get("key") != wanted["key"] or _has_ended(wanted, files):
            files.forget(files.results, files.current, files.verdict)
        Path(files.directory).mkdir(parents=True, exist_ok=True)
        files.write(files.plan, {**wanted, "detached": how.detach})
        _begin(options, python, run, files)
    return {"changed": True, "plan": wanted}


def _has_ended(wanted: Mapping[str, Any], files: Files) -> bool:
    return bool(files.read(files.verdict).get("key") == wanted["key"])


def _is_to_be_taken(wanted: Mapping[str, Any], known: Mapping[str, Any], how: How, files: Files) -> bool:
    """Whether the same tests have ended that nobody waited for, and of which nobody has seen the end."""
    detached = known.get("key") == wanted["key"] and bool(known.get("detached"))
    return detached and _has_ended(wanted, files) and not how.restart and not how.detach


def _will_be_seen(wanted: Mapping[str, Any], known: Mapping[str, Any], check_mode: bool, files: Files) -> None:
    """Whoever asks now waits for the end: what comes after that is measured anew."""
    if known.get("detached") and not check_mode:
        files.write(files.plan, wanted)


def stop(run: Run) -> bool:
    """End it with all its processes; whether there were any."""
    if not has_processes(run, UNIT):
        return False
    done = run(["systemctl", "stop", UNIT])
    if done.rc != 0:
        raise GaudiError(f"{UNIT} cannot be stopped: {last_line(done.stderr)}; see `systemctl status {UNIT}`.")
    return True


def look(
    wait: bool,
    timeout: float,
    run: Run,
    files: Files,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> dict[str, Any]:
    """How it stands; with ``wait`` once it has ended, or ``timeout`` seconds are over."""
    deadline = clock() + timeout
    while wait and clock() < deadline and has_processes(run, UNIT):
        sleep(_POLL_S)
    wanted, verdict = files.read(files.plan), files.read(files.verdict)
    tests = files.read_results()
    planned = files.planned()
    return {
        "changed": False,
        "state": _state(wanted, verdict, has_processes(run, UNIT)),
        "level": str(wanted.get("level", "")),
        "release": str(wanted.get("release", "")),
        "generation": str(wanted.get("generation", "")),
        "current": str(files.read(files.current).get("test", "")),
        "done": len(tests),
        "total": len(planned),
        "tests": tests,
        "left_out": wanted.get("left_out", {}),
        "verdict": verdict,
    }


def _state(wanted: Mapping[str, Any], verdict: Mapping[str, Any], runs: bool) -> str:
    if runs:
        return RUNNING
    if not wanted:
        return ABSENT
    return ENDED if verdict.get("key") == wanted.get("key") else INTERRUPTED


def _held(holders: list[Holder]) -> str:
    listed = ", ".join(str(holder) for holder in holders[:3])
    more = f" and {len(holders) - 3} more" if len(holders) > 3 else ""
    return (
        f"The cards are held by {listed}{more}, and its tests need them alone; wait for it to finish, or "
        "drain the node."
    )


def _begin(options: Options, python: str, run: Run, files: Files) -> None:
    about = ["--unit", UNIT, "--description", "gaudi3.scale: qualification of this node", "--collect"]
    limits = [f"--property={line}" for line in (*LIMITS, *CONFINED, f"EnvironmentFile=-{options.flags}")]
    low = _LOW if options.level == BURN_IN else ()
    program = [python, "-I", "-m", "gaudi3_scale.qualify", "--directory", files.directory]
    done = run(["systemd-run", "--quiet", *about, *limits, *low, "--", *program])
    if done.rc != 0:
        raise GaudiError(
            f"The qualification cannot be started: {last_line(done.stderr)}; see `systemctl status {UNIT}`."
        )


def _roots_python(options: Options) -> str:
    """What the unit runs; the tests need root, so that what another account could have written is refused."""
    python = root_python(options.venv)
    if not Path(python).exists():
        raise GaudiError(f"{options.venv} has no {PYTHON}; run venv.yml first.")
    require_roots(options.flags, "flags", WITH_VARIABLES)
    return python
