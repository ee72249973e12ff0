# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The file of a history: what is appended is read, and what it must not be is refused before anything runs."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._benchmark.history import (
    KEY,
    append,
    check_place,
    key_of,
    read_lines,
    steps_in,
)

CASE = {"workload": "w", "nodes": 1}
INFO = {"hpu": {"driver": {"version": "1.24.1-b3", "release": "1.24.1"}, "firmware": {"spi": ["1.22"]}}}


def line(**other: Any) -> dict[str, Any]:
    return {"time": 1, "case": CASE, "key": {}, "unit": "tokens_per_second", "rates": [100.0, 101.0], **other}


def test_lines_are_appended_and_read(tmp_path: Path) -> None:
    file = str(tmp_path / "new" / "history.jsonl")
    check_place(file)
    append(file, [line()])
    append(file, [line(time=2), line(time=3)])
    assert [one["time"] for one in read_lines(file)] == [1, 2, 3]


def test_a_cut_line_stays_apart_from_the_next(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    file.write_text('{"time": 1, "ca')
    append(str(file), [line()])
    assert json.loads(file.read_text().splitlines()[1])["time"] == 1
    with pytest.raises(GaudiError, match=r"line 1, is no figure of a benchmark .*; remove the line"):
        check_place(str(file))


def _many(file: str, number: int) -> None:
    for _time in range(20):
        append(file, [line(time=number, note="x" * 5000)] * 3)


def test_two_benchmarks_at_a_time_mix_no_lines(tmp_path: Path) -> None:
    file = str(tmp_path / "history.jsonl")
    both = [multiprocessing.get_context("fork").Process(target=_many, args=(file, number)) for number in (1, 2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    times = [one["time"] for one in read_lines(file)]
    assert len(times) == 120
    assert all(len(set(times[at : at + 3])) == 1 for at in range(0, 120, 3))


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("s3://bucket/history.jsonl", "to which nothing can be appended; name a file"),
        ("{}", "which cannot be written; name a file in a directory of yours"),
        ("{}/file/history.jsonl", "which cannot be written"),
    ],
)
def test_where_nothing_can_be_appended_is_one_sentence(tmp_path: Path, path: str, words: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(GaudiError, match=words):
        check_place(path.format(tmp_path))


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"rates": [1.0]}, "of one run there is no figure"),
        ({"key": 3}, "TypeError"),
        ({"rates": ["a", 2]}, "ValueError"),
    ],
)
def test_a_line_of_another_kind_is_named(tmp_path: Path, other: dict[str, Any], words: str) -> None:
    file = tmp_path / "history.jsonl"
    file.write_text(json.dumps(line()) + "\n\n" + json.dumps(line(**other)) + "\n")
    with pytest.raises(GaudiError, match=f"line 3, is no figure.*{words}"):
        read_lines(str(file))


def test_the_key_is_of_software_and_cards_and_nothing_in_it_is_of_a_boot() -> None:
    start = {
        "versions": {"torch": "2.11", "driver": "1.24.1"},
        "flags": {"B": "1", "A": "0"},
        "boot_id": "6f4c",
        "time": 17.0,
    }
    info = {"hpu": {**INFO["hpu"], "boot_id": "6f4c", "cards": [{"accel_index": 3}]}}
    key = key_of({"n2": info, "n1": info}, start)
    assert tuple(key) == KEY
    assert key == {
        "release": ["1.24.1"],
        "driver": ["1.24.1-b3"],
        "firmware": ["1.22"],
        "flags": {"A": "0", "B": "1"},
        "versions": {"torch": "2.11"},
        "hosts": ["n1", "n2"],
    }


def test_steps_are_those_of_the_same_case_in_the_order_of_time() -> None:
    slow = [line(time=at, rates=[90.0, 90.5, 91.0], key={"driver": ["2"]}) for at in (14, 13, 12)]
    fast = [line(time=at, rates=[100.0, 100.5, 101.0], key={"driver": ["1"]}) for at in (2, 1, 3)]
    others = [line(time=20, case={"workload": "other"}), line(time=5, unit="samples_per_second", rates=[1.0, 1.1])]
    (found,) = steps_in([*slow, *fast, *others], [CASE])
    assert [time for time, _rates in found["entries"]] == [1, 2, 3, 12, 13, 14]
    assert [(step["time"], step["position"], step["cause"]) for step in found["steps"]] == [(12, 3, "driver 1 to 2")]
