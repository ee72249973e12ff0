# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The program on each node of a torchrun job: it keeps the job going, also when the controller is gone.

It starts torchrun for each generation (see ``decision.py``) and ends it with all its children, tells the other
nodes how its own share stands, and leaves what it knows in status.json and events.jsonl. SIGTERM ends the whole job
where the file stop_requested is there, and only this node's part in it otherwise.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from typing import Sequence

from ..errors import GaudiError
from ..job.paths import JobPaths
from ..node.commands import run_process
from ..node.process_tree import own_control_group
from .decision import advance, begin
from .files import Status, Supervision, append_event, incarnation_of, read_supervision, write_status
from .generation import STOPPED, SUCCEEDED
from .members import is_member, leader
from .messages import ENDING, decode, encode, launch_of
from .network import Network
from .node import Node
from .state import Event, Rules, State, message_of
from .usage import Usage
from .view import heard_ages, linked

LOOK_S = 0.1
# What is new is said at once, and again after these times: a datagram may be lost.
TELL_AGAIN_S = (0.2, 0.5)
STATUS_S = 5.0
LAST_WORDS = 3
EXIT_CODES = {SUCCEEDED: 0, STOPPED: 128 + signal.SIGTERM}


def main(argv: Sequence[str]) -> int:
    """``argv``: the path of supervision.json. Returns the exit status."""
    try:
        if len(argv) != 1:
            raise GaudiError("give one argument, the path of supervision.json.")
        given = read_supervision(argv[0])
        return Loop(given).run()
    except GaudiError as error:
        sys.stderr.write(f"{error}\n")
        return 2


class Loop:
    """What lies between the decisions and the node, the network and the files."""

    def __init__(self, given: Supervision) -> None:
        self._given, self._rules = given, given.rules
        incarnation, voter = incarnation_of(given.status, given.key)
        self._network = Network(given.host, given.addresses, given.control_port)
        self._node = Node(given, run_process)
        group = own_control_group(JobPaths(given.job).unit)
        self._usage = Usage(f"{given.log_directory}/usage.jsonl", given.device, group, run_process)
        self._state = begin(self._rules, incarnation, voter, time.monotonic())
        self._terminated = False
        self._sequence = 0
        self._said: object = None
        self._due = [0.0]
        self._status: Status | None = None
        self._written = 0.0
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._terminate)
        signal.set_wakeup_fd(self._network.wake.fileno(), warn_on_full_buffer=False)

    def _terminate(self, _number: int, _frame: object) -> None:
        self._terminated = True

    def run(self) -> int:
        """Until this node has no part in the job any more."""
        try:
            while self._state.exit is None:
                self._turn(self._network.receive(LOOK_S))
        finally:
            self._end_all()
        for _word in range(LAST_WORDS):
            self._tell(time.monotonic())
            time.sleep(LOOK_S / 2)
        self._network.close()
        return EXIT_CODES.get(self._state.exit, 1)

    def _turn(self, datagrams: Sequence[bytes]) -> None:
        messages = [message for message in (decode(one, self._given.key) for one in datagrams) if message is not None]
        now = time.monotonic()
        facts = self._node.facts(now, self._terminated)
        self._state, order, events = advance(self._state, self._rules, facts, messages, now)
        self._tell_if_due(now)
        self._node.carry_out(order, now)
        for event in events:
            self._note(event)
        self._write(now)
        if facts.alive:
            self._usage.look(facts.generation, now)

    def _end_all(self) -> None:
        """Nothing outlives the supervisor, whatever happened to it."""
        end = time.monotonic() + self._rules.failure_grace + 30.0
        self._node.abandon(time.monotonic())
        while self._node.facts(time.monotonic(), self._terminated).alive and time.monotonic() < end:
            time.sleep(LOOK_S)

    def _tell_if_due(self, now: float) -> None:
        state, report = self._state, self._state.report
        said = (
            (state.committed.number, state.promised, state.accepted, state.halt, state.stop),
            (report.phase, report.fit, report.stuck, report.failure, report.leaving),
        )
        if said != self._said:
            self._said = said
            self._due = [now, *(now + later for later in TELL_AGAIN_S)]
        if self._due[0] <= now:
            self._due = [due for due in self._due if due > now] or [now + self._rules.tell_every]
            self._tell(now)

    def _tell(self, now: float) -> None:
        self._sequence += 1
        ages = heard_ages(self._state.peers, len(self._rules.names), now)
        self._network.send(encode(message_of(self._state, self._rules, self._sequence, ages), self._given.key))

    def _note(self, event: Event) -> None:
        # A full disk is no reason to end what runs.
        with contextlib.suppress(OSError):
            sys.stderr.write(f"supervisor: {event.text}\n")
            sys.stderr.flush()
            append_event(self._given.events, event)

    def _write(self, now: float) -> None:
        status = status_of(self._state, self._rules, launch_of(self._given.key), now)
        if status != self._status or now - self._written >= STATUS_S:
            self._status, self._written = status, now
            with contextlib.suppress(OSError):
                write_status(self._given.status, status)


def status_of(state: State, rules: Rules, launch: str, now: float) -> Status:
    """The state for others to read."""
    current = state.committed
    member = is_member(state, rules)
    first = leader(state, rules, now)
    now_there = [peer.message for peer in state.peers.values() if peer.message.committed.number == current.number]
    reports = [state.report, *(message.report for message in now_there)]
    steps = [step for report in reports for step in report.steps if step is not None]
    near = linked(state.peers, rules.index, now, rules.lost_after)
    return Status(
        launch=launch,
        incarnation=state.incarnation,
        state=_word(state, member),
        generation=current.number,
        members=tuple(rules.names[index] for index in current.indexes),
        node_rank=current.indexes.index(rules.index) if member else None,
        leader=None if first is None else rules.names[first],
        restarts=current.restarts,
        alive=tuple(rules.names[index] for index in sorted(near)),
        step=max(steps, default=None),
        outcome=state.exit or (current.outcome or None),
        reason=state.exit_reason or (state.halt.text if state.halt else current.reason),
        failure=current.failure,
    )


def _word(state: State, member: bool) -> str:
    if state.exit is not None:
        return "ended"
    if state.report.phase == ENDING or (member and state.halt is not None):
        return "stopping"
    return "running" if member else "waiting"
