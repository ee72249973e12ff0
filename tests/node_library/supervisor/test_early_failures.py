# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Programs that tell no steps, and programs that fail soon after their start: how often they are started again."""

from __future__ import annotations

import random

import pytest

from gaudi3_scale.supervisor.generation import END
from gaudi3_scale.supervisor.succession import refused_its_arguments
from tests.unit.simulated_job import ended, members, running
from tests.unit.supervisor_simulation import Simulation


def begun(simulation, number):
    """Whether all ranks of this generation are there."""
    current = simulation.current()
    return current.number == number and set(simulation.alive_ranks()) >= set(current.indexes)


def fails(simulation, number, index, after=0.0, seconds=120):
    """A rank of ``index`` fails so long after the ranks of this generation were started."""
    simulation.run(seconds, lambda: begun(simulation, number) or simulation.ended())
    assert begun(simulation, number), simulation.current()
    simulation.run(after)
    assert simulation.kill_rank(index)


@pytest.mark.parametrize("seed", range(8))
def test_what_fails_at_once_is_tried_three_times(seed):
    simulation = Simulation(3, 1, seed=seed, loss=0.1)
    simulation.stuck_step = 0
    for number in (1, 2, 3):
        fails(simulation, number, 1, after=10)
    end = ended(simulation, "failed")
    assert (end.restarts, end.failure["host"]) == (2, "n1")
    assert end.reason == (
        "rank 1 on n1 failed first: killed; the program failed 3 times in a row before it had run for 60 s: it is not "
        "started again"
    )


def test_after_the_first_failure_it_is_said_what_failed_and_that_it_is_tried_again():
    simulation = Simulation(2, 0, silent=True)
    fails(simulation, 1, 0)
    simulation.run(4)
    reported = [event.text for event in simulation.nodes[1].events]
    assert reported[-1].startswith("rank 0 on n0 failed first: killed")
    assert simulation.current().number == 1
    simulation.run(30, lambda: begun(simulation, 2))
    reported = [event.text for event in simulation.nodes[1].events]
    assert reported[-1] == (
        "Generation 2 runs on n0, n1: rank 0 on n0 failed first: killed; the program failed once before it had run for "
        "60 s, and is tried again (3 times end the job)."
    )


@pytest.mark.parametrize("restarts", [0, 1, 2])
def test_there_are_never_more_tries_than_restarts_allow(restarts):
    simulation = Simulation(2, 0, silent=True, max_restarts=restarts)
    for number in range(1, restarts + 2):
        fails(simulation, number, 0)
        said = simulation.current().reason
        assert number == 1 or f"({restarts + 1} times end the job)" in said
    assert ended(simulation, "failed").restarts == restarts


@pytest.mark.parametrize("seed", range(8))
def test_a_program_that_tells_nothing_is_restarted_as_often_as_is_allowed(seed):
    simulation = Simulation(3, 0, seed=seed, loss=0.2, silent=True, max_restarts=5)
    for number in range(1, 7):
        fails(simulation, number, number % 3, after=100)
    end = ended(simulation, "failed")
    assert (end.restarts, end.early_failures, end.has_run) == (5, 0, True)
    assert end.reason.endswith("failed first: killed; max_restarts allows 5 restarts")


@pytest.mark.parametrize("after", [1, 100])
def test_a_usage_error_is_tried_once_however_long_the_imports_took(after):
    simulation = Simulation(2, 0, silent=True)
    said = "train.py: error: unrecognized arguments: --lr"
    simulation.last_words = {"exit_code": 2, "message": said, "lines": ["usage: train.py [-h]", said]}
    fails(simulation, 1, 1, after=after)
    end = ended(simulation, "failed")
    assert end.restarts == 0
    assert end.reason == (
        f"rank 1 on n1 failed first: {said}; a program that refuses its arguments is not started again"
    )


@pytest.mark.parametrize(
    ("code", "lines", "final"),
    [
        (2, ["usage: train.py [-h]", "train.py: error: the following arguments are required: --data"], True),
        (
            2,
            ["usage: python -m mine.train [-h]", "python -m mine.train: error: argument --x: invalid int value: 'a'"],
            True,
        ),
        (2, ["Usage: train [OPTIONS]", "Error: No such option: --lr"], True),
        # Another status, a program of the interpreter's own, and one that ends with these words by chance.
        (1, ["train.py: error: unrecognized arguments: --lr"], False),
        (2, ["python: can't open file '/x': [Errno 2] No such file or directory"], False),
        (2, ["the run ended with error: 5"], False),
        (2, [], False),
        (-9, ["train.py: error: x"], False),
    ],
)
def test_what_a_usage_error_is(code, lines, final):
    failure = {"exit_code": code, "message": lines[-1] if lines else "exit status 2", "lines": lines}
    assert refused_its_arguments(failure) is final
    assert refused_its_arguments({**failure, "message": "exit status 2"}) is final
    assert refused_its_arguments({**failure, "lines": []}) is final
    assert not refused_its_arguments(None)


def test_a_long_run_between_early_failures_begins_the_count_anew():
    simulation = Simulation(2, 0, silent=True, max_restarts=20)
    counts = []
    for number, after in enumerate((1, 1, 70, 1, 1, 100, 1, 1, 1), start=1):
        fails(simulation, number, 1, after=after)
        counts.append(simulation.current().early_failures)
    assert counts == [0, 1, 2, 0, 1, 2, 0, 1, 2]
    assert ended(simulation, "failed").restarts == 8


def test_a_step_further_than_before_is_no_early_failure():
    simulation = Simulation(2, 0, max_restarts=20)
    for number in range(1, 8):
        running(simulation, number)
        simulation.run(4)
        assert simulation.kill_rank(0)
    running(simulation, 8)
    assert (simulation.current().restarts, simulation.current().early_failures) == (7, 0)


def test_steps_that_were_made_before_make_a_failure_no_later_one():
    """It goes on from its checkpoint, and fails each time at the step at which it failed first."""
    simulation = Simulation(2, 0, max_restarts=20)
    simulation.stuck_step = 12
    for number in range(1, 5):
        simulation.run(60, lambda: simulation.running() and (simulation.nodes[0].tree.step or 0) >= 12)
        fails(simulation, number, 0)
    end = ended(simulation, "failed")
    assert (end.restarts, end.step) == (3, 12)
    assert "3 times in a row" in end.reason


def test_without_a_limit_only_the_restarts_are_counted():
    simulation = Simulation(2, 0, silent=True, max_restarts=6, min_runtime=0)
    for number in range(1, 8):
        fails(simulation, number, 0)
    end = ended(simulation, "failed")
    assert (end.restarts, end.early_failures) == (6, 0)


@pytest.mark.parametrize("seed", range(8))
def test_early_failures_are_counted_by_whoever_leads(seed):
    """The leader is lost after two of them; the next one goes on counting."""
    simulation = Simulation(4, 1, seed=seed, loss=0.1, silent=True, max_restarts=20)
    fails(simulation, 1, 2)
    fails(simulation, 2, 2)
    simulation.run(60, lambda: begun(simulation, 3))
    assert simulation.current().early_failures == 2
    simulation.crash(0)
    simulation.run(60, lambda: begun(simulation, 4))
    # A lost node is no failure of the program, and the row is broken.
    assert (members(simulation), simulation.current().early_failures) == ([4, 1, 2, 3], 0)
    for number in (4, 5, 6):
        fails(simulation, number, 2)
    assert "3 times in a row" in ended(simulation, "failed").reason


def test_a_node_that_is_lost_early_is_no_early_failure():
    simulation = Simulation(3, 3, silent=True, max_restarts=20)
    for number, lost in ((1, 0), (2, 1), (3, 2)):
        simulation.run(60, lambda number=number: begun(simulation, number))
        simulation.crash(lost)
    simulation.run(60, lambda: begun(simulation, 4))
    assert members(simulation) == [3, 4, 5]
    assert (simulation.current().early_failures, simulation.current().restarts) == (0, 3)


@pytest.mark.parametrize(("ran", "left_out"), [(100, (3,)), (10, ())])
def test_a_spare_on_which_a_program_fails_that_had_run_for_long_is_left_out(ran, left_out):
    """It tells no steps: that it runs elsewhere is known by how long it has run."""
    simulation = Simulation(3, 1, silent=True, min_nodes=2)
    simulation.run(30, lambda: begun(simulation, 1))
    simulation.run(ran)
    simulation.crash(1)
    fails(simulation, 2, 3, after=5)
    simulation.run(60, lambda: begun(simulation, 3))
    assert simulation.current().left_out == left_out
    assert members(simulation) == ([0, 2] if left_out else [0, 3, 2])


@pytest.mark.parametrize(("tells", "ends"), [(False, False), (True, True)])
def test_a_first_step_is_waited_for_only_where_steps_are_told(tells, ends):
    simulation = Simulation(
        2, 0, silent=True, hang_timeout=20, start_timeout=20, max_restarts=0, min_runtime=0, reports_steps=tells
    )
    simulation.run(300)
    assert simulation.ended() is ends
    if ends:
        assert "no first step within 20 s" in simulation.current().reason
    else:
        assert simulation.current().number == 1


def test_a_program_that_told_its_steps_once_is_waited_for_when_it_begins_again():
    simulation = Simulation(2, 0, hang_timeout=20, start_timeout=20, max_restarts=1)
    running(simulation)
    simulation.silent = True
    assert simulation.kill_rank(0)
    simulation.run(60, lambda: begun(simulation, 2))
    assert "no first step within 20 s" in ended(simulation, "failed").reason


@pytest.mark.parametrize("seed", range(24))
def test_many_failures_of_a_silent_program_have_one_history(seed):
    """Early and late ones, lost leaders and cut networks; the simulation holds its invariants at each look."""
    dice = random.Random(seed)
    simulation = Simulation(
        dice.choice([2, 3, 4]),
        dice.choice([0, 1, 2]),
        seed=seed,
        loss=dice.choice([0, 0.1, 0.3]),
        silent=True,
        min_nodes=2,
        max_restarts=dice.choice([2, 4, 30]),
        min_runtime=dice.choice([0, 20, 60]),
        join_timeout=60,
        stop_grace=5,
    )
    for _time in range(dice.randint(3, 12)):
        simulation.run(dice.choice([2, 10, 30, 80]))
        if not simulation.nodes:
            break
        index = dice.choice(sorted(simulation.nodes))
        dice.choice([simulation.kill_rank, simulation.kill_rank, simulation.kill_rank, simulation.crash])(index)
        if dice.random() < 0.3:
            simulation.cut_one_way(index, dice.choice(sorted(simulation.rules)))
        else:
            simulation.heal()
        if dice.random() < 0.5:
            for gone in set(simulation.rules) - set(simulation.nodes) - set(simulation.exits):
                simulation.boot(gone)
    simulation.heal()
    simulation.finish_after = 50
    simulation.run(500, simulation.ended)
    assert simulation.ended(), "somebody waits for ever"
    assert len({reported[0] for reported in simulation.exits.values() if reported[2].kind == END}) <= 1
