# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The program on each node of a torchrun job: it keeps the job going, also when the controller is gone.

It starts torchrun for each generation (see ``decision.py``) and ends it with all its children, tells the other
nodes how its own worker group stands, and leaves what it knows in status.json and events.jsonl. SIGTERM ends the whole
job where the file stop_requested is there, and only this node's part in it otherwise.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import sys
import time
from typing import Collection, Sequence

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._job.paths import JobPaths
from gaudi3_scale.core._job.supervision import launch_of
from gaudi3_scale.core._node.commands import run_process
from gaudi3_scale.core._node.process_tree import own_control_group
from gaudi3_scale.supervisor.datagram import Decoder, encode
from gaudi3_scale.supervisor.decision import advance, begin
from gaudi3_scale.supervisor.files import (
    Status,
    Supervision,
    append_event,
    incarnation_after,
    read_supervision,
    write_status,
)
from gaudi3_scale.supervisor.generation import RUN, STOPPED, SUCCEEDED
from gaudi3_scale.supervisor.lease import gone_at
from gaudi3_scale.supervisor.members import is_member, leader
from gaudi3_scale.supervisor.messages import ENDING, RUNNING
from gaudi3_scale.supervisor.network import Network
from gaudi3_scale.supervisor.node import Node
from gaudi3_scale.supervisor.state import Event, Rules, State
from gaudi3_scale.supervisor.usage import Usage
from gaudi3_scale.supervisor.view import linked
from gaudi3_scale.supervisor.vote_file import keep_votes, read_votes
from gaudi3_scale.supervisor.votes import votes_of
from gaudi3_scale.supervisor.watchdog import Watchdog
from gaudi3_scale.supervisor.words import tell

# It goes on while a machine sleeps: a lease is over then.
CLOCK = time.CLOCK_BOOTTIME
LOOK_S = 0.1
# What is new is said at once, and again after these times: a datagram may be lost.
TELL_AGAIN_S = (0.2, 0.5)
STATUS_S = 5.0
LAST_WORDS = 3
EXIT_CODES = {SUCCEEDED: 0, STOPPED: 128 + signal.SIGTERM}


def clock() -> float:
    """Seconds of this node's own clock."""
    return time.clock_gettime(CLOCK)


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
        self._launch = launch_of(given.key)
        self._watchdog = Watchdog(os.environ)
        self._watchdog.gets_on(clock())
        votes = read_votes(given.votes, self._launch, given.rules)
        incarnation = incarnation_after(votes.incarnation if votes else 0, given.status)
        addresses = {name: given.addresses[name] for name in given.rules.names}
        self._network = Network(given.host, addresses, given.control_port)
        self._decoder = Decoder(given.key, len(given.rules.names))
        self._node = Node(given, run_process, lambda: self._watchdog.gets_on(clock()))
        group = own_control_group(JobPaths(given.job).unit)
        self._usage = Usage(f"{given.log_directory}/usage.jsonl", given.device, group, run_process, given.modules)
        self._state = begin(self._rules, incarnation, votes, clock())
        self._kept = votes
        self._unkept: float | None = None
        self._terminated = False
        self._looked = 0.0
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
                self._rest()
                self._turn(*self._network.receive(LOOK_S))
        finally:
            self._end_all()
        for _word in range(LAST_WORDS):
            self._tell(clock())
            time.sleep(LOOK_S / 2)
        self._network.close()
        return EXIT_CODES.get(self._state.exit, 1)

    def _rest(self) -> None:
        """While nothing changes, what comes is looked at together: 63 others say something each second."""
        state = self._state
        is_steady = state.committed.kind == RUN and state.interruption is None and state.report.phase == RUNNING
        if is_steady:
            time.sleep(max(0.0, self._looked + LOOK_S - clock()))

    def _turn(self, datagrams: Sequence[bytes], refused: frozenset[int]) -> None:
        read = (self._decoder.take(datagram) for datagram in datagrams)
        messages = [message for message in read if message is not None]
        now = self._looked = clock()
        facts = self._node.facts(now, self._terminated, refused)
        state, order, events = advance(self._state, self._rules, facts, messages, now)
        if not self._keep(state, now):
            # As if it had not heard what came: it may not act on a vote that it could forget.
            return
        self._state = state
        self._watchdog.gets_on(now, self._gone_at(now) if facts.alive or order.run is not None else math.inf)
        self._tell_if_due(now)
        if order.ask:
            self._tell(now, order.ask, asks=True)
        if order.answer:
            self._tell(now, order.answer)
        self._node.carry_out(order, now)
        for event in events:
            self._note(event)
        self._write(now)
        if facts.alive:
            self._usage.look(facts.generation, now)

    def _keep(self, state: State, now: float) -> bool:
        """Whether the votes of ``state`` are on the disk. Raises GaudiError where they cannot be for long."""
        votes = votes_of(state)
        if votes == self._kept:
            return True
        try:
            keep_votes(self._given.votes, self._launch, votes)
        except OSError as error:
            self._unkept = self._unkept or now
            if now - self._unkept > self._rules.lease / 2:
                raise GaudiError(
                    f"{self._given.votes} cannot be written: {error.strerror}; make room there."
                ) from error
            return False
        self._kept, self._unkept = votes, None
        return True

    def _end_all(self) -> None:
        """Nothing outlives the supervisor, whatever happened to it."""
        end = clock() + self._rules.failure_grace + 30.0
        self._node.abandon(clock())
        while self._node.facts(clock(), self._terminated).alive and clock() < end:
            self._watchdog.gets_on(clock(), self._gone_at(clock()))
            time.sleep(LOOK_S)

    def _gone_at(self, now: float) -> float:
        return gone_at(self._state, self._rules, now)

    def _tell_if_due(self, now: float) -> None:
        state, report = self._state, self._state.report
        said = (
            (state.committed.number, state.promised, state.accepted, state.interruption, state.stop, state.leads),
            (report.phase, report.fit, report.stuck, report.failure, report.leaving),
        )
        if said != self._said:
            self._said = said
            self._due = [now, *(now + later for later in TELL_AGAIN_S)]
        if self._due[0] <= now:
            self._due = [due for due in self._due if due > now] or [now + self._rules.tell_every]
            self._tell(now)

    def _tell(self, now: float, to: Collection[int] | None = None, *, asks: bool = False) -> None:
        self._state, message = tell(self._state, self._rules, now, asks=asks)
        self._network.send(encode(message, self._given.key), to)

    def _note(self, event: Event) -> None:
        # A full disk is no reason to end what runs.
        with contextlib.suppress(OSError):
            sys.stderr.write(f"supervisor: {event.text}\n")
            sys.stderr.flush()
            append_event(self._given.events, event)

    def _write(self, now: float) -> None:
        status = status_of(self._state, self._rules, self._launch, now)
        if status != self._status or now - self._written >= STATUS_S:
            self._status, self._written = status, now
            with contextlib.suppress(OSError):
                write_status(self._given.status, status)


def status_of(state: State, rules: Rules, launch: str, now: float) -> Status:
    """The state for others to read."""
    current = state.committed
    member = is_member(state, rules)
    # Where rank 0 runs, while any does: who follows the job reads its steps there.
    first = current.indexes[0] if current.kind == RUN else leader(state, rules, now)
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
        # Where rank 0 runs, while any does: who follows the job reads its steps there.
        leader=rules.names[current.indexes[0]]
        if current.kind == RUN
        else None
        if first is None
        else rules.names[first],
        restarts=current.restarts,
        alive=tuple(rules.names[index] for index in sorted(near)),
        step=max(steps, default=None),
        outcome=state.exit or (current.outcome or None),
        reason=state.exit_reason or (state.interruption.text if state.interruption else current.reason),
        failure=current.failure,
    )


def _word(state: State, member: bool) -> str:
    if state.exit is not None:
        return "ended"
    if state.report.phase == ENDING or (member and state.interruption is not None):
        return "stopping"
    return "running" if member else "waiting"
