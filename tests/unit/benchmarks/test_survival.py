# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json

import pytest

from benchmarks.survival.__main__ import check, options
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
from benchmarks.survival.table import cell, pause, table
from benchmarks.survival.trial import StepFiles
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
    text = table(["cut"], {"ours": "", "other": "needs a | b"}, {("cut", "ours"): [well(1, 9)]})
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
