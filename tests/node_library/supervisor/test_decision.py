# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Every test also holds the invariants of ``Simulation.check`` at each look: one generation of each number, ranks that
keep their order, no more restarts than allowed, and no supervisor that leaves ranks behind."""

from __future__ import annotations

import re

import pytest

from tests.unit.simulated_job import ended, members, none_alive, running
from tests.unit.supervisor_simulation import END, Simulation


@pytest.mark.parametrize("seed", range(6))
def test_a_dead_rank_ends_all_ranks_soon_though_a_third_of_the_datagrams_is_lost(seed):
    simulation = Simulation(4, 1, seed=seed, loss=0.33)
    running(simulation)
    assert simulation.kill_rank(2)
    # SIGTERM's grace, and a few datagrams.
    assert simulation.run(30, none_alive(simulation)) <= 5.0 + 3.0
    running(simulation, 2)
    assert members(simulation) == [0, 1, 2, 3]
    assert "rank 2 on n2 failed first" in simulation.current().reason


@pytest.mark.parametrize("seed", range(4))
def test_a_spare_takes_the_place_of_a_lost_node(seed):
    simulation = Simulation(4, 2, seed=seed, loss=0.1)
    running(simulation)
    simulation.crash(1)
    assert simulation.run(60, none_alive(simulation)) <= 20.0
    running(simulation, 2)
    assert members(simulation) == [0, 4, 2, 3]
    assert {"node_lost", "spare"} <= set(simulation.kinds(0))
    # It comes back, and takes no place that is taken.
    simulation.boot(1)
    simulation.run(10)
    assert members(simulation) == [0, 4, 2, 3]
    assert "node_back" in simulation.kinds(0)
    # The next loss has it in its own place of old, if that is free.
    simulation.crash(4)
    running(simulation, 3)
    assert members(simulation) == [0, 1, 2, 3]


@pytest.mark.parametrize("seed", range(4))
def test_of_two_parts_the_larger_goes_on_and_the_other_has_ended_before(seed):
    simulation = Simulation(5, 0, seed=seed, min_nodes=3)
    running(simulation)
    simulation.partition([0, 1], [2, 3, 4])
    simulation.run(60, lambda: simulation.current().number == 2)
    assert members(simulation) == [2, 3, 4]
    running(simulation, 2)
    assert simulation.alive_ranks() == [2, 3, 4]
    assert simulation.overlap == 0.0
    simulation.heal()
    simulation.run(10)
    assert simulation.nodes[0].state.committed.number == 2
    # What the network did is not counted.
    assert simulation.current().restarts == 0


def test_of_two_halves_the_one_with_the_first_member_goes_on():
    simulation = Simulation(4, 0, min_nodes=2)
    running(simulation)
    simulation.partition([1, 2], [0, 3])
    running(simulation, 2)
    assert members(simulation) == [0, 3]
    assert simulation.alive_ranks() == [0, 3]


def test_parts_that_are_all_too_small_wait_and_go_on_together_when_healed():
    simulation = Simulation(3, 0, min_nodes=1)
    running(simulation)
    simulation.partition([0], [1], [2])
    simulation.run(30, none_alive(simulation))
    simulation.run(100)
    assert simulation.current().number == 1
    simulation.heal()
    running(simulation, 2)
    assert members(simulation) == [0, 1, 2]


def test_who_hears_nobody_for_join_timeout_gives_up():
    simulation = Simulation(3, 0, min_nodes=1, join_timeout=60)
    running(simulation)
    simulation.partition([0], [1], [2])
    ended(simulation, "failed")
    assert "has not heard from most of the job's nodes for 60 s" in simulation.exits[0][1]


@pytest.mark.parametrize(("source", "target"), [(0, 1), (1, 0), (1, 2)])
def test_a_link_that_is_cut_in_one_direction_costs_one_node(source, target):
    simulation = Simulation(4, 0, min_nodes=3)
    running(simulation)
    simulation.cut_one_way(source, target)
    running(simulation, 2)
    assert len(members(simulation)) == 3
    assert not {source, target} <= set(members(simulation))


def test_a_supervisor_that_was_started_again_is_not_taken_for_the_old_one():
    simulation = Simulation(3, 1)
    running(simulation)
    simulation.crash(1)
    simulation.boot(1)
    # Long before anybody would miss it.
    assert simulation.run(30, none_alive(simulation)) <= 5.0 + 3.0
    running(simulation, 2)
    assert simulation.current().has(1, 2) and not simulation.current().has(1, 1)


def test_a_node_that_is_back_without_its_votes_and_hears_nobody_gives_up_soon():
    """The job may be over: nobody told it, and it could begin nothing without the others."""
    simulation = Simulation(3, 0, min_nodes=2)
    running(simulation)
    simulation.crash(1)
    simulation.partition([0, 2], [1])
    simulation.boot(1, lost=True)
    simulation.run(80, lambda: 1 in simulation.exits)
    assert simulation.outcomes == {1: "failed"}
    assert "has not heard from most of the job's nodes for 40 s" in simulation.exits[1][1]
    running(simulation, 2)
    assert members(simulation) == [0, 2]


def test_nodes_that_all_lose_power_go_on_when_they_are_back():
    simulation = Simulation(3, 0, join_timeout=60)
    running(simulation)
    for index in (0, 1, 2):
        simulation.crash(index)
    simulation.run(30)
    for index in (2, 0, 1):
        simulation.boot(index)
    running(simulation, 2)
    assert "the supervisor of" in simulation.current().reason or "lost" in simulation.current().reason


def test_when_most_nodes_have_lost_their_votes_nobody_knows_what_was_agreed():
    simulation = Simulation(3, 0, join_timeout=60)
    running(simulation)
    for index in (0, 1):
        simulation.crash(index)
        simulation.boot(index, lost=True)
    ended(simulation, "failed", 200)
    assert simulation.current().number == 1


def test_a_stop_on_one_node_stops_all():
    simulation = Simulation(4, 1, loss=0.2, stop_grace=30)
    running(simulation)
    simulation.terminate(3, stop=True)
    assert ended(simulation, "stopped").kind == END


def test_a_stop_reaches_only_who_can_be_reached():
    simulation = Simulation(2, 0)
    running(simulation)
    simulation.partition([0], [1])
    simulation.terminate(1, stop=True)
    simulation.run(60, lambda: 1 in simulation.exits)
    assert simulation.outcomes == {1: "stopped"}


def test_a_node_that_goes_down_is_replaced_and_ends():
    simulation = Simulation(3, 1, stop_grace=10)
    running(simulation)
    simulation.terminate(0)
    running(simulation, 2)
    assert members(simulation) == [3, 1, 2]
    simulation.run(10, lambda: 0 in simulation.exits)
    assert simulation.outcomes == {0: "stopped"}


def test_a_hang_is_named_and_ends_the_generation():
    simulation = Simulation(2, 0, hang_timeout=20)
    running(simulation)
    simulation.stuck_step = 1
    simulation.run(60, none_alive(simulation))
    event = next(event for event in simulation.nodes[1].events if event.kind == "hang")
    assert event.text == "no step for 20 s; all ranks are at the same step."
    simulation.stuck_step = None
    running(simulation, 2)


def test_without_a_first_step_start_timeout_counts():
    simulation = Simulation(2, 0, hang_timeout=20, start_timeout=40, max_restarts=0, reports_steps=True)
    simulation.stuck_step = 0
    end = ended(simulation, "failed")
    assert end.reason == "no first step within 40 s; max_restarts allows no restart"


@pytest.mark.parametrize(("exclude", "place"), [(True, [0, 3, 2]), (False, [0, 1, 2])])
def test_a_slow_node_is_named_once_and_left_out_where_asked(exclude, place):
    simulation = Simulation(3, 1, exclude_stragglers=exclude)
    simulation.busy[1] = 0.2
    running(simulation)
    simulation.run(60)
    for node in simulation.nodes.values():
        reported = [event.text for event in node.events if event.kind == "straggler"]
        assert reported == ["n1 needs more than 1.3 times as long for its own work as the median of all ranks."]
    simulation.kill_rank(0)
    running(simulation, 2)
    assert members(simulation) == place


def test_a_slow_node_stays_where_it_cannot_be_spared():
    simulation = Simulation(3, 0, exclude_stragglers=True)
    simulation.busy[1] = 0.2
    running(simulation)
    simulation.run(60)
    simulation.kill_rank(0)
    running(simulation, 2)
    assert members(simulation) == [0, 1, 2]


def test_an_unfit_node_is_not_taken_and_says_why():
    simulation = Simulation(3, 2)
    for index in (1, 3):
        simulation.nodes[index].fit, simulation.nodes[index].unfit = False, "a card is missing"
    running(simulation)
    assert members(simulation) == [0, 4, 2]
    reported = {event.host: event.text for event in simulation.nodes[0].events if event.kind == "unfit"}
    assert reported == {name: f"{name} cannot take part: a card is missing" for name in ("n1", "n3")}


def test_too_few_fit_nodes_end_the_job_by_their_names():
    simulation = Simulation(2, 0)
    simulation.nodes[1].fit, simulation.nodes[1].unfit = False, "a card is missing"
    end = ended(simulation, "failed")
    assert end.reason.startswith("n1 is not fit: a card is missing; ")


def test_a_host_that_never_comes_is_replaced_after_a_while():
    simulation = Simulation(3, 1, join_timeout=600)
    simulation.crash(1)
    assert running(simulation, 1, 120) >= 60.0
    assert members(simulation) == [0, 3, 2]


def test_a_lost_node_without_a_spare_is_waited_for():
    simulation = Simulation(3, 0, join_timeout=100)
    running(simulation)
    simulation.crash(2)
    simulation.run(60)
    assert simulation.current().number == 1
    simulation.boot(2)
    running(simulation, 2)
    simulation.crash(2)
    end = ended(simulation, "failed", 200)
    assert end.reason.startswith("n2 was lost; after 100 s 2 of the nodes can take part and the job wants 3")


def test_a_job_that_nobody_else_can_join_fails_at_once_and_says_after_what_time():
    simulation = Simulation(3, 0, min_nodes=3)
    simulation.every[0].fit, simulation.every[0].unfit = False, "a card is missing"
    end = ended(simulation, "failed", 10)
    assert re.match("n0 is not fit: a card is missing; after [0-9] s 2 of the nodes can take part", end.reason)


@pytest.mark.parametrize("hosts", [1, 2, 5])
def test_all_end_well_together(hosts):
    simulation = Simulation(hosts, 1, loss=0.2, finish_after=10)
    assert ended(simulation, "succeeded").restarts == 0
