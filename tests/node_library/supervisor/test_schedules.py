# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Schedules of faults that once went wrong, each by its name. The gate ``schedules`` has random ones
(``python -m tests.simulate_supervisors``). The simulation holds its invariants at each look."""

from __future__ import annotations

import pytest

from tests.unit.simulated_job import ended, members, none_alive, running
from tests.unit.supervised_network.simulation import Simulation


def others(simulation, *indexes):
    return [index for index in simulation.rules if index not in indexes]


@pytest.mark.parametrize("hosts", [5, 8, 16])
def test_who_reaches_one_other_only_leads_nobody(hosts):
    simulation = Simulation(hosts, 0, min_nodes=hosts // 2 + 1)
    running(simulation)
    for index in others(simulation, 0, 1):
        simulation.cut_pair(0, index)
    assert running(simulation, 2, 35) <= 35
    assert members(simulation) == others(simulation, 0)


def test_who_reaches_one_other_only_does_not_keep_that_one_from_the_rest():
    """Once ranks have ended too: the first node may be heard by one, and by another one later."""
    simulation = Simulation(5, 0, min_nodes=3)
    running(simulation)
    for time in range(3):
        simulation.heal()
        for index in others(simulation, 0, 1 + time):
            simulation.cut_pair(0, index)
        simulation.run(7)
    running(simulation, 2, 35)


@pytest.mark.parametrize("seed", range(3))
def test_the_largest_linked_set_goes_on(seed):
    simulation = Simulation(4, 1, seed=seed, min_nodes=3)
    running(simulation)
    for index in others(simulation, 0, 1):
        simulation.cut_pair(1, index)
    running(simulation, 2, 25)
    assert members(simulation) == [0, 4, 2, 3]


def test_the_largest_linked_set_is_found_where_each_of_it_sees_a_node_that_is_not():
    """Taken in their order, the first two would keep out four."""
    simulation = Simulation(7, 0, min_nodes=5)
    running(simulation)
    for pair in ((1, 3), (1, 4), (2, 5), (2, 6)):
        simulation.cut_pair(*pair)
    running(simulation, 2, 25)
    assert members(simulation) == [0, 3, 4, 5, 6]


@pytest.mark.parametrize("late", [12.0, 25.0])
def test_who_learns_late_of_a_generation_does_not_run_it_beside_the_next(late):
    """It hears of it alone, when the others have gone on without it."""
    simulation = Simulation(4, 0, min_nodes=2, deaf=0.0)
    running(simulation)
    assert simulation.kill_rank(1)
    # It has answered, so it is taken; what was then agreed upon comes to it late.
    simulation.run(60, lambda: any(node.state.accepted for node in simulation.nodes.values()))
    for index in others(simulation, 3):
        simulation.wire.lags[index, 3] = late
    simulation.run(60, lambda: simulation.current().number == 2)
    simulation.run(0.5)
    simulation.partition([3], [0, 1, 2])
    running(simulation, 3, 60)
    simulation.run(40)
    assert members(simulation) == [0, 1, 2]
    assert simulation.overlap == 0.0


@pytest.mark.parametrize("hosts", [3, 5, 16])
def test_a_member_that_is_heard_and_never_hears_of_the_first_generation_holds_up_nothing(hosts):
    simulation = Simulation(hosts, 0, min_nodes=hosts - 1)
    simulation.run(60, lambda: any(node.state.accepted for node in simulation.nodes.values()))
    last = hosts - 1
    for index in others(simulation, last):
        simulation.cut_one_way(index, last)
    running(simulation, 2, 40)
    assert members(simulation) == others(simulation, last)
    assert simulation.nodes[last].state.committed.number == 0
    assert simulation.overlap == 0.0


@pytest.mark.parametrize("seed", range(8))
def test_a_member_that_only_the_leader_does_not_hear_has_ended_its_ranks_before_others_begin(seed):
    """It is told to end by the others, and takes all of its grace, which they do not need."""
    simulation = Simulation(4, 0, seed=seed, min_nodes=3, failure_grace=5.0, deaf=0.5)
    running(simulation)
    simulation.cut_one_way(3, 0)
    running(simulation, 2, 40)
    assert simulation.overlap == 0.0


@pytest.mark.parametrize("seed", range(6))
def test_a_crash_and_a_one_way_cut_leave_no_old_ranks_beside_new_ones(seed):
    simulation = Simulation(5, 0, seed=seed, min_nodes=2, failure_grace=5.0, deaf=0.5)
    running(simulation)
    simulation.crash(1 + seed % 2)
    simulation.cut_one_way(4, 0)
    if seed % 2:
        simulation.cut_one_way(3, 4)
    running(simulation, 2, 60)
    simulation.run(20)
    assert simulation.overlap == 0.0


@pytest.mark.parametrize("seed", range(4))
def test_old_word_that_a_frozen_node_reads_is_not_taken_for_new(seed):
    simulation = Simulation(4, 0, seed=seed, min_nodes=3, deaf=1.0)
    # It would end the ranks as well.
    simulation.watchdog = False
    running(simulation)
    simulation.freeze(3, 60.0)
    simulation.run(59.5)
    simulation.partition([3], [0, 1, 2])
    simulation.run(3)
    assert not simulation.every[3].frozen
    assert simulation.alive_ranks() == [0, 1, 2]


@pytest.mark.parametrize("seconds", [None, 30.0])
def test_a_supervisor_that_stands_still_takes_its_ranks_with_it(seconds):
    simulation = Simulation(3, 1)
    running(simulation)
    lease = simulation.rules[1].lease
    simulation.stop_supervisor(1, seconds)
    assert simulation.run(30, lambda: 1 not in simulation.alive_ranks()) <= lease + 0.5
    running(simulation, 2, 15)
    assert simulation.overlap == 0.0
    assert members(simulation) == [0, 1, 2]


@pytest.mark.parametrize("later", [1.0, 5.0, 7.5, 8.2])
def test_a_supervisor_that_is_cut_off_and_then_stands_still_loses_its_ranks_when_its_lease_is_over(later):
    """Its word of life is no older than ``later``, but what the others acknowledged last is."""
    simulation = Simulation(3, 0, min_nodes=2, deaf=1.0)
    running(simulation)
    simulation.partition([0], [1, 2])
    simulation.run(later)
    simulation.stop_supervisor(0)
    running(simulation, 2, 25)
    assert simulation.overlap == 0.0
    assert members(simulation) == [1, 2]


@pytest.mark.parametrize("seconds", [6.25, 6.5, 7.0])
def test_a_supervisor_that_wakes_when_its_lease_is_over_gives_its_ranks_no_more_than_is_left(seconds):
    """It wakes before systemd kills it, and the other one, which needs nobody's vote, is about to go on."""
    simulation = Simulation(2, 0, min_nodes=1, deaf=1.0)
    running(simulation)
    simulation.run(3)
    simulation.partition([0], [1])
    simulation.run(2.5)
    simulation.stop_supervisor(1, seconds)
    running(simulation, 2, 25)
    simulation.run(10)
    assert simulation.overlap == 0.0
    assert members(simulation) == [0]


def test_ranks_of_a_generation_that_is_over_get_no_grace_of_a_planned_end():
    """A node goes down, and another one that has heard of it is cut off."""
    simulation = Simulation(5, 0, min_nodes=3, stop_grace=60.0, deaf=0.0)
    running(simulation)
    simulation.terminate(4)
    simulation.run(60, lambda: simulation.every[2].tree.asked_to_end is not None)
    # Its ranks alone take all of the time that they are given.
    tree = simulation.every[2].tree
    tree.polite, tree.ends = 60.0, simulation.now + 60.0
    simulation.partition([2], [0, 1, 3, 4])
    running(simulation, 2, 30)
    simulation.run(60)
    assert simulation.overlap == 0.0


def test_votes_that_are_lost_are_not_cast_again():
    """The first run is agreed on by two of three hosts; one of them is set up anew and meets the third."""
    simulation = Simulation(3, 2, min_nodes=2)
    simulation.partition([0, 1, 3], [2, 4])
    running(simulation, 1, 90)
    simulation.crash(1, forgets=True)
    simulation.run(1)
    simulation.heal()
    simulation.partition([0, 3], [1, 2, 4])
    simulation.boot(1)
    simulation.run(120)
    assert members(simulation) == [0, 3]
    assert simulation.alive_ranks() == [0, 3]


@pytest.mark.parametrize("lag", [0.8, 1.0, 1.5])
def test_a_network_that_is_slow_all_the_time_agrees(lag):
    simulation = Simulation(4, 1)
    simulation.wire.lag = lag
    running(simulation, 1, 40)
    simulation.crash(1)
    running(simulation, 2, 60)
    assert members(simulation) == [0, 4, 2, 3]
    assert simulation.overlap == 0.0


@pytest.mark.parametrize("forgets", [False, True])
def test_a_node_that_was_frozen_listens_before_it_gives_up(forgets):
    """It is back since just before, and nothing reaches it until it wakes."""
    simulation = Simulation(3, 0)
    simulation.watchdog = False
    running(simulation)
    simulation.crash(2, forgets=forgets)
    simulation.partition([0, 1], [2])
    simulation.run(1)
    simulation.boot(2)
    simulation.run(1)
    simulation.freeze(2, 90.0)
    simulation.run(92)
    simulation.heal()
    simulation.run(5)
    assert not simulation.every[2].frozen
    assert 2 not in simulation.exits
    running(simulation, 2, 30)
    assert members(simulation) == [0, 1, 2]


@pytest.mark.parametrize("seed", range(6))
def test_all_nodes_lose_power_and_the_job_goes_on_when_they_are_back(seed):
    simulation = Simulation(4, 1, seed=seed)
    running(simulation)
    for index in simulation.rules:
        simulation.crash(index)
        simulation.after(simulation.random.uniform(1, 60), lambda index=index: simulation.boot(index))
    simulation.run(60.5)
    running(simulation, 2, 30)
    assert len(members(simulation)) == 4


def test_a_job_goes_on_when_a_majority_has_power_again():
    simulation = Simulation(5, 0, min_nodes=2)
    running(simulation)
    for index in simulation.rules:
        simulation.crash(index)
    simulation.run(100)
    for index in (1, 3, 4):
        simulation.boot(index)
    running(simulation, 2, 30)
    assert members(simulation) == [1, 3, 4]


@pytest.mark.parametrize("lost", [0, 1])
def test_of_two_hosts_with_a_witness_either_may_be_lost(lost):
    simulation = Simulation(2, 0, min_nodes=1, witness=True, stop_grace=5.0)
    running(simulation)
    simulation.crash(lost)
    running(simulation, 2, 20)
    assert members(simulation) == [1 - lost]
    # Its witness is all that is left to agree with.
    simulation.boot(lost)
    simulation.run(90, lambda: simulation.current().number == 3)
    running(simulation, 3, 20)
    simulation.crash(1 - lost)
    running(simulation, 4, 20)
    assert members(simulation) == [lost]


def test_without_its_witness_a_job_of_two_hosts_runs_on_and_loses_none():
    simulation = Simulation(2, 0, min_nodes=1, witness=True)
    running(simulation)
    simulation.crash(2)
    simulation.run(60)
    assert simulation.current().number == 1 and simulation.running()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("lost", [0, 2])
def test_a_node_that_falls_silent_is_replaced_soon(seed, lost):
    simulation = Simulation(3, 1, seed=seed, loss=0.1)
    running(simulation)
    simulation.crash(lost)
    running(simulation, 2, 20)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("lost", [0, 2])
def test_a_supervisor_that_is_killed_is_back_soon(seed, lost):
    simulation = Simulation(3, 0, seed=seed)
    running(simulation)
    simulation.kill_supervisor(lost, 0.5)
    running(simulation, 2, 10)
    assert members(simulation) == [0, 1, 2]


@pytest.mark.parametrize("lost", [0, 2])
def test_a_node_that_refuses_is_not_waited_for(lost):
    simulation = Simulation(3, 1)
    running(simulation)
    simulation.kill_supervisor(lost, None)
    running(simulation, 2, 10)
    assert members(simulation) == [3 if index == lost else index for index in range(3)]


def test_a_spare_that_was_cut_off_for_a_while_is_there_when_it_is_wanted():
    simulation = Simulation(3, 1, min_nodes=2)
    running(simulation)
    simulation.partition([0, 1, 2], [3])
    simulation.run(120)
    simulation.heal()
    simulation.run(5)
    simulation.crash(1)
    running(simulation, 2, 20)
    assert members(simulation) == [0, 3, 2]


def test_a_stopped_job_leaves_nothing_behind_on_a_bad_network():
    simulation = Simulation(4, 1, loss=0.3, delay=0.2, stop_grace=10.0)
    running(simulation)
    simulation.terminate(2, stop=True)
    ended(simulation, "stopped")
    assert none_alive(simulation)()
