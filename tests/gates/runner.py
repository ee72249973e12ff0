# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Runs gates in lanes beside each other, shows each as it ends, and says the sum at the end.

Interrupted, it ends all that the gates started, and removes their nodes.
"""

from __future__ import annotations

import os
import secrets
import shlex
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from .counting import Counts, count, reasons
from .processes import MARK, Surroundings, end_marked, run_command
from .processors import jiffies, spent_since

ROOT = Path(__file__).resolve().parents[2]
LOGS = ROOT / "build" / "test-logs"
TAIL_LINES = 60
# Ansible looks for collections on Python's own path too: what a caller put there would be tested instead of this.
INTRUDERS = ("PYTHONPATH", "PYTHONHOME")
INTERRUPTIONS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# Names the directory in which a gate's test runners leave their results.
JUNIT = "GATE_JUNIT"
# Removing some containers and their network.
UNDO_LIMIT = 300
# More is no matter of a busy machine.
MOST_UNSTEADY = 3


@dataclass(frozen=True)
class Gate:
    """A command that must exit 0. ``needs`` names earlier gates without whose success it cannot say anything.

    Gates of one ``lane`` run one after the other, those of different lanes beside each other. ``undo`` removes what the
    gate leaves on this machine, or would leave if it were interrupted. ``failed_again`` runs what failed, and nothing
    else; where there is none, all of the gate is run a second time. ``is_long``: only in the long run, and by its name.
    """

    name: str
    checks: str
    commands: tuple[tuple[str, ...], ...]
    needs: tuple[str, ...] = ()
    limit: float = 900
    lane: str = "checkout"
    undo: tuple[str, ...] = ()
    failed_again: tuple[tuple[str, ...], ...] = ()
    is_long: bool = False


@dataclass(frozen=True)
class Outcome:
    """How one gate ended; ``verdict`` is ``ok``, ``unsteady``, ``FAILED``, ``not run`` or ``interrupted``."""

    gate: Gate
    verdict: str
    counts: Counts
    seconds: float = 0.0

    @property
    def held(self) -> bool:
        """Maybe at its second run only."""
        return self.verdict in ("ok", "unsteady")


def run(gates: Sequence[Gate], variables: Mapping[str, str] | None = None, again_within: float = 0.0) -> bool:
    """Run ``gates``, each lane in order, keep going after a failure, and return whether all of them held.

    ``variables`` are added to their environment. A gate of which a few tests failed is run again where that would be
    done ``again_within`` seconds from now.
    """
    LOGS.mkdir(parents=True, exist_ok=True)
    started, before = time.monotonic(), jiffies()
    mark = secrets.token_hex(8)
    running: dict[str, Future[Outcome]] = {}
    with _interruption() as stop, ExitStack() as stack:
        around = Surroundings(ROOT, {**_environment(), **(variables or {}), MARK: mark}, stop)
        names = dict.fromkeys(gate.lane for gate in gates)
        lanes = {name: stack.enter_context(ThreadPoolExecutor(max_workers=1)) for name in names}
        for gate in gates:
            # Only earlier gates are waited for, so that no two lanes wait for each other.
            needed = [running[name] for name in gate.needs if name in running]
            running[gate.name] = lanes[gate.lane].submit(_run_after, gate, needed, around, started + again_within)
        outcomes = [future.result() for future in running.values()]
        if stop.is_set():
            _undo(outcomes)
            end_marked(mark)
    for outcome in outcomes:
        if outcome.verdict == "FAILED":
            _show_tail(outcome.gate)
    _write_summary(_summary(outcomes, time.monotonic() - started, spent_since(before)))
    return all(outcome.held for outcome in outcomes)


@contextmanager
def _interruption() -> Iterator[threading.Event]:
    """An event that is set by a signal which would end this process."""
    stop = threading.Event()
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in INTERRUPTIONS}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _undo(outcomes: Sequence[Outcome]) -> None:
    """Remove what the gates that were begun have left; who interrupts again does not interrupt this."""
    around = Surroundings(ROOT, _environment(), threading.Event())
    commands = dict.fromkeys(outcome.gate.undo for outcome in outcomes if outcome.verdict != "not run")
    with (LOGS / "interrupted.log").open("wb") as log:
        for command in filter(None, commands):
            _say(f"interrupted: {' '.join(command)}")
            if why := run_command(command, around, log.fileno(), UNDO_LIMIT):
                _say(f"interrupted: {why}")


def log_of(gate: Gate, run: str = "") -> Path:
    """Where everything that the gate printed is kept; ``run`` is ``again`` for its second one."""
    return LOGS / ".".join(filter(None, (gate.name, run, "log")))


def junit_of(gate: Gate, run: str = "") -> Path:
    """Where the gate's test runners leave their results."""
    return LOGS / "junit" / ".".join(filter(None, (gate.name, run)))


def _run_after(gate: Gate, needed: Sequence[Future[Outcome]], around: Surroundings, again_until: float) -> Outcome:
    broken = [outcome.gate.name for outcome in (future.result() for future in needed) if not outcome.held]
    if broken:
        _say(f"{gate.name:<16} not run: {', '.join(broken)} did not pass")
        return Outcome(gate, "not run", Counts(failed=1))
    if around.stop.is_set():
        return Outcome(gate, "not run", Counts(failed=1))
    outcome = _run(gate, gate.commands, "", around)
    expected = 0.0 if gate.failed_again else outcome.seconds
    few = outcome.verdict == "FAILED" and outcome.counts.failed <= MOST_UNSTEADY
    return _run_again(outcome, around) if few and time.monotonic() + expected < again_until else outcome


def _run_again(first: Outcome, around: Surroundings) -> Outcome:
    """What failed on a busy machine and holds now is shown as such; what fails twice has failed."""
    gate = first.gate
    second = _run(gate, gate.failed_again or gate.commands, "again", around)
    seconds = first.seconds + second.seconds
    if not second.held:
        return Outcome(gate, first.verdict, first.counts, seconds)
    counts = Counts(first.counts.passed, skipped=first.counts.skipped) if gate.failed_again else Counts()
    return Outcome(gate, "unsteady", counts + second.counts, seconds)


def _run(gate: Gate, commands: Sequence[Sequence[str]], run: str, around: Surroundings) -> Outcome:
    _say(f"{gate.name:<16} {gate.checks} ...")
    started = time.monotonic()
    shutil.rmtree(junit_of(gate, run), ignore_errors=True)
    with log_of(gate, run).open("wb") as log:
        succeeded = all(
            _succeeds(command, _counted(around, junit_of(gate, run), number), log.fileno(), gate.limit)
            for number, command in enumerate(commands)
        )
    seconds = time.monotonic() - started
    counts = count(junit_of(gate, run), succeeded)
    verdict = "ok" if succeeded else "interrupted" if around.stop.is_set() else "FAILED"
    _say(f"{gate.name:<16} {verdict}, {counts} in {seconds:.0f} s")
    return Outcome(gate, verdict, counts, seconds)


def _counted(around: Surroundings, junit: Path, number: int) -> Surroundings:
    """With where to leave results: pytest by its own option, wherever a command starts it."""
    options = f"{around.environment.get('PYTEST_ADDOPTS', '')} --junit-xml={shlex.quote(str(junit / f'{number}.xml'))}"
    return replace(around, environment={**around.environment, JUNIT: str(junit), "PYTEST_ADDOPTS": options.strip()})


def _succeeds(command: Sequence[str], around: Surroundings, log: int, limit: float) -> bool:
    os.write(log, f"$ {' '.join(command)}\n".encode())
    if why := run_command(command, around, log, limit):
        os.write(log, f"\n{why}\n".encode())
    return not why


def _environment() -> dict[str, str]:
    """The caller's environment with this checkout's tools and its collection path in front."""
    return {
        **{name: value for name, value in os.environ.items() if name not in INTRUDERS},
        "PATH": f"{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}",
        "PYTHONDONTWRITEBYTECODE": "1",
        # Ranks and trials outnumber the cores: OpenMP's threads that wait by spinning took half of them.
        "OMP_WAIT_POLICY": "PASSIVE",
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
        "ANSIBLE_NOCOLOR": "1",
        "NO_COLOR": "1",
    }


def _show_tail(gate: Gate) -> None:
    lines = log_of(gate).read_text(errors="replace").splitlines()
    _say(f"\n----- {gate.name}: the end of {log_of(gate).relative_to(ROOT)}")
    _say("\n".join(lines[-TAIL_LINES:]))


def _summary(outcomes: Sequence[Outcome], seconds: float, spent: str) -> str:
    rows = [
        f"{outcome.gate.name:<16} {outcome.verdict:<11} {outcome.seconds:>6.0f} s  {outcome.counts}"
        for outcome in outcomes
    ]
    total = sum((outcome.counts for outcome in outcomes), Counts())
    why = [
        f"{outcome.gate.name}: {'passed when run again: ' if outcome.held else ''}{line}"
        for outcome in outcomes
        if outcome.verdict in ("FAILED", "unsteady")
        for line in reasons(junit_of(outcome.gate), log_of(outcome.gate).read_text(errors="replace"))
    ]
    return "\n".join(["", *rows, f"{len(outcomes)} gates in {seconds / 60:.1f} min; {spent}", "", *why, str(total)])


def _write_summary(summary: str) -> None:
    (LOGS / "summary.txt").write_text(summary + "\n")
    _say(summary)


def _say(text: str) -> None:
    # One write, newline and all: lanes speak at the same time.
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
