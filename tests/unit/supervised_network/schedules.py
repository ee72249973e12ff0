# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Random schedules of faults by number, and that the job goes on once they are over."""

from __future__ import annotations

import random
from itertools import combinations
from typing import Callable

from gaudi3_scale.supervisor.generation import END, RUN, SUCCEEDED, WAIT
from tests.unit.supervised_network.faults import FAULTS
from tests.unit.supervised_network.simulation import Simulation

# How soon after the last fault a generation runs on nodes that can have one: this, and so many times lost_after.
GOES_ON_S, GOES_ON_LOST = 60.0, 3.0
# Bytes are made and read in every so manieth schedule: they take most of the time, and change no decision.
REAL_BYTES_EVERY = 20
LARGE_EVERY = 200
FINISH_S = 60.0
# Between two faults. Longer than lost_after, what one of them does shows before the next.
GAPS_S = (0.0, 0.3, 1.0, 2.0, 5.0, 9.0, 12.0, 16.0)
# Of more nodes there are too many sets to look at.
MOST_NODES_CUT = 12
# Reasons for which a job may be over: what ends it is the program, not what the network did.
LEGITIMATE = ("max_restarts allows", "is not started again", "all ranks ended well")
# And at its launch, where all nodes are known and too few of them are fit, it is not begun.
NOT_BEGUN = "is not fit: "


def run_schedule(seed: int, say: Callable[[str], None] | None = None) -> Simulation:
    """The simulation at its end; an AssertionError where something does not hold."""
    dice = random.Random(seed)
    simulation = _begun(seed, dice, say)
    simulation.run(dice.choice([1.0, 8.0, 8.0, 8.0]), lambda: simulation.running() and simulation.saved > 1)
    for _number in range(1 + min(int(dice.expovariate(1 / 2.5)), 11)):
        faults = dice.choices(list(FAULTS), weights=list(FAULTS.values()))
        faults[0](simulation, dice)
        simulation.run(dice.choice(GAPS_S))
    _end_faults(simulation, dice)
    _goes_on(simulation)
    if seed % 4 == 0:
        _finishes(simulation)
    return simulation


def _begun(seed: int, dice: random.Random, say) -> Simulation:
    hosts = 16 if seed % LARGE_EVERY == LARGE_EVERY - 1 else dice.choice([2, 2, 3, 3, 3, 4, 4, 5, 6, 9])
    spares = dice.choice([0, 0, 1, 2])
    options = {
        "witness": dice.random() < (0.6 if hosts == 2 else 0.15),
        "min_nodes": dice.randint(1, hosts),
        "loss": dice.choice([0.0, 0.0, 0.05, 0.2]),
        "delay": dice.choice([0.005, 0.05, 0.2]),
        "deaf": dice.choice([0.0, 0.3, 1.0]),
        "failure_grace": dice.choice([1.0, 1.0, 5.0]),
        "stop_grace": dice.choice([5.0, 30.0]),
        "grow_after": dice.choice([0.0, 5.0, 60.0]),
        "hang_timeout": dice.choice([0.0, 0.0, 10.0]),
        "min_runtime": dice.choice([0.0, 60.0]),
        "silent": dice.random() < 0.1,
    }
    if say is not None:
        say(f"{hosts} hosts, {spares} spares: {options}")
    return Simulation(
        hosts,
        spares,
        seed=seed,
        real_bytes=seed % REAL_BYTES_EVERY == REAL_BYTES_EVERY - 1,
        steady=False,
        say=say,
        max_restarts=100,
        join_timeout=600.0,
        **options,
    )


def _end_faults(simulation: Simulation, dice: random.Random) -> None:
    """Nothing changes any more. Some nodes stay away, and some links stay cut."""
    simulation.forget_agenda()
    simulation.stuck_step = None
    wire = simulation.wire
    wire.loss, wire.tails = min(wire.loss, 0.2), False
    wire.losses.clear()
    if dice.random() < 0.8 or len(simulation.rules) > MOST_NODES_CUT:
        lags = {pair: seconds for pair, seconds in wire.lags.items() if seconds <= 1.5}
        wire.mend()
        wire.lags.update(lags if dice.random() < 0.3 else {})
    stay_away = dice.choice([0.0, 0.0, 0.3])
    for index, node in simulation.every.items():
        node.fit, node.unfit = True, ""
        if dice.random() < stay_away:
            if node.up:
                simulation.crash(index)
            continue
        simulation.thaw(index)
        simulation.continue_supervisor(index)
        if index not in simulation.exits and node.supervisor is None:
            simulation.boot(index)
    simulation.tells("the last fault is over")


def able_set(simulation: Simulation) -> tuple[int, ...] | None:
    """Fit, wholly linked nodes that can go on by themselves; None where there are none.

    They have a quorum of the newest generation, and of those before it which one of them still takes for the current
    one: they have to learn of the newest. What a node has accepted may be, or become, the next one.
    """
    disks = [node.disk for node in simulation.every.values() if node.disk is not None]
    proposed = [disk.accepted[1] for disk in disks if disk.accepted is not None]
    there = [index for index, node in simulation.nodes.items() if not node.terminated]
    nodes = simulation.nodes
    oldest = {index: nodes[index].state.committed.number for index in there}
    ranked = set(simulation.rules[0].ranked)
    for size in range(len(there), 0, -1):
        for chosen in combinations(there, size):
            if any((a, b) in simulation.cut for a in chosen for b in chosen):
                continue
            if len(ranked.intersection(chosen)) < simulation.rules[0].min_nodes:
                continue
            known = max(oldest[index] for index in chosen)
            needed = [one for one in (simulation.current(), *simulation.chain.values()) if one.number >= known]
            needed += [one for one in proposed if one.number > known]
            if all(_has_quorum(simulation, chosen, generation) for generation in needed):
                return chosen
        if size < simulation.rules[0].min_nodes:
            break
    return None


def _has_quorum(simulation: Simulation, chosen, generation) -> bool:
    voters = [index for index in chosen if simulation.nodes[index].supervisor.votes_on(generation)]
    return generation.is_quorum(voters)


def _goes_on(simulation: Simulation) -> None:
    able = able_set(simulation)
    if able is None:
        simulation.run(15.0)
        return
    simulation.tells(f"{able} can go on")
    rules = simulation.rules[0]
    # At the start hosts that are not there are waited for.
    starting = rules.join_timeout if simulation.current().kind == WAIT else 0.0
    limit = GOES_ON_S + GOES_ON_LOST * rules.lost_after + starting
    before, began = simulation.current().number, simulation.now
    # A ballot that was under way takes nodes that had answered it when the last fault came. Later ones know better.
    simulation.run(rules.lost_after, lambda: simulation.current().number > before or simulation.running())
    if simulation.current().number > before and able_set(simulation) is None:
        simulation.tells("nodes that were just taken have died, and the others have no quorum without them")
        simulation.run(15.0)
        return
    simulation.run(began + limit - simulation.now, lambda: simulation.running() or simulation.current().kind == END)
    current = simulation.current()
    if current.kind == END:
        legitimate = (*LEGITIMATE, NOT_BEGUN) if current.number == 1 else LEGITIMATE
        assert any(reason in current.reason for reason in legitimate), f"the job is over: {current.reason}"
    else:
        assert simulation.running(), f"{able} could go on for {limit:.0f} s, and do not run: {current}"


def _finishes(simulation: Simulation) -> None:
    """Where all is well everybody is done soon, in one way, and leaves nothing behind."""
    if simulation.current().kind != RUN or not simulation.running() or simulation.cut:
        return
    simulation.finish_after = simulation.saved + 5
    simulation.run(FINISH_S, simulation.ended)
    assert simulation.ended(), f"{sorted(simulation.nodes)} wait for ever"
    outcomes = {reported[0] for reported in simulation.exits.values() if reported[2].kind == END}
    assert outcomes == {SUCCEEDED}, simulation.exits
    assert not simulation.alive_ranks()
