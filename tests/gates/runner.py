# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Runs gates in lanes beside each other, and shows each as it begins and ends.

Interrupted, it ends all that the gates started, and removes their nodes.
"""

from __future__ import annotations

import contextlib
import math
import os
import queue
import secrets
import shlex
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from .counting import Counts, count
from .gate import ANY_LANE, LONG_RUN, Gate, Outcome
from .processes import MARK, Surroundings, end_marked, run_command
from .rotation import Queue

ROOT = Path(__file__).resolve().parents[2]
LOGS = ROOT / "build" / "test-logs"
TAIL_LINES = 60
# Ansible looks for collections on Python's own path too: what a caller put there would be tested instead of this. And
# who keeps nothing compiled compiles all that each process imports.
INTRUDERS = ("PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE")
INTERRUPTIONS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# Names the directory in which a gate's test runners leave their results.
JUNIT = "GATE_JUNIT"
# Removing some containers and their network.
UNDO_LIMIT = 300
# More is no matter of a busy machine.
MOST_UNSTEADY = 3
NAME_WIDTH = 16
# What is played in the time that is left may take so much more of it.
OVERTIME_S = 240.0


@dataclass(frozen=True)
class Plan:
    """What of a run is not a gate. ``variables`` are added to the gates' environment.

    A gate of which a few tests failed is run again where that would be done before ``again_until``, and ``further``
    gates are played while they end before ``further_until``; both are moments of time.monotonic(). ``ended`` is called
    for each gate at its end, one at a time.
    """

    variables: Mapping[str, str] = field(default_factory=dict)
    again_until: float = 0.0
    further: Queue | None = None
    further_until: float = 0.0
    ended: Callable[[Outcome], None] = lambda outcome: None


def run(gates: Sequence[Gate], plan: Plan | None = None) -> list[Outcome]:
    """Run ``gates``, each lane in order, keep going after a failure, and return how each ended.

    What this machine lacks the programs for is left out, with what stands on it.
    """
    plan = plan or Plan()
    LOGS.mkdir(parents=True, exist_ok=True)
    mark = secrets.token_hex(8)
    running: dict[str, Future[Outcome]] = {}
    with _interruption() as stop, ExitStack() as stack:
        around = Surroundings(ROOT, {**_environment(), **plan.variables, MARK: mark}, stop)
        play = _Player(around, plan, len(gates))
        names = dict.fromkeys(gate.lane for gate in gates)
        lanes = {name: stack.enter_context(ThreadPoolExecutor(max_workers=1)) for name in names}
        last = [gate for gate in gates if gate.is_last]
        for gate in gates:
            # Only earlier gates are waited for, so that no two lanes wait for each other.
            needed = [running[name] for name in (*gate.needs, *gate.after) if name in running]
            if gate.lane == ANY_LANE:
                running[gate.name] = play.put(gate, needed)
            elif gate not in last:
                running[gate.name] = lanes[gate.lane].submit(play.after, gate, needed)
        for lane in lanes.values():
            lane.submit(play.pooled)
        more = [lane.submit(play.further, name, dict(running)) for name, lane in lanes.items()]
        for gate in last:
            running[gate.name] = lanes[gate.lane].submit(play.after, gate, [])
        outcomes = [future.result() for future in running.values()]
        outcomes += [outcome for future in more for outcome in future.result()]
        if stop.is_set():
            _undo(outcomes)
            end_marked(mark)
    for outcome in outcomes:
        if outcome.verdict == "FAILED":
            _show_tail(outcome.gate)
    return outcomes


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
    commands = dict.fromkeys(
        outcome.gate.undo for outcome in outcomes if outcome.verdict not in ("not run", "left out")
    )
    with (LOGS / "interrupted.log").open("wb") as log:
        for command in filter(None, commands):
            _say(f"interrupted: {' '.join(command)}")
            if why := run_command(command, around, log.fileno(), UNDO_LIMIT):
                _say(f"interrupted: {why}")


def log_of(gate: Gate, run: str = "") -> Path:
    """Where everything that the gate printed is kept; ``run`` is ``again`` for its second one."""
    return LOGS / ".".join(filter(None, (gate.name, _form(gate), run, "log")))


def junit_of(gate: Gate, run: str = "") -> Path:
    """Where the gate's test runners leave their results."""
    return LOGS / "junit" / ".".join(filter(None, (gate.name, _form(gate), run)))


def _form(gate: Gate) -> str:
    return LONG_RUN if gate.run == LONG_RUN else ""


class _Player:
    """Plays one gate after the other in its lane, and shows how many are left."""

    def __init__(self, around: Surroundings, plan: Plan, number: int) -> None:
        self._around, self._plan = around, plan
        self._left, self._lock = number, threading.Lock()
        self._pool: queue.SimpleQueue[tuple[Gate, Sequence[Future[Outcome]], Future[Outcome]]] = queue.SimpleQueue()

    def after(self, gate: Gate, needed: Sequence[Future[Outcome]]) -> Outcome:
        """Run a gate once those are done that it waits for."""
        before = [future.result() for future in needed]
        absent = [outcome for outcome in before if outcome.verdict == "left out"]
        lacks = missing(gate) or (f"{absent[0].gate.name} was left out" if absent else "")
        if lacks:
            return self._ended(Outcome(gate, "left out", Counts(), reason=lacks))
        broken = [outcome.gate.name for outcome in before if not outcome.held]
        if broken or self._around.stop.is_set():
            why = f"{', '.join(broken)} did not pass" if broken else "interrupted"
            return self._ended(Outcome(gate, "not run", Counts(failed=1), reason=why))
        return self._ended(self._steadily(gate))

    def put(self, gate: Gate, needed: Sequence[Future[Outcome]]) -> Future[Outcome]:
        """Have the gate run by the first lane that has nothing else to do."""
        future: Future[Outcome] = Future()
        self._pool.put((gate, needed, future))
        return future

    def pooled(self) -> None:
        """Run what no lane has taken yet, one after the other."""
        with contextlib.suppress(queue.Empty):
            while True:
                gate, needed, future = self._pool.get_nowait()
                try:
                    future.set_result(self.after(gate, needed))
                except BaseException as error:
                    future.set_exception(error)
                    raise

    def further(self, lane: str, running: Mapping[str, Future[Outcome]]) -> list[Outcome]:
        """Gates of the queue while there is time for another one that no other lane of ``running`` still plays."""
        outcomes: list[Outcome] = []
        if self._plan.further is None:
            return outcomes
        while not self._around.stop.is_set():
            playing = [name for name, future in running.items() if not future.done()]
            gate = self._plan.further.take(lane, self._plan.further_until - time.monotonic(), playing)
            if gate is None:
                break
            outcomes.append(self._ended(self._in_time(gate), is_further=True))
        return outcomes

    def _in_time(self, gate: Gate) -> Outcome:
        """One that takes longer than was expected of it is ended, and nothing is known of it."""
        deadline = self._plan.further_until + OVERTIME_S
        outcome = _run(gate, gate.commands, "", self._around, deadline)
        if outcome.verdict != "FAILED":
            return outcome
        if time.monotonic() >= deadline:
            return replace(outcome, verdict="no time", counts=Counts())
        is_new = self._plan.further is not None and gate.name in self._plan.further.new
        return replace(outcome, is_new=is_new, counts=Counts(outcome.counts.passed) if is_new else outcome.counts)

    def _steadily(self, gate: Gate) -> Outcome:
        outcome = _run(gate, gate.commands, "", self._around)
        expected = 0.0 if gate.failed_again else outcome.seconds
        few = outcome.verdict == "FAILED" and outcome.counts.failed <= MOST_UNSTEADY
        in_time = time.monotonic() + expected < self._plan.again_until
        return _run_again(outcome, self._around) if few and in_time else outcome

    def _ended(self, outcome: Outcome, *, is_further: bool = False) -> Outcome:
        with self._lock:
            self._left -= 0 if is_further else 1
            left = f"  [{self._left} left]" if self._left else ""
            self._plan.ended(outcome)
        said = outcome.reason or f"{outcome.counts} in {outcome.seconds:.0f} s"
        _say(f"{outcome.gate.name:<{NAME_WIDTH}} {outcome.verdict}, {said}{left}")
        return outcome


def processor_flags(place: Path = Path("/proc/cpuinfo")) -> set[str]:
    """What this machine's processor can do, in Linux's words."""
    return set(place.read_text(encoding="utf-8").split()) if place.exists() else set()


def missing(gate: Gate) -> str:
    """What this machine lacks for the gate, in words; empty where nothing."""
    absent = [name for name in gate.programs if shutil.which(name, path=_environment()["PATH"]) is None]
    if absent:
        return f"no {', '.join(absent)} here"
    lacking = [name for name in gate.processor if name not in processor_flags()]
    if lacking:
        return f"a processor with {', '.join(lacking)} is needed"
    return "only root can, since nodes are containers" if gate.is_root and os.geteuid() != 0 else ""


def _run_again(first: Outcome, around: Surroundings) -> Outcome:
    """What failed on a busy machine and holds now is shown as such; what fails twice has failed."""
    gate = first.gate
    _say(f"{gate.name:<{NAME_WIDTH}} {first.counts} in {first.seconds:.0f} s, and once more ...")
    second = _run(gate, gate.failed_again or gate.commands, "again", around)
    seconds = first.seconds + second.seconds
    if not second.held:
        return Outcome(gate, first.verdict, first.counts, seconds)
    counts = Counts(first.counts.passed, skipped=first.counts.skipped) if gate.failed_again else Counts()
    return Outcome(gate, "unsteady", counts + second.counts, seconds)


def _run(
    gate: Gate, commands: Sequence[Sequence[str]], run: str, around: Surroundings, deadline: float = math.inf
) -> Outcome:
    _say(f"{gate.name:<{NAME_WIDTH}} {gate.checks} ...")
    started = time.monotonic()
    shutil.rmtree(junit_of(gate, run), ignore_errors=True)
    mine = replace(around, environment={**around.environment, **gate.variables})
    with log_of(gate, run).open("wb") as log:
        succeeded = all(
            _succeeds(
                command,
                _counted(mine, junit_of(gate, run), number),
                log.fileno(),
                min(gate.limit, max(0.0, deadline - time.monotonic())),
            )
            for number, command in enumerate(commands)
        )
    seconds = time.monotonic() - started
    counts = count(junit_of(gate, run), succeeded)
    verdict = "ok" if succeeded else "interrupted" if around.stop.is_set() else "FAILED"
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
        # Beside the sources, which are shipped and copied: a fresh .venv has none either, and each of some thousand
        # processes would compile all that it imports.
        "PYTHONPYCACHEPREFIX": str(ROOT / "build" / "pycache"),
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


def _say(text: str) -> None:
    # One write, newline and all: lanes speak at the same time.
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
