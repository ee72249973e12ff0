# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._follow import history as module
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.history import (
    EVENTS,
    MOST_RUNS,
    current,
    lines_of_runs,
    means,
    merge,
    read_history,
    split_runs,
    thin,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.json_lines import weight_of
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths


def step(number, time, loss=3.0, rate=1000.0):
    return {"kind": "step", "step": number, "time": time, "loss": loss, "tokens_per_second": rate}


def start(number, time):
    return {"kind": "start", "step": number, "time": time}


def steps_of(run):
    return [point["step"] for point in run["points"]]


def write(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture
def paths(tmp_path):
    return JobPaths("llama", str(tmp_path / "state"), str(tmp_path / "log"))


def test_a_resumed_job_is_one_course_without_the_steps_that_were_made_twice(paths):
    first = [start(0, 1), step(10, 2), step(20, 3), step(30, 4), {"kind": "checkpoint", "time": 3, "step": 20}]
    again = [start(20, 6), step(30, 7), {"kind": "end", "time": 8, "step": 30}]
    write(Path(paths.earlier, "20261121T172311.042000000Z", "metrics.jsonl"), first)
    write(Path(paths.metrics), again)
    before, after = read_history(paths)["runs"]
    assert (steps_of(before), before["lost"], len(before["remarks"])) == ([10, 20], 10, 1)
    assert (steps_of(after), after["lost"], after["end"]["step"]) == ([30], 0, 30)


def test_runs_in_one_file_are_told_apart(paths):
    write(Path(paths.metrics), [start(0, 1), step(10, 2), start(10, 5), step(20, 6)])
    assert [steps_of(run) for run in read_history(paths)["runs"]] == [[10], [20]]


def test_another_training_of_that_name_is_no_part_of_the_course():
    runs = split_runs([start(0, 1), step(10, 2), start(10, 3), step(20, 4), start(0, 5), step(10, 6)])
    assert [steps_of(run) for run in current(runs)] == [[10]]


def test_a_script_without_start_lines_begins_anew_where_steps_go_back():
    runs = split_runs([step(5, 1), step(10, 2), step(8, 3), step(12, 4)])
    assert [steps_of(run) for run in current(runs)] == [[5], [8, 12]]


def test_a_run_loses_what_any_later_one_made_again():
    runs = [start(0, 1), step(10, 2), step(30, 3), start(30, 4), step(40, 5), start(10, 6), step(50, 7)]
    course = current(split_runs(runs))
    assert [(steps_of(run), run["lost"]) for run in course] == [([10], 20), ([], 30), ([50], 0)]


def test_a_course_of_many_runs_is_gone_through_once(monkeypatch):
    """A part of a second where it is, and many where each run is held against all later ones."""
    monkeypatch.setattr(module, "MOST_RUNS", 8_000)
    runs = split_runs(start(5, number) for number in range(8_000))
    begun = time.process_time()
    assert len(current(runs)) == 8_000
    assert time.process_time() - begun < 3


def test_of_runs_without_number_the_newest_are_kept(paths):
    """An account may write whatever it likes, and as often."""
    write(Path(paths.metrics), [start(5, number) for number in range(MOST_RUNS + 500)])
    runs = read_history(paths)["runs"]
    assert (len(runs), runs[-1]["start"]["time"]) == (MOST_RUNS, MOST_RUNS + 499)
    assert len(split_runs(start(5, number) for number in range(MOST_RUNS + 500))) == MOST_RUNS
    # A node may have told more to the controller.
    many = [{**runs[0], "start": start(5, number)} for number in range(MOST_RUNS + 500)]
    kept = merge([{"runs": many, "events": []}])["runs"]
    assert (len(kept), kept[0]["start"]["time"]) == (MOST_RUNS, 500)


@pytest.mark.parametrize(("lines", "first"), [(100, 10), (15, 15), (10, 20), (5, 25)])
def test_of_more_lines_than_are_read_the_last_are_there_in_their_order(paths, monkeypatch, lines, first):
    write(Path(paths.earlier, "20261121T172311.042000000Z", "metrics.jsonl"), [step(n, n) for n in range(10, 20)])
    write(Path(paths.metrics), [step(n, n) for n in range(20, 30)])
    weight = sum(map(weight_of, Path(paths.metrics).read_bytes().splitlines(keepends=True)))
    monkeypatch.setattr(module, "MOST_LINE_BYTES", lines * weight // 10)
    assert [line["step"] for line in lines_of_runs(paths, "metrics.jsonl")] == [*range(first, 30)]
    monkeypatch.setattr(module, "MOST_LINE_BYTES", 1 << 20)
    monkeypatch.setattr(module, "MOST_LINES", lines)
    assert [line["step"] for line in lines_of_runs(paths, "metrics.jsonl")] == [*range(first, 30)]


@pytest.mark.parametrize(
    "line", [b"{}\n", b"\n", b"7\n", b'{"kind":"x"}\n', b"[[],[],[]]\n", b'{"a":[' + b"[]," * 300_000 + b"[]]}\n"]
)
def test_an_account_that_writes_many_lines_or_dense_ones_takes_little_of_root(paths, line):
    """Six MB of {} were 9 s and 177 MB before there was a bound on lines."""
    Path(paths.metrics).parent.mkdir(parents=True, exist_ok=True)
    Path(paths.metrics).write_bytes(line * ((6 << 20) // len(line)))
    Path(paths.events).write_bytes(line * ((6 << 20) // len(line)))
    code = (
        f"import resource\nfrom {module.__name__} import *\n"
        f"resource.setrlimit(resource.RLIMIT_AS, ({256 << 20}, {256 << 20}))\nread_history({paths!r})"
    )
    around = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    begun = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    assert (
        subprocess.run([sys.executable, "-c", code], env=around, capture_output=True, check=False, text=True).stderr
        == ""
    )
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begun < 5


def test_parts_that_every_step_names_anew_hold_nobody_up():
    """A part of a second where each is looked at once, and many where each is sought in all."""
    points = [{"step": n, "seconds": {f"{n} {part}": 1.0 for part in range(400)}} for n in range(500)]
    begun = time.process_time()
    assert sum(len(mean["seconds"]) for mean in means(points, 2)) == 500 * 400
    assert time.process_time() - begun < 3


def test_no_more_is_told_than_a_controller_can_hold(paths, monkeypatch):
    write(Path(paths.metrics), [{**start(5, number), "more": "x" * 1000} for number in range(10)])
    write(Path(paths.events), [{"time": number, "text": "t"} for number in range(EVENTS + 9)])
    monkeypatch.setattr(module, "_MOST_TOLD", 5000)
    history = read_history(paths)
    assert [run["start"]["time"] for run in history["runs"]] == [6, 7, 8, 9]
    assert (len(history["events"]), history["events"][-1]["time"]) == (EVENTS, EVENTS + 8)


def test_what_two_nodes_know_is_put_together_by_time():
    """Rank 0's node was replaced by a spare, which wrote the second run."""
    gone = {"runs": current(split_runs([start(0, 1), step(10, 2), step(20, 3)])), "events": [{"time": 4, "text": "b"}]}
    spare = {"runs": current(split_runs([start(10, 5), step(20, 6)])), "events": [{"time": 3, "text": "a"}]}
    history = merge([spare, gone, {"runs": [], "events": gone["events"]}])
    assert [steps_of(run) for run in history["runs"]] == [[10], [20]]
    assert [run["lost"] for run in history["runs"]] == [10, 0]
    assert [event["text"] for event in history["events"]] == ["a", "b"]


def test_nodes_that_share_their_logs_know_the_same_runs_once(paths):
    write(Path(paths.metrics), [start(0, 1), step(10, 2), start(10, 5), step(20, 6)])
    known = read_history(paths)
    assert merge([known, read_history(paths)]) == merge([known])
    assert [steps_of(run) for run in merge([known, known])["runs"]] == [[10], [20]]


def test_a_long_run_keeps_its_extremes_and_its_ends():
    points = [step(number, number, loss=5 - number / 50_000) for number in range(1, 100_001)]
    points[77_000]["loss"], points[30_000]["tokens_per_second"] = 9.0, 3.0
    kept = thin(points, 600)
    assert 250 < len(kept) <= 600
    assert {1, 77_001, 30_001, 100_000} <= {point["step"] for point in kept}
    assert kept == sorted(kept, key=lambda point: point["step"])


def test_speed_and_parts_are_averaged_over_stretches():
    points = [
        {"step": step, "tokens_per_second": float(step), "seconds": {"forward": 0.1 * step, "communication": None}}
        for step in range(1, 101)
    ]
    assert means(points, 2) == [
        {"step": 50, "tokens_per_second": 25.5, "seconds": {"forward": 2.55, "communication": None}},
        {"step": 100, "tokens_per_second": 75.5, "seconds": {"forward": 7.55, "communication": None}},
    ]
    assert [mean["step"] for mean in means(points[:3], 120)] == [1, 2, 3]
    assert means([], 120) == []


def test_a_loss_that_is_none_does_not_stop_the_thinning():
    points = [step(number, number, loss=float("nan"), rate=None) for number in range(100)]
    assert [point["step"] for point in thin(points, 10)] == [0, 99]


def test_lines_that_are_half_written_and_no_files_are_no_error(paths):
    assert read_history(paths) == {"runs": [], "events": [], "usage": []}
    write(Path(paths.metrics), [step(1, 1)])
    with Path(paths.metrics).open("a") as stream:
        stream.write('{"kind": "st')
    write(Path(paths.events), [{"time": 1, "kind": "run", "text": "t"}])
    history = read_history(paths)
    assert ([steps_of(run) for run in history["runs"]], len(history["events"])) == ([[1]], 1)
