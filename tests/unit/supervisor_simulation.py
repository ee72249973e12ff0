# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Supervisors on a simulated network: it loses, delays, repeats and reorders datagrams, and can be cut in any way.

What is simulated are clocks (each node has one of its own), the network and the ranks; every decision is the real one.
The invariants are checked at each look, so a run that breaks one fails where it does.
"""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass, field

from ansible_collections.gaudi3.scale.plugins.module_utils.supervisor.decision import advance, begin
from ansible_collections.gaudi3.scale.plugins.module_utils.supervisor.generation import END, RUN, WAIT, first_generation
from ansible_collections.gaudi3.scale.plugins.module_utils.supervisor.messages import decode, encode
from ansible_collections.gaudi3.scale.plugins.module_utils.supervisor.state import Facts, Rules, message_of
from ansible_collections.gaudi3.scale.plugins.module_utils.supervisor.succession import (
    EARLY_PAUSE_S,
    MOST_EARLY_FAILURES,
)
from ansible_collections.gaudi3.scale.plugins.module_utils.supervisor.view import heard_ages

LOOK_S = 0.25
KEY = b"k" * 32


@dataclass
class Tree:
    """The ranks of a generation on one node."""

    generation: int
    members: tuple
    alive: bool = True
    died: float | None = None
    echo: int = 0
    succeeded: bool = False
    step: int | None = None
    stepped: float = 0.0
    ends: float | None = None
    finishes: float | None = None
    hurt: float | None = None


@dataclass
class Node:
    """``skew`` is its clock against the simulation's."""

    state: object
    skew: float
    tree: Tree | None = None
    fit: bool | None = True
    unfit: str = ""
    terminated: bool = False
    stop_requested: bool = False
    sequence: int = 0
    due: float = 0.0
    said: object = None
    inbox: list = field(default_factory=list)
    events: list = field(default_factory=list)


class Simulation:
    """``finish_after``: step after which ranks end well; ``deaf``: share of trees that take all of their grace.
    ``silent``: the program makes steps and tells of none.

    Ranks begin where the last checkpoint is (``saved``), of which there is one every fifth step and at a planned end.
    """

    def __init__(
        self, hosts=4, spares=1, *, seed=0, loss=0.0, delay=0.05, finish_after=None, deaf=0.3, silent=False, **rules
    ):
        names = tuple(f"n{number}" for number in range(hosts + spares))
        self.rules = {
            index: Rules(names=names, hosts=hosts, index=index, **{"min_nodes": hosts, "straggler_ratio": 1.3, **rules})
            for index in range(len(names))
        }
        self.random = random.Random(seed)
        self.loss, self.delay, self.deaf, self.finish_after = loss, delay, deaf, finish_after
        self.silent = silent
        self.now = 0.0
        self.wire: list = []
        self.cut: set = set()
        self.nodes: dict[int, Node] = {}
        self.incarnations = dict.fromkeys(self.rules, 0)
        self.exits: dict[int, tuple] = {}
        self.chain: dict[int, object] = {}
        self.overlap = 0.0
        self.started: dict[int, float] = {}
        self.saved = 0
        self.busy: dict[int, float] = {}
        self.stuck_step = None
        for index in self.rules:
            self.boot(index)

    # What can happen

    def boot(self, index):
        self.incarnations[index] += 1
        again = self.incarnations[index] > 1
        skew = self.random.uniform(-1e5, 1e5)
        state = begin(self.rules[index], self.incarnations[index], not again, self.now + skew)
        self.nodes[index] = Node(state, skew)
        self.exits.pop(index, None)

    def crash(self, index):
        """The node is gone with all on it."""
        self.nodes.pop(index, None)

    def kill_rank(self, index):
        node = self.nodes.get(index)
        if node and node.tree and node.tree.alive and node.tree.died is None and node.tree.ends is None:
            node.tree.died = self.now
            return True
        return False

    def partition(self, *groups):
        """Word goes only within a group."""
        group_of = {index: number for number, group in enumerate(groups) for index in group}
        self.cut |= {(a, b) for a in self.rules for b in self.rules if a != b and group_of.get(a) != group_of.get(b)}

    def cut_one_way(self, source, target):
        self.cut.add((source, target))

    def heal(self):
        self.cut.clear()

    def terminate(self, index, stop=False):
        if index in self.nodes:
            self.nodes[index].terminated = True
            self.nodes[index].stop_requested = stop

    # Time

    def run(self, seconds, until=None):
        """Go on for so long, or until something holds; returns the seconds it took."""
        begun = self.now
        while self.now < begun + seconds:
            if until is not None and until():
                break
            self.look()
        return self.now - begun

    def look(self):
        self.now += LOOK_S
        while self.wire and self.wire[0][0] <= self.now:
            _at, _number, target, datagram = heapq.heappop(self.wire)
            if target in self.nodes:
                message = decode(datagram, KEY)
                assert message is not None
                self.nodes[target].inbox.append(message)
        for index in self.random.sample(sorted(self.nodes), len(self.nodes)):
            self.turn(index)
        self.check()

    def turn(self, index):
        node, rules = self.nodes[index], self.rules[index]
        now = self.now + node.skew
        self.live(node)
        inbox, node.inbox = node.inbox, []
        node.state, order, events = advance(node.state, rules, self.facts(node), inbox, now)
        node.events += events
        if order.end and node.tree and node.tree.alive and node.tree.ends is None:
            takes = order.grace if self.random.random() < self.deaf else self.random.uniform(0, min(1, order.grace))
            node.tree.ends = self.now + takes
            if order.grace == rules.stop_grace and node.tree.died is None:
                self.saved = max(self.saved, node.tree.step or 0)
        if order.run is not None:
            assert node.tree is None or not node.tree.alive
            node.tree = Tree(order.run.number, order.run.members, stepped=self.now)
            self.started.setdefault(order.run.number, self.now)
        self.send(index, node)
        if node.state.exit is not None:
            assert node.tree is None or not node.tree.alive, "a supervisor left ranks behind"
            self.exits[index] = (node.state.exit, node.state.exit_reason, node.state.committed)
            for _word in range(3):
                node.due = self.now
                self.send(index, node)
            del self.nodes[index]

    def live(self, node):
        """Ranks make steps while all of their generation can; one that lost a peer fails a while later, or hangs."""
        tree = node.tree
        if tree is None or not tree.alive:
            return
        if tree.ends is not None and self.now >= tree.ends:
            tree.alive = False
        if tree.died is not None and tree.ends is None:
            return
        whole = all(self.runs(member, tree.generation) for member, _one in tree.members) and not self.torn(tree)
        if whole and (self.stuck_step is None or (tree.step or 0) < self.stuck_step):
            if self.now - tree.stepped >= 0.5:
                tree.step, tree.stepped = (self.saved if tree.step is None else tree.step) + 1, self.now
                self.saved = tree.step if tree.step % 5 == 0 else self.saved
            if self.finish_after is not None and (tree.step or 0) >= self.finish_after and tree.ends is None:
                tree.alive, tree.succeeded = False, True
        elif not whole and self.now - self.started[tree.generation] > 5 and tree.ends is None:
            tree.hurt = tree.hurt or self.now + self.random.choice([0.5, 1.0, 2.0, 1e9])
            if self.now >= tree.hurt:
                tree.died, tree.echo = self.now, 1

    def runs(self, index, generation):
        tree = self.nodes[index].tree if index in self.nodes else None
        if tree is None or tree.generation != generation:
            return False
        return tree.succeeded or (tree.alive and tree.died is None and tree.ends is None)

    def torn(self, tree):
        members = [index for index, _one in tree.members]
        return any((a, b) in self.cut for a in members for b in members)

    def facts(self, node):
        tree = node.tree
        told = {
            "fit": node.fit if tree is None or not tree.alive else None,
            "unfit": node.unfit,
            "terminated": node.terminated,
            "stop_requested": node.stop_requested,
        }
        if tree is None:
            return Facts(**told)
        index = next(key for key, value in self.nodes.items() if value is node)
        failure = None
        if tree.died is not None and not tree.alive:
            failure = {
                "rank": index,
                "echo": tree.echo,
                "exception": "",
                "message": "killed",
                "lines": [],
                "path": "/x",
            }
        return Facts(
            generation=tree.generation,
            alive=tree.alive,
            rank_died=tree.died is not None,
            succeeded=tree.succeeded,
            failure=failure,
            failure_age=self.now - tree.died if tree.died is not None else 0.0,
            steps=(None if self.silent else tree.step,),
            busy=(None if self.silent else self.busy.get(index, 0.1),),
            step_age=None if tree.step is None or self.silent else self.now - tree.stepped,
            **told,
        )

    def send(self, index, node):
        state, report = node.state, node.state.report
        said = (state.committed.number, state.promised, state.accepted, state.halt, state.stop)
        said += (report.phase, report.fit, report.failure, report.leaving)
        if said == node.said and self.now < node.due:
            return
        node.said, node.due = said, self.now + 1.0
        node.sequence += 1
        ages = heard_ages(state.peers, len(self.rules), self.now + node.skew)
        datagram = encode(message_of(state, self.rules[index], node.sequence, ages), KEY)
        for target in self.rules:
            if target == index or (index, target) in self.cut or self.random.random() < self.loss:
                continue
            for _copy in range(2 if self.random.random() < 0.02 else 1):
                late = self.random.expovariate(1 / self.delay) if self.delay else 0.0
                heapq.heappush(self.wire, (self.now + late, self.random.random(), target, datagram))

    # What has to hold

    def check(self):
        rules = self.rules[0]
        for node in self.nodes.values():
            committed = node.state.committed
            known = self.chain.setdefault(committed.number, committed)
            assert known == committed, f"two generations {committed.number}: {known} and {committed}"
            assert committed.restarts <= rules.max_restarts
            assert committed.early_failures < MOST_EARLY_FAILURES
            assert committed.kind != RUN or len(committed.members) >= rules.min_nodes
        alive = {index: node.tree.generation for index, node in self.nodes.items() if node.tree and node.tree.alive}
        if len(set(alive.values())) > 1:
            self.overlap += LOOK_S
        runs = [self.chain[number] for number in sorted(self.chain) if self.chain[number].kind == RUN]
        for before, after in zip(runs, runs[1:]):
            if after.restarts == before.restarts:
                assert after.step is not None and after.step > (before.step or 0), "a free restart without progress"
            if after.early_failures:
                assert after.early_failures == before.early_failures + 1, "an early failure is lost, or counted twice"
                paused = self.started.get(after.number, self.now) - self.started[before.number]
                assert paused >= EARLY_PAUSE_S * 2 ** (after.early_failures - 1), "no pause after an early failure"
            for index in set(after.grown[len(before.grown) :]):
                lasted = self.started.get(after.number, self.now) - self.started[before.number]
                assert lasted >= rules.grow_after * 2 ** before.grown.count(index), "a node is taken in too soon"
            kept = [index for index in before.indexes if index in after.indexes]
            assert [index for index in after.indexes if index in kept] == kept, "ranks changed their order"

    # Short words for tests

    @property
    def outcomes(self):
        return {index: told[0] for index, told in self.exits.items()}

    def alive_ranks(self):
        return [index for index, node in self.nodes.items() if node.tree and node.tree.alive]

    def current(self):
        return self.chain[max(self.chain)] if self.chain else first_generation(self.rules[0].hosts)

    def running(self, number=None):
        """Whether all members of the newest generation run, and have made a step."""
        current = self.current()
        return (
            current.kind == RUN
            and (number is None or current.number >= number)
            and all(self.runs(index, current.number) and self.nodes[index].tree.step for index in current.indexes)
        )

    def ended(self):
        return not self.nodes

    def kinds(self, index=0):
        return [event.kind for event in self.nodes[index].events] if index in self.nodes else []


__all__ = ["END", "RUN", "WAIT", "Simulation"]
