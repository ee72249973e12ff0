# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json

import pytest

from benchmarks.survival.__main__ import check, options
from benchmarks.survival.first_error import FirstError, names_of
from benchmarks.survival.steps import (
    DEAD,
    GOES_ON,
    STANDS_STILL,
    UNNOTICED,
    Outcome,
    Step,
    judge,
    longest_pause,
    read_steps,
)
from benchmarks.survival.table import cell, named_and_lost, pause, table
from benchmarks.survival.trial import StepFiles, is_between
from plugins.module_utils._errors import GaudiError

OLD = {1, 2}


def line(number, pid=1):
    return json.dumps({"time": 100.0 + number, "step": number, "pid": pid, "ranks": 3}) + "\n"


def steps(pid, *times):
    return [Step(float(time), number, pid) for number, time in enumerate(times, 1)]


def test_half_a_line_of_a_killed_rank_is_no_step():
    assert read_steps(line(1) + '{"time": 102.0, "st\n' + line(3, pid=7) + line(4)[:-1]) == [
        Step(101.0, 1, 1),
        Step(103.0, 3, 7),
    ]


def test_a_step_is_read_once_and_when_its_line_is_whole(tmp_path):
    files, path = StepFiles([tmp_path]), tmp_path / "steps.jsonl"
    assert files.look() == []
    path.write_text(line(1) + line(2)[:9])
    assert [step.number for step in files.look()] == [1]
    path.write_text(line(1) + line(2))
    assert [step.number for step in files.look()] == [1, 2]
    assert [step.number for step in files.look()] == [1, 2]


def test_a_job_goes_on_with_the_first_step_of_any_new_rank():
    found = judge([*steps(1, 98, 99), *steps(8, 112), *steps(9, 110.5)], OLD, 100.0, 101.0, 120.0, running=True)
    assert found == Outcome(gone=1.0, first=10.5, stale=0, end=GOES_ON)


def test_steps_of_old_ranks_count_as_stale_only_after_the_first_new_one():
    found = judge([*steps(1, 99, 104, 111, 112), *steps(9, 110, 113)], OLD, 100.0, None, 120.0, running=True)
    assert (found.gone, found.stale, found.end) == (None, 2, GOES_ON)


@pytest.mark.parametrize(
    ("last", "running", "end"), [(159.9, True, UNNOTICED), (120.0, True, STANDS_STILL), (120.0, False, DEAD)]
)
def test_a_job_without_a_new_step_is_told_by_its_old_ranks_and_agents(last, running, end):
    assert judge(steps(1, last), OLD, 100.0, None, 160.0, running) == Outcome(None, None, 0, end)


def well(gone, first, stale=0):
    return Outcome(gone, first, stale, GOES_ON)


@pytest.mark.parametrize(
    ("outcomes", "text"),
    [
        ([], "-"),
        ([well(1, 9), well(2, 7), well(9, 8)], "2.0 / 8.0"),
        ([well(1, 9), Outcome(1, None, 0, DEAD)], "1.0 / 9.0, in 1 of 2, else job dead"),
        ([Outcome(1, None, 0, DEAD), Outcome(1, None, 0, DEAD)], "job dead"),
        ([well(1, 9), well(None, 9)], "not gone in 1 of 2 / 9.0"),
        ([well(1, 9, stale=4), well(1, 9)], "1.0 / 9.0, **old ranks stepped beside new ones in 1 of 2**"),
    ],
)
def test_a_cell_has_medians_and_what_else_became_of_the_job(outcomes, text):
    assert cell(outcomes) == text


def test_an_engine_that_cannot_be_run_says_why_in_its_column():
    text = table(["cut"], {"ours": "", "other": "needs a | b"}, {("cut", "ours"): [well(1, 9)]}, {})
    assert text.splitlines() == [
        "| fault | ours | other |",
        "| --- | --- | --- |",
        "| cut | 1.0 / 9.0 | needs a / b |",
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--nodes", "2"], "--nodes is 2; give 3 to 200"),
        (["--repeat", "0"], "--repeat is 0; give at least 1."),
        (["--limit", "30"], "--limit is 30; give at least 55"),
        (["--checkpoint-every", "0"], "--checkpoint-every is 0; give at least 1 step."),
        (["--pause", "0"], "--pause is 0; give more than 0 seconds."),
    ],
)
def test_what_cannot_be_measured_is_refused_by_its_option(words, said):
    with pytest.raises(GaudiError, match=said):
        check(options().parse_args(words))


def test_the_defaults_can_be_measured():
    check(options().parse_args([]))


def test_the_longest_time_without_a_step_counts_where_the_others_go_on():
    assert longest_pause([99.0, 100.5, 103.0, 103.5], 100.0, 104.0) == 2.5
    assert longest_pause([], 100.0, 160.0) == 60.0
    went_on = [Outcome(None, 8.0, 5, GOES_ON, 2.0), Outcome(None, None, 0, UNNOTICED, 4.0)]
    assert pause(went_on) == "3.0 / 8.0"
    assert pause(went_on[1:]) == "4.0 / not started again"


NODE3 = names_of(3, "10.77.0.3", {4711})


@pytest.mark.parametrize(
    "line",
    [
        "supervisor: rank 2 on node3 failed first: killed by SIGKILL",
        "supervisor: node3 was not heard from for 10 s.",
        "failed (exitcode: -9) local_rank: 0 (pid: 4711) of binary: python",
        "RuntimeError: [gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.77.0.3]:36784",
        "The node 'host.example_4711_0' has failed to send a keep-alive heartbeat",
    ],
)
def test_a_line_about_a_failure_names_the_lost_node_by_its_name_address_rank_or_process(tmp_path, line):
    log = tmp_path / "log"
    log.write_text("rank 2 on node3 failed long ago\n")
    errors = FirstError([log, tmp_path / "none"], NODE3)
    assert errors.look() == ""
    with log.open("a") as stream:
        stream.write("got lighthouse quorum { replica: 10.77.0.3, commit_failures: 0 }\n")
        stream.write(f"Generation 2 runs on node1, node3\nrank 1 on node30 failed: 10.77.0.31, 47110\n{line}")
    assert errors.look() == ""
    with log.open("a") as stream:
        stream.write("\nnode3 is dead\n")
    assert errors.look() == line
    assert errors.look() == line


def test_steps_are_lost_that_old_ranks_had_done_and_new_ones_do_again():
    old = [Step(100 + number / 10, number, 1) for number in range(1, 78)]
    found = judge([*old, Step(112.0, 51, 9), Step(112.1, 52, 9)], OLD, 107.7, 108.0, 120.0, running=True)
    assert found.lost == 27
    # A rank that comes back into one that goes on finishes the same step as the others.
    beside = judge([*old, Step(107.71, 77, 9)], OLD, 105.0, None, 120.0, running=True)
    assert beside.lost == 0
    assert judge(old, OLD, 107.7, 108.0, 120.0, running=True).lost is None


def test_a_cell_of_the_second_table_has_medians_of_what_was_named_and_lost():
    found = [Outcome(1, 9, 0, GOES_ON, named=named, lost=lost) for named, lost in ((0.4, 10), (0.6, 30), (None, 20))]
    assert named_and_lost(found) == "0.5 in 2 of 3 / 20"
    assert named_and_lost(found[:1]) == "0.4 / 10"
    assert named_and_lost([Outcome(None, None, 0, UNNOTICED)]) == "not named / -"
    assert named_and_lost([]) == "-"


def test_a_fault_comes_half_way_between_two_checkpoints():
    assert [step for step in range(100, 150) if is_between(step, 50)] == [125, 126, 127, 128, 129, 130]
    assert is_between(7, 1)
