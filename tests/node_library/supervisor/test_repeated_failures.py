# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a job is started again: the program's own fault twice at one place ends it, and nothing else does."""

from __future__ import annotations

import random

import pytest

from gaudi3_scale.supervisor.generation import END
from gaudi3_scale.supervisor.repeated import place_of
from tests.unit.simulated_job import ended
from tests.unit.supervisor_simulation import Simulation

RAISED = {
    "exit_code": 1,
    "exception": "ValueError",
    "message": "shard 7 is empty",
    "kind": "exception",
    "at": "train.py, line 12, in main",
    "row": "",
}
# 100 faults of a program: type, kind, row and line of each.
PROGRAMS = [
    *((name, "exception", "") for name in ("ValueError", "KeyError", "TypeError", "IndexError", "RuntimeError")),
    *((name, "exception", "") for name in ("AttributeError", "AssertionError", "ZeroDivisionError", "OutOfData")),
    *((name, "import", "") for name in ("ImportError", "ModuleNotFoundError", "SyntaxError")),
    *((name, "nan", "") for name in ("FloatingPointError", "ValueError")),
    *(("RuntimeError", "device", row) for row in ("device_memory", "graph", "node", "lazy", "bridge", "warmup")),
]
DETERMINISTIC = [
    {**RAISED, "exception": name, "kind": kind, "row": row, "at": f"train.py, line {line}, in main"}
    for line in range(10, 15)
    for name, kind, row in PROGRAMS
]
# 100 faults of a node, a link, a card or a limit, and such of which nobody knows where they lie.
KINDS = [
    *((name, kind) for name in ("OSError", "RuntimeError") for kind in ("memory", "disk", "storage", "server")),
    ("RuntimeError", "hang"),
    ("RuntimeError", "peer"),
    ("RuntimeError", "device"),
    ("", "signal"),
    ("", "abort"),
    ("", "status"),
    ("", "node"),
    ("", "limit"),
    ("", "preempted"),
    ("MemoryError", "memory"),
    ("RuntimeError", ""),
    ("RuntimeError", "unheard of"),
]
TRANSIENT = [
    *(
        {**RAISED, "exception": name, "kind": kind, "exit_code": code}
        for name, kind in KINDS
        for code in (1, -9, -11, -6)
    ),
    *(
        {**RAISED, "exception": "RuntimeError", "kind": "device", "row": "acquire", "exit_code": code}
        for code in (1, -6, 2, 3)
    ),
    # No frame of the user's code is known, or it is another one each time.
    *({**RAISED, "exception": name, "at": ""} for name in ("ValueError", "KeyError", "TypeError", "OutOfData")),
    *({**RAISED, "exception": name, "at": None} for name in ("ValueError", "KeyError", "TypeError", "OutOfData")),
    *({**RAISED, "exception": name, "moves": True} for name in ("ValueError", "KeyError", "TypeError", "OutOfData")),
    *({**RAISED, "exception": name, "echo": 1} for name in ("ValueError", "KeyError", "TypeError", "OutOfData")),
]


def begun(simulation, number):
    current = simulation.current()
    return current.number == number and set(simulation.alive_ranks()) >= set(current.indexes)


def tries(said, *, index=1, most=3, **options):
    """How often a program was started that fails so each time, and the last generation."""
    said = dict(said)
    moves = said.pop("moves", False)
    simulation = Simulation(2, 0, **{"max_restarts": 10, "silent": True, **options})
    for number in range(1, most + 1):
        simulation.run(120, lambda number=number: begun(simulation, number) or simulation.ended())
        if not begun(simulation, number):
            return number - 1, simulation.current()
        words = {key: value for key, value in said.items() if value is not None}
        simulation.last_words = {**words, **({"at": f"train.py, line {number}, in main"} if moves else {})}
        simulation.kill_rank(index)
    simulation.run(120, lambda: begun(simulation, most + 1) or simulation.ended())
    return most, simulation.current()


def test_there_are_a_hundred_of_each():
    assert (len(DETERMINISTIC), len(TRANSIENT)) == (100, 100)


def test_none_that_is_the_programs_fault_is_tried_a_third_time():
    counts = [tries(said)[0] for said in DETERMINISTIC]
    assert counts == [2] * len(DETERMINISTIC)


def test_none_that_may_pass_is_ended_by_its_place():
    found = [tries(said, most=2) for said in TRANSIENT]
    assert [count for count, _last in found] == [2] * len(TRANSIENT)
    assert [last.kind for _count, last in found] == ["run"] * len(TRANSIENT)


def test_the_reason_says_where_it_failed_and_that_it_is_not_started_again():
    count, last = tries(RAISED)
    assert (count, last.kind, last.outcome, last.restarts) == (2, END, "failed", 1)
    assert last.reason == (
        "rank 1 on n1 failed first: ValueError: shard 7 is empty; it failed twice at the same place, ValueError in "
        "train.py line 12 of rank 1, and got no further: trying again cannot help, fix it and launch it again"
    )
    assert last.failure["others"] == ["the ranks on n0 followed: they were ended"]


def test_the_first_time_it_is_said_that_a_second_one_ends_the_job():
    simulation = Simulation(2, 0, silent=True)
    simulation.last_words = RAISED
    simulation.run(90, lambda: begun(simulation, 1))
    assert simulation.kill_rank(0)
    simulation.run(60, lambda: begun(simulation, 2))
    assert "is tried again (3 times end the job, twice at the same place do, too)" in simulation.current().reason


@pytest.mark.parametrize(
    ("options", "most"),
    [
        # Only max_restarts counts.
        ({"min_runtime": 0, "max_restarts": 4}, 5),
        # It may be another rank each time.
        ({}, 2),
    ],
)
def test_the_operator_may_have_it_tried_on(options, most):
    assert tries(RAISED, most=6, **options)[0] == most


def test_a_program_that_got_further_is_started_again():
    simulation = Simulation(2, 0, max_restarts=10)
    simulation.last_words = RAISED
    for number in range(1, 5):
        simulation.run(90, lambda number=number: begun(simulation, number))
        simulation.run(6)
        assert simulation.kill_rank(0)
    simulation.run(90, lambda: begun(simulation, 5))
    assert simulation.current().number == 5


def test_one_that_resumes_and_fails_at_the_same_step_is_not():
    simulation = Simulation(2, 0, max_restarts=10)
    simulation.last_words, simulation.stuck_step = RAISED, 12
    for number in (1, 2):
        simulation.run(90, lambda number=number: begun(simulation, number))
        simulation.run(60, lambda: (simulation.nodes[0].tree.step or 0) >= 12)
        assert simulation.kill_rank(0)
    end = ended(simulation, "failed")
    assert (end.restarts, end.step) == (1, 12)
    assert "trying again cannot help" in end.reason


def test_one_that_tells_no_steps_and_ran_for_long_is_started_again():
    simulation = Simulation(2, 0, max_restarts=10, silent=True)
    simulation.last_words = RAISED
    for number in range(1, 5):
        simulation.run(90, lambda number=number: begun(simulation, number))
        simulation.run(100)
        assert simulation.kill_rank(0)
    simulation.run(90, lambda: begun(simulation, 5))
    assert simulation.current().number == 5


def test_a_lost_node_between_breaks_the_row():
    simulation = Simulation(3, 1, max_restarts=10, silent=True, min_nodes=2)
    simulation.last_words = RAISED
    simulation.run(90, lambda: begun(simulation, 1))
    assert simulation.kill_rank(0)
    simulation.run(90, lambda: begun(simulation, 2))
    assert simulation.current().failed_at == "ValueError in train.py line 12"
    simulation.crash(2)
    simulation.run(90, lambda: begun(simulation, 3))
    assert simulation.current().failed_at == ""
    assert simulation.kill_rank(0)
    simulation.run(90, lambda: begun(simulation, 4))
    assert simulation.current().number == 4


def test_a_spare_on_which_it_fails_is_left_out_before_the_program_is_blamed():
    """It ran elsewhere: that is a node's fault as long as there is one that can be left out."""
    simulation = Simulation(3, 1, silent=True, min_nodes=2, max_restarts=10)
    simulation.run(30, lambda: begun(simulation, 1))
    simulation.run(100)
    simulation.crash(1)
    simulation.last_words = RAISED
    for number in (2, 3):
        simulation.run(90, lambda number=number: begun(simulation, number))
        assert simulation.kill_rank(3 if number == 2 else 0)
    assert simulation.current().left_out == (3,)
    end = ended(simulation, "failed")
    assert "trying again cannot help" in end.reason


@pytest.mark.parametrize("seed", range(8))
def test_whoever_leads_then_knows_of_the_first_time(seed):
    """The leader's supervisor is killed or stopped between the two; messages get lost, and are real datagrams."""
    dice = random.Random(seed)
    simulation = Simulation(4, 0, seed=seed, loss=dice.choice([0, 0.1, 0.3]), silent=True, min_nodes=3, real_bytes=True)
    simulation.last_words = RAISED
    simulation.run(90, lambda: begun(simulation, 1))
    assert simulation.kill_rank(dice.choice(range(4)))
    simulation.run(90, lambda: begun(simulation, 2))
    assert simulation.kill_rank(dice.choice([1, 2, 3]))
    simulation.run(dice.choice([0.3, 0.5]))
    simulation.stop_supervisor(0, seconds=2)
    end = ended(simulation, "failed", 240)
    assert end.restarts == 1
    assert "trying again cannot help" in end.reason


@pytest.mark.parametrize(
    ("changed", "place"),
    [
        ({}, "ValueError in train.py line 12"),
        ({"at": "train.py, line 9"}, "ValueError in train.py line 9"),
        ({"at": ""}, ""),
        ({"exception": ""}, ""),
        ({"kind": "device", "row": "acquire"}, ""),
        ({"kind": "device", "row": "graph"}, "ValueError in train.py line 12"),
        ({"kind": "device", "row": ["graph"]}, ""),
        ({"kind": 5}, ""),
        ({"echo": 2}, ""),
    ],
)
def test_what_a_place_is(changed, place):
    assert place_of({**RAISED, "echo": 0, **changed}) == place
    assert place_of(None) == ""


def test_a_place_is_no_longer_than_peers_take():
    """A message with a longer one would be none to them."""
    count, last = tries({**RAISED, "exception": "E" * 700}, real_bytes=True)
    assert (count, last.kind) == (2, END)
    assert len(place_of({**RAISED, "echo": 0, "exception": "E" * 700})) == 400
