# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What can go wrong in a schedule. Each takes the simulation and dice, and sees to its own end, if it has one."""

from __future__ import annotations

from typing import Callable, Mapping

SHORT_S = (0.5, 1.0, 3.0, 7.0)
LONG_S = (9.0, 12.0, 20.0, 45.0)
# One way.
LAGS_S = (0.3, 0.8, 1.0, 1.5)


def any_of(simulation, dice):
    return dice.choice(sorted(simulation.rules))


def pair_of(simulation, dice):
    return dice.sample(sorted(simulation.rules), 2)


def first_voter(simulation):
    return next(iter(simulation.current().voters), 0)


def duration(dice):
    return dice.choice(SHORT_S + LONG_S)


def loss(simulation, dice):
    simulation.wire.loss = dice.choice([0.1, 0.3, 0.5])
    simulation.tells(f"{simulation.wire.loss:.0%} are lost")


def loss_at_one(simulation, dice):
    index = any_of(simulation, dice)
    share = dice.choice([0.3, 0.5])
    for other in simulation.rules:
        simulation.wire.losses[index, other] = simulation.wire.losses[other, index] = share
    simulation.tells(f"n{index}: {share:.0%} are lost")


def tails(simulation, dice):
    simulation.wire.delay, simulation.wire.tails = dice.choice([0.02, 0.1, 0.3]), True
    simulation.tells(f"delays of {simulation.wire.delay:g} s with tails")


def lag(simulation, dice):
    """Some ways are slow, one way or both."""
    seconds = dice.choice(LAGS_S)
    pairs = [(a, b) for a in simulation.rules for b in simulation.rules if a != b]
    for pair in dice.sample(pairs, dice.randint(1, len(pairs))):
        simulation.wire.lags[pair] = seconds
    simulation.tells(f"{len(simulation.wire.lags)} ways of {len(pairs)} take {seconds:g} s")


def stray(simulation, dice):
    """What goes over one way now comes very late."""
    source, target = pair_of(simulation, dice)
    seconds = dice.choice([5.0, 15.0, 30.0])
    simulation.wire.lags[source, target] = seconds
    simulation.tells(f"n{source} -> n{target} takes {seconds:g} s")
    simulation.after(dice.choice([0.5, 2.0]), lambda: simulation.wire.lags.pop((source, target), None))


def cut_one_way(simulation, dice):
    simulation.cut_one_way(*pair_of(simulation, dice))


def cut_pair(simulation, dice):
    simulation.cut_pair(*pair_of(simulation, dice))


def cut_some(simulation, dice):
    """Any graph, with ways that go in one direction only."""
    for a in simulation.rules:
        for b in simulation.rules:
            if a != b and dice.random() < 0.3:
                simulation.cut.add((a, b))
    simulation.tells(f"cut {sorted(simulation.cut)}")


def cut_off(simulation, dice):
    index = any_of(simulation, dice)
    simulation.partition([index], [other for other in simulation.rules if other != index])


def split(simulation, dice):
    nodes = dice.sample(sorted(simulation.rules), len(simulation.rules))
    middle = dice.randint(1, len(nodes) - 1)
    simulation.partition(sorted(nodes[:middle]), sorted(nodes[middle:]))


def around_leader(simulation, dice):
    """The first node keeps one link, or some, and often only in one direction."""
    leader = first_voter(simulation)
    others = [index for index in simulation.rules if index != leader]
    kept = set(dice.sample(others, dice.choice([0, 1, 1, len(others) // 2])))
    ways = dice.choice([(True, True), (True, True), (True, False), (False, True)])
    for index in others:
        if index not in kept:
            simulation.cut.update(pair for pair, is_cut in zip([(leader, index), (index, leader)], ways) if is_cut)
    simulation.tells(f"n{leader} keeps only its links to {sorted(kept)}")


def chain(simulation, dice):
    """Each node reaches only its neighbors."""
    nodes = dice.sample(sorted(simulation.rules), len(simulation.rules))
    near = {frozenset(pair) for pair in zip(nodes, nodes[1:])}
    for a in simulation.rules:
        simulation.cut.update((a, b) for b in simulation.rules if a != b and frozenset([a, b]) not in near)
    simulation.tells(f"only a chain is left: {nodes}")


def flap(simulation, dice):
    """A link, or a whole node's, comes and goes."""
    index = any_of(simulation, dice)
    others = [other for other in simulation.rules if other != index]
    pairs = [(index, other) for other in dice.choice([others, dice.sample(others, 1)])]
    pairs += [(b, a) for a, b in pairs] if dice.random() < 0.7 else []
    every, times = dice.choice([0.5, 2.0, 6.0]), dice.randint(2, 5)
    for time in range(times):
        simulation.after(2 * time * every, lambda: simulation.cut.update(pairs))
        simulation.after((2 * time + 1) * every, lambda: simulation.cut.difference_update(pairs))
    simulation.tells(f"flapping {times} times every {2 * every:g} s: {pairs}")


def heal(simulation, _dice):
    simulation.heal()


def heal_some(simulation, dice):
    simulation.cut.difference_update(dice.sample(sorted(simulation.cut), len(simulation.cut) // 2))
    simulation.tells(f"still cut: {sorted(simulation.cut)}")


def boot(simulation, index):
    if not simulation.every[index].up:
        simulation.boot(index)


def crash(simulation, dice):
    index = any_of(simulation, dice)
    simulation.crash(index)
    if dice.random() < 0.7:
        simulation.after(duration(dice), lambda: boot(simulation, index))


def forget(simulation, dice):
    """A node is set up anew."""
    index = any_of(simulation, dice)
    simulation.crash(index, forgets=True)
    if dice.random() < 0.8:
        simulation.after(duration(dice), lambda: boot(simulation, index))


def power_loss(simulation, dice):
    """Of all nodes; some do not come back for long."""
    for index in simulation.rules:
        simulation.crash(index)
        simulation.after(dice.choice([1.0, 3.0, 8.0, 20.0]), lambda index=index: boot(simulation, index))


def freeze(simulation, dice):
    simulation.freeze(any_of(simulation, dice), duration(dice))


def freeze_and_cut(simulation, dice):
    """It wakes in another network."""
    index, seconds = any_of(simulation, dice), dice.choice(LONG_S)
    others = [other for other in simulation.rules if other != index]
    simulation.freeze(index, seconds)
    simulation.after(seconds - 0.5, lambda: simulation.partition([index], others))


def stop_supervisor(simulation, dice):
    simulation.stop_supervisor(any_of(simulation, dice), dice.choice([*SHORT_S, *LONG_S, None]))


def kill_supervisor(simulation, dice):
    simulation.kill_supervisor(any_of(simulation, dice), dice.choice([0.1, 0.5, 1.0]))


def end_supervisor(simulation, dice):
    """Its unit is ended, and the node stays up: its kernel refuses."""
    index = any_of(simulation, dice)
    simulation.kill_supervisor(index, dice.choice([2.0, 5.0, 15.0]))


def kill_rank(simulation, dice):
    simulation.kill_rank(any_of(simulation, dice))


def kill_ranks(simulation, dice):
    for index in simulation.rules:
        if dice.random() < 0.5:
            simulation.kill_rank(index)


def hang(simulation, dice):
    """No rank makes a step for a while."""
    simulation.stuck_step = simulation.saved
    simulation.tells("ranks hang")

    def go_on():
        simulation.stuck_step = None

    simulation.after(dice.choice([5.0, 15.0]), go_on)


def leave(simulation, dice):
    if len(simulation.nodes) > len(simulation.rules) // 2 + 1:
        simulation.terminate(any_of(simulation, dice))


def unfit(simulation, dice):
    node = simulation.every[any_of(simulation, dice)]
    node.fit, node.unfit = False, "a card is missing"
    simulation.tells(f"n{node.index}: a card is missing")

    def mend():
        node.fit, node.unfit = True, ""

    simulation.after(duration(dice), mend)


Fault = Callable[[object, object], None]
# How often each is drawn.
FAULTS: Mapping[Fault, int] = {
    loss: 3,
    loss_at_one: 1,
    tails: 2,
    lag: 2,
    stray: 3,
    cut_one_way: 4,
    cut_pair: 3,
    cut_some: 2,
    cut_off: 4,
    split: 3,
    around_leader: 4,
    chain: 1,
    flap: 3,
    heal: 5,
    heal_some: 2,
    crash: 6,
    forget: 2,
    power_loss: 1,
    freeze: 4,
    freeze_and_cut: 2,
    stop_supervisor: 3,
    kill_supervisor: 4,
    end_supervisor: 2,
    kill_rank: 5,
    kill_ranks: 1,
    hang: 1,
    leave: 2,
    unfit: 1,
}
