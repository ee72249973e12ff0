# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.rank_log import rank_log
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.usage import last_usage, read_usage
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths

CARDS = {"utilization": [90, 80, None], "memory_bytes": [5, 9, 7], "watts": [400, 300, 1.5]}


@pytest.fixture
def paths(tmp_path):
    paths = JobPaths("demo", str(tmp_path / "state"), str(tmp_path / "log"))
    Path(paths.logs).mkdir(parents=True)
    return paths


def line(number, **more):
    reported = {
        "time": 1000.0 + number,
        "generation": 1,
        "of_cores": 8,
        "cores": float(number % 4),
        "memory_bytes": number,
    }
    return json.dumps({**reported, **more})


def write(paths, *lines):
    Path(paths.usage).write_text("\n".join(lines) + "\n")


def test_what_cards_say_is_put_together(paths):
    write(paths, line(1, cards=CARDS), line(2, cores=None))
    assert last_usage(paths) == {
        "time": 1002.0,
        "generation": 1.0,
        "of_cores": 8.0,
        "cores": 1.0,
        "memory_bytes": 2.0,
        "cards": 3.0,
        "utilization": 85.0,
        "lowest_utilization": 80.0,
        "card_memory_bytes": 9.0,
        "watts": 701.5,
    }


def test_what_a_job_holds_is_there_where_synapse_reports_it(paths):
    write(paths, line(1, cards={**CARDS, "held_bytes": [7, 5]}), line(2), line(3, cards={"held_bytes": [6, "x"]}))
    assert [sample.get("held_memory_bytes") for sample in read_usage(paths)] == [7.0, None, 6.0]
    assert last_usage(paths)["held_memory_bytes"] == 6.0
    assert read_usage(paths, 1)[0]["held_memory_bytes"] == 7.0


def test_a_long_course_is_thinned_by_means_and_the_highest_of_memory(paths):
    write(paths, *map(line, range(1000)))
    samples = read_usage(paths, 10)
    assert [sample["time"] for sample in samples] == [1099.0 + 100 * number for number in range(10)]
    assert {sample["cores"] for sample in samples} == {1.5}
    assert samples[0]["memory_bytes"] == 99
    assert len(read_usage(paths, 5000)) == 1000


@pytest.mark.parametrize(
    "odd",
    [
        "[" * 200_000,
        "[1]",
        "x",
        '{"time": NaN}',
        '{"time": 1' + "0" * 400 + "}",
        '{"time": true}',
        '{"cores": 1}',
        '{"time": -1}',
        '{"time": 1, "x": "' + "y" * 20_000 + '"}',
    ],
)
def test_odd_lines_are_no_samples(paths, odd):
    write(paths, line(1), odd, line(2))
    assert [sample["time"] for sample in read_usage(paths)] == [1001.0, 1002.0]


def test_of_odd_values_nothing_is_taken(paths):
    odd = {"cores": "many", "memory_bytes": float("inf"), "of_cores": 10**400, "cards": [1]}
    write(
        paths,
        line(1, **odd),
        line(2, cards={"utilization": "x", "watts": [float("nan"), {}], "memory_bytes": [1] * 999}),
    )
    first, second = read_usage(paths)
    assert {first[key] for key in ("cores", "memory_bytes", "of_cores", "utilization", "cards")} == {None}
    assert (second["watts"], second["utilization"], second["cards"]) == (None, None, 64)


def test_nothing_is_read_where_nothing_is(paths):
    assert (read_usage(paths), last_usage(paths), rank_log(paths)) == ([], {}, {})
    Path(paths.usage).symlink_to("/etc/passwd")
    assert read_usage(paths) == []


def test_the_last_words_of_a_rank_are_those_that_came_last(paths):
    attempt = Path(paths.ranks, "job_x", "attempt_0", "0")
    attempt.mkdir(parents=True)
    (attempt / "stdout.log").write_text("begun\n")
    many = "".join(f"line {n}\n" for n in range(30))
    (attempt / "stderr.log").write_text(f"{many} 1%|\r 2%|\x1b[A\r\n\n{'z' * 999}")
    os.utime(attempt / "stdout.log", (1, 1))
    reported = rank_log(paths)
    assert reported["path"].endswith("/0/stderr.log")
    assert reported["lines"] == [*(f"line {n}" for n in range(22, 30)), "2%| [A", "z" * 300]
