# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Runs gates in lanes beside each other, shows each as it ends, and says the sum at the end."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

from .counting import Counts, count, reasons

ROOT = Path(__file__).resolve().parents[2]
LOGS = ROOT / "build" / "test-logs"
TAIL_LINES = 60
# Ansible looks for collections on Python's own path too: what a caller put there would be tested instead of this.
INTRUDERS = ("PYTHONPATH", "PYTHONHOME")


@dataclass(frozen=True)
class Gate:
    """A command that must exit 0. ``needs`` names earlier gates without whose success it cannot say anything.

    Gates of one ``lane`` run one after the other, those of different lanes beside each other.
    """

    name: str
    checks: str
    commands: tuple[tuple[str, ...], ...]
    needs: tuple[str, ...] = ()
    limit: float = 900
    lane: str = "checkout"


@dataclass(frozen=True)
class Outcome:
    """How one gate ended; ``verdict`` is ``ok``, ``FAILED`` or ``not run``."""

    gate: Gate
    verdict: str
    counts: Counts
    seconds: float = 0.0


def run(gates: Sequence[Gate]) -> bool:
    """Run ``gates``, each lane in order, keep going after a failure, and return whether all of them held."""
    LOGS.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    running: dict[str, Future[Outcome]] = {}
    with ExitStack() as stack:
        names = dict.fromkeys(gate.lane for gate in gates)
        lanes = {name: stack.enter_context(ThreadPoolExecutor(max_workers=1)) for name in names}
        for gate in gates:
            # Only earlier gates are waited for, so that no two lanes wait for each other.
            needed = [running[name] for name in gate.needs if name in running]
            running[gate.name] = lanes[gate.lane].submit(_run_after, gate, needed)
    outcomes = [future.result() for future in running.values()]
    for outcome in outcomes:
        if outcome.verdict == "FAILED":
            _show_tail(outcome.gate)
    _write_summary(_summary(outcomes, time.monotonic() - started))
    return all(outcome.verdict == "ok" for outcome in outcomes)


def log_of(gate: Gate) -> Path:
    """Where everything that the gate printed is kept."""
    return LOGS / f"{gate.name}.log"


def _run_after(gate: Gate, needed: Sequence[Future[Outcome]]) -> Outcome:
    broken = [outcome.gate.name for outcome in (future.result() for future in needed) if outcome.verdict != "ok"]
    if broken:
        _say(f"{gate.name:<16} not run: {', '.join(broken)} did not pass")
        return Outcome(gate, "not run", Counts(failed=1))
    return _run(gate)


def _run(gate: Gate) -> Outcome:
    _say(f"{gate.name:<16} {gate.checks} ...")
    started = time.monotonic()
    with log_of(gate).open("wb") as log:
        succeeded = all(_succeeds(command, log.fileno(), gate.limit) for command in gate.commands)
    seconds = time.monotonic() - started
    counts = count(log_of(gate).read_text(errors="replace"), succeeded)
    verdict = "ok" if succeeded else "FAILED"
    _say(f"{gate.name:<16} {verdict}, {counts} in {seconds:.0f} s")
    return Outcome(gate, verdict, counts, seconds)


def _succeeds(command: Sequence[str], log: int, limit: float) -> bool:
    os.write(log, f"$ {' '.join(command)}\n".encode())
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        os.write(log, f"\nStopped: no end after {limit:.0f} s.\n".encode())
        return False
    except FileNotFoundError as error:
        os.write(log, f"\n{error}\n".encode())
        return False
    return done.returncode == 0


def _environment() -> dict[str, str]:
    """The caller's environment with this checkout's tools and its collection path in front."""
    return {
        **{name: value for name, value in os.environ.items() if name not in INTRUDERS},
        "PATH": f"{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
        "ANSIBLE_NOCOLOR": "1",
        "NO_COLOR": "1",
    }


def _show_tail(gate: Gate) -> None:
    lines = log_of(gate).read_text(errors="replace").splitlines()
    _say(f"\n----- {gate.name}: the end of {log_of(gate).relative_to(ROOT)}")
    _say("\n".join(lines[-TAIL_LINES:]))


def _summary(outcomes: Sequence[Outcome], seconds: float) -> str:
    rows = [
        f"{outcome.gate.name:<16} {outcome.verdict:<8} {outcome.seconds:>6.0f} s  {outcome.counts}"
        for outcome in outcomes
    ]
    total = sum((outcome.counts for outcome in outcomes), Counts())
    failed = [outcome.gate for outcome in outcomes if outcome.verdict == "FAILED"]
    why = [f"{gate.name}: {line}" for gate in failed for line in reasons(log_of(gate).read_text(errors="replace"))]
    return "\n".join(["", *rows, f"{len(outcomes)} gates in {seconds / 60:.1f} min", "", *why, str(total)])


def _write_summary(summary: str) -> None:
    (LOGS / "summary.txt").write_text(summary + "\n")
    _say(summary)


def _say(text: str) -> None:
    # One write, newline and all: lanes speak at the same time.
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
