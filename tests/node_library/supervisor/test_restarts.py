# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which restarts there are, which of them count, and who takes part in them."""

from __future__ import annotations

import pytest

from tests.unit.simulated_job import ended, members, running
from tests.unit.supervisor_simulation import Simulation


def test_no_more_restarts_than_allowed():
    simulation = Simulation(2, 0, max_restarts=2)
    for number in (1, 2, 3):
        running(simulation, number)
        assert simulation.kill_rank(1)
    end = ended(simulation, "failed")
    assert end.restarts == 2
    assert end.reason == "rank 1 on n1 failed first: killed; max_restarts allows 2 restarts"
    assert (end.failure["host"], end.failure["rank"]) == ("n1", 1)


def grown_to(simulation, number, seconds=120):
    took = running(simulation, number, seconds)
    assert "grown" in [event.kind for event in simulation.nodes[simulation.current().indexes[0]].events]
    return took


@pytest.mark.parametrize("seed", range(4))
def test_a_job_that_was_shrunk_grows_when_its_node_has_been_back_for_a_while(seed):
    simulation = Simulation(3, 0, seed=seed, loss=0.2, min_nodes=2, grow_after=30, stop_grace=10)
    running(simulation)
    simulation.crash(1)
    running(simulation, 2)
    assert members(simulation) == [0, 2]
    simulation.boot(1)
    steps = simulation.nodes[0].tree.step
    assert 30 <= grown_to(simulation, 3) < 30 + 10 + 10
    assert members(simulation) == [0, 1, 2]
    current = simulation.current()
    assert (current.restarts, current.grown, current.reason) == (0, (1,), "n1 has stood by for 30 s")
    reported = [event.text for event in simulation.nodes[2].events if event.kind in ("shrunk", "grown")]
    assert reported == ["The job continues with 2 of 3 nodes.", "The job has grown to 3 of 3 nodes."]
    # The ranks wrote a checkpoint before they were ended: no step is lost.
    assert steps < current.step < simulation.nodes[0].tree.step


def test_a_spare_that_was_unfit_lets_a_job_grow_when_it_is_well():
    simulation = Simulation(2, 1, min_nodes=1, grow_after=30)
    simulation.nodes[2].fit, simulation.nodes[2].unfit = False, "a card is missing"
    running(simulation)
    simulation.crash(1)
    running(simulation, 2)
    simulation.run(100)
    assert members(simulation) == [0]
    simulation.nodes[2].fit = True
    grown_to(simulation, 3)
    assert members(simulation) == [0, 2]


def test_a_node_that_leaves_again_is_waited_for_twice_as_long():
    simulation = Simulation(2, 0, min_nodes=1, grow_after=20, deaf=0)
    running(simulation)
    took = []
    for number in (2, 4, 6):
        simulation.crash(1)
        running(simulation, number)
        simulation.boot(1)
        took.append(grown_to(simulation, number + 1))
    assert [round(seconds / 20) for seconds in took] == [1, 2, 4]
    assert simulation.current().grown == (1, 1, 1)
    assert simulation.current().restarts == 0


@pytest.mark.parametrize("seed", range(4))
def test_a_node_that_does_not_stay_costs_the_others_nothing(seed):
    """Its network comes and goes: it is never steadily there for as long as is asked."""
    simulation = Simulation(3, 0, seed=seed, min_nodes=2, grow_after=60)
    running(simulation)
    simulation.partition([0, 1], [2])
    running(simulation, 2)
    for _time in range(5):
        simulation.heal()
        simulation.run(40)
        simulation.partition([0, 1], [2])
        simulation.run(30)
    assert simulation.current().number == 2


@pytest.mark.parametrize("cut", [(0, 2), (1, 2), (2, 1)])
def test_a_node_that_not_all_hear_is_not_taken_in(cut):
    simulation = Simulation(3, 0, min_nodes=2, grow_after=20)
    running(simulation)
    simulation.crash(2)
    running(simulation, 2)
    simulation.cut_one_way(*cut)
    simulation.boot(2)
    simulation.run(100)
    assert members(simulation) == [0, 1]
    assert simulation.current().number == 2


def test_no_job_grows_where_that_is_not_wanted_or_it_is_whole():
    never = Simulation(2, 0, min_nodes=1, grow_after=0)
    whole = Simulation(2, 1, min_nodes=1, grow_after=20)
    for simulation in (never, whole):
        running(simulation)
        simulation.crash(1)
        running(simulation, 2)
        simulation.boot(1)
        simulation.run(200)
        assert simulation.current().number == 2


def test_a_node_that_was_left_out_for_its_speed_is_not_what_a_job_grows_by():
    simulation = Simulation(3, 0, min_nodes=2, exclude_stragglers=True, grow_after=20)
    simulation.busy[1] = 0.2
    running(simulation)
    simulation.run(60)
    simulation.kill_rank(0)
    running(simulation, 2)
    assert members(simulation) == [0, 2]
    simulation.run(100)
    assert simulation.current().number == 2


def test_ranks_that_have_no_step_yet_are_not_ended_for_one_node_more():
    simulation = Simulation(2, 0, min_nodes=1, grow_after=20)
    running(simulation)
    simulation.crash(1)
    simulation.stuck_step = 0
    simulation.run(60, lambda: simulation.current().number == 2)
    simulation.boot(1)
    simulation.run(100)
    assert simulation.current().number == 2
    simulation.stuck_step = None
    grown_to(simulation, 3)


def test_nodes_that_come_and_go_are_not_counted_while_the_job_gets_further():
    simulation = Simulation(3, 2, max_restarts=0)
    running(simulation)
    # A node is lost, one goes down as planned, a supervisor is started again.
    simulation.crash(1)
    running(simulation, 2)
    simulation.terminate(2)
    running(simulation, 3)
    simulation.crash(0)
    simulation.boot(0)
    running(simulation, 4)
    assert simulation.current().restarts == 0
    assert simulation.kill_rank(0)
    simulation.run(60, simulation.ended)
    assert simulation.current().reason.endswith("max_restarts allows no restart")


def test_a_lost_node_counts_where_the_ranks_had_not_got_further():
    simulation = Simulation(3, 1, max_restarts=0, min_nodes=1)
    running(simulation)
    simulation.crash(1)
    simulation.stuck_step = 0
    simulation.run(60, lambda: simulation.current().number == 2)
    simulation.run(10)
    assert simulation.current().restarts == 0
    simulation.crash(2)
    end = ended(simulation, "failed")
    assert end.reason == "n2 was lost; max_restarts allows no restart"
    assert end.failure is None


def test_a_node_on_which_the_program_cannot_begin_is_left_out_again():
    """It has made steps elsewhere: a spare without the data, for instance, must not end the job."""
    simulation = Simulation(3, 1, min_nodes=2)
    running(simulation)
    simulation.crash(1)
    simulation.stuck_step = 0
    simulation.run(60, lambda: simulation.current().number == 2 and 3 in simulation.alive_ranks())
    assert members(simulation) == [0, 3, 2]
    assert simulation.kill_rank(3)
    simulation.run(20, lambda: simulation.current().number == 3)
    simulation.stuck_step = None
    running(simulation, 3)
    assert members(simulation) == [0, 2]
    assert (simulation.current().restarts, simulation.current().left_out) == (1, (3,))
    # Nor does the job grow by it.
    simulation.run(200)
    assert simulation.current().number == 3


@pytest.mark.parametrize(("wait", "named"), [(3.0, "n1 was lost"), (-0.5, "rank 0 on n0 failed first: killed")])
def test_what_came_first_is_named_of_a_lost_node_and_a_failed_rank(wait, named):
    """A backend may end its process over a lost peer in words that nobody knows."""
    simulation = Simulation(3, 1, stop_grace=5)
    running(simulation)
    simulation.crash(1) if wait > 0 else simulation.kill_rank(0)
    simulation.run(abs(wait))
    tree = simulation.nodes[0].tree
    if wait > 0:
        tree.died, tree.echo = simulation.now, 0
    else:
        simulation.crash(1)
    running(simulation, 2)
    assert simulation.current().reason == named
    assert simulation.current().restarts == int(wait < 0)


def test_hosts_that_a_launch_reaches_late_are_not_replaced():
    simulation = Simulation(4, 1, join_timeout=600)
    for late in (1, 2, 3):
        simulation.crash(late)
        simulation.every[late].incarnation = 0
    for late in (1, 2, 3):
        simulation.run(50)
        simulation.boot(late)
    running(simulation)
    assert members(simulation) == [0, 1, 2, 3]
    assert simulation.current().number == 1


@pytest.mark.parametrize(("lost", "outcome"), [(0, "failed"), (1, "succeeded")])
def test_a_job_of_two_hosts_outlives_the_loss_of_the_second_only(lost, outcome):
    """One of two is no majority: if the network parts them, both would go on."""
    simulation = Simulation(2, 1, min_nodes=1, join_timeout=60)
    running(simulation)
    simulation.crash(lost)
    simulation.run(40)
    simulation.finish_after = 100
    simulation.run(200, simulation.ended)
    assert simulation.outcomes[1 - lost] == outcome
