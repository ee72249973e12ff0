# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What tests of simulated supervisors wait for, and look at."""

from __future__ import annotations


def running(simulation, number=1, seconds=90):
    took = simulation.run(seconds, lambda: simulation.running(number))
    assert simulation.running(number), simulation.current()
    return took


def members(simulation):
    return list(simulation.current().indexes)


def none_alive(simulation):
    return lambda: not simulation.alive_ranks()


def ended(simulation, outcome, seconds=120):
    simulation.run(seconds, simulation.ended)
    assert set(simulation.outcomes.values()) == {outcome}, simulation.exits
    return simulation.current()
