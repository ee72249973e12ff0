# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Supervisors on a simulated network, with simulated clocks, disks and ranks; every decision is the shipped one.

The invariants are checked at each look, so a run that breaks one fails where it does.
"""

from __future__ import annotations

import heapq
import random
from typing import Callable

from gaudi3_scale.supervisor.generation import RUN
from gaudi3_scale.supervisor.lease import gone_at
from gaudi3_scale.supervisor.state import Facts, Rules
from tests.unit.supervised_network.core import Supervisor, blank_disk
from tests.unit.supervised_network.invariants import History
from tests.unit.supervised_network.nodes import Node, Tree
from tests.unit.supervised_network.wire import Wire

LOOK_S = 0.25
# So long after the last change everything is looked at as often; later half as often, and when all has been quiet for
# so long that no lease or loss is pending, at every word.
BUSY_S, SETTLED_S = 1.5, 20.0
SLOW_LOOK_S, SETTLED_LOOK_S = 0.5, 1.0
# What is new is said again after this time: a datagram may be lost.
TELL_AGAIN_S = (0.2, 0.5)
LAST_WORDS = 3
CLOCKS_APART_S, CLOCK_RATE = 1e5, 1e-4
# What a node needs from power-on to its first supervisor.
BOOTED_S = 5.0
STEP_S = 0.5
SAVED_EVERY = 5
# Ranks of a generation that are not all there within this time fail, or wait for ever.
MEET_S = 5.0
# When ranks fail that have lost a peer.
HURT_S = (0.5, 1.0, 2.0, 1e9)
# systemd starts a supervisor again so long after it was killed.
RESTART_S = 0.1
REFUSED_EVERY_S = 1.0


class Refusal:
    """A kernel's word that nobody listens."""


REFUSAL = Refusal()


class Simulation:
    """``hosts`` and ``spares``, then a witness where there is one; other options are those of Rules.

    ``finish_after``: step after which ranks end well; ``deaf``: share of trees that take all of their grace.
    ``silent``: the program makes steps and tells of none. ``real_bytes``: messages are made datagrams and read again.
    ``steady``: looks are equally far apart; otherwise farther where nothing happens.

    Ranks begin where the last checkpoint is (``saved``), of which there is one every fifth step and at a planned end.
    """

    def __init__(
        self,
        hosts=4,
        spares=1,
        *,
        seed=0,
        loss=0.0,
        delay=0.05,
        finish_after=None,
        deaf=0.3,
        silent=False,
        witness=False,
        real_bytes=False,
        steady=True,
        say: Callable[[str], None] | None = None,
        **rules,
    ):
        count = hosts + spares + int(witness)
        names = tuple(f"n{number}" for number in range(count))
        given = {"min_nodes": hosts, "straggler_ratio": 1.3, **rules}
        if witness:
            given["witness"] = count - 1
        self.rules = {index: Rules(names=names, hosts=hosts, index=index, **given) for index in range(count)}
        self.random = random.Random(seed)
        self.wire = Wire(self.random, delay, loss)
        self.codec = None
        if real_bytes:
            from tests.unit.supervised_network.codec import Codec

            self.codec = Codec(count)
        self.deaf, self.finish_after, self.silent, self.steady = deaf, finish_after, silent, steady
        self.watchdog = True
        self.say = say
        self.now = 0.0
        self.changed = 0.0
        self.every = {index: Node(index) for index in self.rules}
        self.history = History(self.rules[0])
        self.exits: dict[int, tuple] = {}
        self.saved = 0
        self.busy: dict[int, float] = {}
        self.stuck_step = None
        # What a rank that dies leaves beside the rest.
        self.last_words = {}
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self._refused: dict[tuple[int, int], float] = {}
        for index in self.rules:
            self.boot(index)

    def tells(self, text: str) -> None:
        self.changed = self.now
        if self.say is not None:
            self.say(f"{self.now:8.2f}  {text}")

    # What can happen

    def boot(self, index, lost=False):
        """Power on, where it was off; a supervisor is started. ``lost``: its votes are."""
        node = self.every[index]
        if lost:
            node.disk = None
        if not node.up:
            # It counts from its own power-on, which was before the simulation begins or just now.
            node.skew = self.random.choice([BOOTED_S, self.random.uniform(BOOTED_S, CLOCKS_APART_S)]) - self.now
            node.rate = 1 + self.random.uniform(-CLOCK_RATE, CLOCK_RATE)
            node.fit, node.unfit = True, ""
            node.frozen = False
        node.up = True
        self.start_supervisor(index)

    def start_supervisor(self, index):
        node = self.every[index]
        if not node.up or node.supervisor is not None:
            return
        node.incarnation += 1
        if node.incarnation == 1:
            node.disk = blank_disk(self.rules[index])
        node.supervisor = Supervisor(self.rules[index], node.incarnation, node.disk, node.clock(self.now))
        node.terminated = node.stop_requested = node.stopped = False
        node.tree, node.said, node.due, node.events = None, None, [0.0], []
        node.overdue = self.now + self.rules[index].lease
        self.exits.pop(index, None)
        self.tells(f"n{index}: supervisor {node.incarnation} starts")

    def crash(self, index, forgets=False):
        """The node is gone with all on it; ``forgets``: its disk too."""
        node = self.every[index]
        node.up = node.frozen = node.stopped = False
        node.supervisor = node.tree = None
        node.buffer.clear()
        node.refused.clear()
        if forgets:
            node.disk = None
        self.tells(f"n{index}: crash{' without its votes' if forgets else ''}")

    def kill_supervisor(self, index, again=RESTART_S):
        """With its ranks, which systemd ends (KillMode=mixed); it is back ``again`` seconds later. None: never."""
        node = self.every[index]
        if node.supervisor is None:
            return
        node.supervisor, node.stopped = None, False
        node.buffer.clear()
        node.refused.clear()
        if node.tree is not None and node.tree.alive:
            node.tree.alive = False
        self.tells(f"n{index}: supervisor killed")
        if again is not None:
            self.after(again, lambda: self.start_supervisor(index))

    def freeze(self, index, seconds=None):
        if self.every[index].up:
            self.every[index].frozen = True
            self.tells(f"n{index}: frozen")
            if seconds is not None:
                self.after(seconds, lambda: self.thaw(index))

    def thaw(self, index):
        node = self.every[index]
        if not node.frozen:
            return
        node.frozen, node.woke = False, self.now
        self.tells(f"n{index}: wakes")
        # Whether systemd or the supervisor looks first is open.
        if self._is_overdue(node) and self.random.random() < 0.5:
            self.kill_supervisor(index)

    def _is_overdue(self, node):
        """Whether systemd's watchdog ends its supervisor."""
        there = self.watchdog and node.supervisor is not None
        return there and self.now >= node.overdue

    def stop_supervisor(self, index, seconds=None):
        """It alone stands still, as with SIGSTOP or a disk that hangs."""
        if index in self.nodes:
            self.every[index].stopped = True
            self.tells(f"n{index}: supervisor stopped")
            if seconds is not None:
                self.after(seconds, lambda: self.continue_supervisor(index))

    def continue_supervisor(self, index):
        self.every[index].stopped = False
        self.tells(f"n{index}: supervisor goes on, if it is there")

    def kill_rank(self, index):
        node = self.nodes.get(index)
        if node and node.tree and node.tree.alive and node.tree.died is None and node.tree.asked_to_end is None:
            node.tree.died = self.now
            self.tells(f"n{index}: a rank dies")
            return True
        return False

    def partition(self, *groups):
        """Word goes only within a group."""
        group_of = {index: number for number, group in enumerate(groups) for index in group}
        pairs = ((a, b) for a in self.rules for b in self.rules if a != b)
        self.cut.update((a, b) for a, b in pairs if group_of.get(a) != group_of.get(b))
        self.tells(f"only within {groups}")

    def cut_one_way(self, source, target):
        self.cut.add((source, target))
        self.tells(f"cut n{source} -> n{target}")

    def cut_pair(self, one, other):
        self.cut.update([(one, other), (other, one)])
        self.tells(f"cut n{one} - n{other}")

    def heal(self):
        self.wire.mend()
        self.tells("all links whole")

    def terminate(self, index, stop=False):
        if index in self.nodes:
            self.every[index].terminated = True
            self.every[index].stop_requested = stop
            self.tells(f"n{index}: SIGTERM{' with stop_requested' if stop else ''}")

    def after(self, seconds, action):
        """Something that happens later."""
        self._count += 1
        heapq.heappush(self._agenda, (self.now + seconds, self._count, action))

    def forget_agenda(self):
        self._agenda.clear()

    # Time

    def run(self, seconds, until=None):
        """Go on for so long, or until something holds; returns the seconds it took."""
        begun = self.now
        while self.now < begun + seconds:
            if until is not None and until():
                break
            self.look(begun + seconds)
        return self.now - begun

    def look(self, end=None):
        seconds = LOOK_S if self.steady else self._look_s()
        if self._agenda and not self.steady:
            seconds = max(LOOK_S, min(seconds, self._agenda[0][0] - self.now))
        self.now += seconds
        while self._agenda and self._agenda[0][0] <= self.now:
            heapq.heappop(self._agenda)[2]()
        self._deliver()
        for node in self.every.values():
            if node.up and not node.frozen:
                self._live(node)
        for index in self.random.sample(sorted(self.every), len(self.every)):
            node = self.every[index]
            if node.takes_turns():
                self._turn(node)
            elif self._is_overdue(node) and not node.frozen:
                self.kill_supervisor(index)
        self.history.check_alive(self.every.values(), self.now, seconds)

    def _look_s(self):
        quiet = self.now - self.changed
        return LOOK_S if quiet < BUSY_S else SLOW_LOOK_S if quiet < SETTLED_S else SETTLED_LOOK_S

    def _deliver(self):
        for source, target, what in self.wire.arrived(self.now):
            node = self.every[target]
            if not node.up:
                continue
            if what is REFUSAL:
                if node.supervisor is not None:
                    node.refused.add(source)
            elif node.supervisor is not None:
                node.hold((source, what))
            elif not node.frozen and self._refused.get((target, source), -1e9) + REFUSED_EVERY_S <= self.now:
                self._refused[target, source] = self.now
                self.wire.send(self.now, target, source, REFUSAL)

    def _turn(self, node):
        index, now = node.index, node.clock(self.now)
        messages = [what if self.codec is None else self.codec.read(index, what) for _source, what in node.buffer]
        node.buffer.clear()
        before = node.state.interruption
        order, events = node.supervisor.look(self._facts(node), [said for said in messages if said is not None], now)
        node.refused.clear()
        node.disk = node.supervisor.disk
        node.overdue = self.now + self._watched_s(node, order, now)
        if self.history.learned(index, node.state.committed):
            self.tells(f"n{index}: {node.state.committed}")
        if node.state.interruption is not before and node.state.interruption is not None:
            self.tells(f"n{index}: {node.state.interruption}")
        node.events += events
        self._send(node, order)
        self._carry_out(node, order)
        if node.state.exit is not None:
            assert node.tree is None or not node.tree.alive, "a supervisor left ranks behind"
            self._exit(node)

    def _watched_s(self, node, order, now):
        """How long systemd waits for its next word."""
        rules = self.rules[node.index]
        alive = order.run is not None or (node.tree is not None and node.tree.alive)
        return min(rules.lease, gone_at(node.state, rules, now) - now) if alive else rules.lease

    def _carry_out(self, node, order):
        rules = self.rules[node.index]
        tree = node.tree
        if order.end and tree is not None and tree.alive:
            if tree.asked_to_end is None:
                deaf = self.random.random() < self.deaf
                takes = 1e9 if deaf else self.random.uniform(0, min(1.0, order.grace))
                if order.grace == rules.stop_grace and tree.died is None:
                    self.saved = max(self.saved, tree.step or 0)
                self.tells(f"n{node.index}: ranks of {tree.generation} are told to end within {order.grace:g} s")
                tree.end(order.grace, self.now, takes)
            else:
                tree.end(order.grace, self.now, tree.polite)
        if order.run is not None:
            assert tree is None or not tree.alive, "ranks beside those that are there"
            assert node.index in order.run.indexes
            node.tree = Tree(order.run.number, order.run.members, stepped=self.now)
            self.history.began(order.run.number, self.now)
            self.tells(f"n{node.index}: starts ranks of {order.run.number}")

    def _exit(self, node):
        state = node.state
        self.exits[node.index] = (state.exit, state.exit_reason, state.committed)
        for _word in range(LAST_WORDS):
            self._say(node, [index for index in self.rules if index != node.index])
        node.supervisor = None
        self.tells(f"n{node.index}: exits: {state.exit}, {state.exit_reason}")

    def _live(self, node):
        """Ranks make steps while all of their generation can; one that lost a peer fails a while later, or hangs."""
        tree = node.tree
        if tree is None or not tree.alive:
            return
        if tree.ends is not None and self.now >= tree.ends:
            tree.alive = False
            self.tells(f"n{node.index}: ranks of {tree.generation} are gone")
        if tree.asked_to_end is not None or tree.died is not None:
            return
        whole = all(self.every[member].runs(tree.generation) for member, _one in tree.members) and not self._torn(tree)
        if whole and (self.stuck_step is None or (tree.step or 0) < self.stuck_step):
            self._step(node, tree)
        elif not whole and self.now - self.history.started[tree.generation] > MEET_S:
            tree.hurt = tree.hurt or self.now + self.random.choice(HURT_S)
            if self.now >= tree.hurt:
                tree.died, tree.echo = self.now, 1

    def _step(self, node, tree):
        if self.now - tree.stepped >= STEP_S:
            tree.step, tree.stepped = (self.saved if tree.step is None else tree.step) + 1, self.now
            self.saved = tree.step if tree.step % SAVED_EVERY == 0 else self.saved
            self.history.stepped_by(node.index, tree.generation)
        if self.finish_after is not None and (tree.step or 0) >= self.finish_after:
            tree.alive, tree.succeeded = False, True

    def _torn(self, tree):
        if not self.cut:
            return False
        members = [index for index, _one in tree.members]
        return any((a, b) in self.cut for a in members for b in members)

    def _facts(self, node):
        tree = node.tree
        has_ranks = node.index in self.rules[node.index].ranked
        reported = {
            "fit": node.fit if has_ranks and (tree is None or not tree.alive) else None,
            "unfit": node.unfit,
            "terminated": node.terminated,
            "stop_requested": node.stop_requested,
            "refused": frozenset(node.refused),
        }
        if tree is None:
            return Facts(**reported)
        failure = None
        if tree.died is not None and not tree.alive:
            failure = {"rank": node.index, "echo": tree.echo, "exception": "", "message": "killed", "lines": []}
            failure.update(path="/x", **self.last_words)
        return Facts(
            generation=tree.generation,
            alive=tree.alive,
            rank_died=tree.died is not None,
            succeeded=tree.succeeded,
            failure=failure,
            failure_age=self.now - tree.died if tree.died is not None else 0.0,
            steps=(None if self.silent else tree.step,),
            busy=(None if self.silent else self.busy.get(node.index, 0.1),),
            step_age=None if tree.step is None or self.silent else self.now - tree.stepped,
            **reported,
        )

    def _send(self, node, order):
        said = node.supervisor.said
        others = [index for index in self.rules if index != node.index]
        if said != node.said:
            node.said = said
            node.due = [self.now, *(self.now + later for later in TELL_AGAIN_S)]
            self.changed = self.now
        reported = node.due[0] <= self.now
        if reported:
            every = self.rules[node.index].tell_every
            node.due = [due for due in node.due if due > self.now] or [self.now + every]
            self._say(node, others)
        if order.ask:
            self._say(node, order.ask, asks=True)
        answered = [index for index in order.answer if not reported and index not in order.ask]
        if answered:
            self._say(node, answered)

    def _say(self, node, targets, asks=False):
        message = node.supervisor.word(node.clock(self.now), asks)
        pieces = [message] if self.codec is None else self.codec.datagrams(message)
        for target in targets:
            for piece in pieces:
                self.wire.send(self.now, node.index, target, piece)

    # Short words for tests

    @property
    def nodes(self):
        """Those with a supervisor."""
        return {index: node for index, node in self.every.items() if node.supervisor is not None}

    @property
    def cut(self):
        return self.wire.cut

    @property
    def chain(self):
        return self.history.chain

    @property
    def overlap(self):
        return self.history.overlap

    @property
    def outcomes(self):
        return {index: reported[0] for index, reported in self.exits.items()}

    def alive_ranks(self):
        return [index for index, node in self.every.items() if node.tree and node.tree.alive]

    def current(self):
        return self.chain[max(self.chain)] if self.chain else blank_disk(self.rules[0]).committed

    def running(self, number=None):
        """Whether all members of the newest generation run, and have made a step."""
        if not self.chain:
            return False
        current = self.current()
        return (
            current.kind == RUN
            and (number is None or current.number >= number)
            and all(self.every[index].runs(current.number) and self.every[index].tree.step for index in current.indexes)
        )

    def ended(self):
        return not self.nodes

    def kinds(self, index=0):
        return [event.kind for event in self.nodes[index].events] if index in self.nodes else []
