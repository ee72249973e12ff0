# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Many troubles one after another; ``Simulation.check`` holds its invariants at each look."""

from __future__ import annotations

import random

import pytest

from tests.unit.supervisor_simulation import END, Simulation


def boot_what_is_gone(simulation, _index, _dice):
    for gone in set(simulation.rules) - set(simulation.nodes) - set(simulation.exits):
        simulation.boot(gone)


def cut_in_two(simulation, _index, dice):
    everyone = dice.sample(sorted(simulation.rules), len(simulation.rules))
    middle = dice.randint(1, len(everyone))
    simulation.partition(everyone[:middle], everyone[middle:])


def leave(simulation, index, dice):
    if dice.random() < 0.3:
        simulation.terminate(index)


def change_fitness(simulation, index, _dice):
    node = simulation.nodes[index]
    node.fit, node.unfit = not node.fit, "a card is missing"


def change_speed(simulation, index, dice):
    simulation.busy[index] = dice.choice([0.1, 0.5])


TROUBLES = (
    lambda simulation, index, _dice: simulation.kill_rank(index),
    lambda simulation, index, _dice: simulation.kill_rank(index),
    lambda simulation, index, _dice: simulation.crash(index),
    lambda simulation, index, dice: simulation.cut_one_way(index, dice.choice(sorted(simulation.rules))),
    lambda simulation, _index, _dice: simulation.heal(),
    lambda simulation, _index, _dice: simulation.heal(),
    boot_what_is_gone,
    cut_in_two,
    leave,
    change_fitness,
    change_speed,
)


@pytest.mark.parametrize("seed", range(16))
def test_whatever_happens_one_history_and_one_outcome(seed):
    dice = random.Random(seed)
    hosts = dice.choice([1, 2, 3, 4, 5])
    simulation = Simulation(
        hosts,
        dice.choice([0, 1, 2]),
        seed=seed,
        loss=dice.choice([0, 0.05, 0.3]),
        delay=dice.choice([0.01, 0.05, 0.5]),
        min_nodes=dice.randint(1, hosts),
        max_restarts=dice.choice([0, 3, 20]),
        join_timeout=60,
        stop_grace=dice.choice([5, 30]),
        hang_timeout=dice.choice([0, 20]),
        grow_after=dice.choice([0, 5, 20]),
        exclude_stragglers=dice.random() < 0.5,
    )
    for _number in range(dice.randint(3, 20)):
        simulation.run(dice.expovariate(1 / 8))
        if not simulation.nodes:
            break
        dice.choice(TROUBLES)(simulation, dice.choice(sorted(simulation.nodes)), dice)
    simulation.heal()
    for node in simulation.nodes.values():
        node.fit = True
    simulation.finish_after = 50
    simulation.run(400, simulation.ended)
    assert simulation.ended(), "somebody waits for ever"
    assert len({reported[0] for reported in simulation.exits.values() if reported[2].kind == END}) <= 1
    # Word of the isolated end comes late by what the network delays.
    assert simulation.overlap <= 2.0
