# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils.job_metrics import (
    Metrics,
    duration,
    metric_line,
    read_metrics,
    step_losses,
)

LINES = [{"kind": "step", "step": step, "loss": 5.0 - step} for step in range(4)]


@pytest.fixture
def metrics(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    return path


def test_each_line_is_returned_once(metrics):
    first = read_metrics(str(metrics))
    assert first == Metrics(tuple(LINES), metrics.stat().st_size)
    assert read_metrics(str(metrics), first.offset) == Metrics((), first.offset)
    with metrics.open("a") as stream:
        stream.write('{"kind": "end"}\n')
    assert read_metrics(str(metrics), first.offset).lines == ({"kind": "end"},)


def test_half_a_line_waits_for_its_other_half(metrics):
    offset = metrics.stat().st_size
    with metrics.open("a") as stream:
        stream.write('{"kind": "st')
    assert read_metrics(str(metrics), offset) == Metrics((), offset)
    with metrics.open("a") as stream:
        stream.write('ep"}\n')
    assert read_metrics(str(metrics), offset).lines == ({"kind": "step"},)


def test_a_shorter_file_is_a_new_run(metrics):
    assert read_metrics(str(metrics), 10_000).lines == tuple(LINES)


@pytest.mark.parametrize(("after", "count"), [(-1, 0), (-60, 1), (-100_000, 4)])
def test_a_negative_place_counts_from_the_end(metrics, after, count):
    result = read_metrics(str(metrics), after)
    assert result.lines == tuple(LINES[len(LINES) - count :])
    assert result.offset == metrics.stat().st_size


def test_what_is_no_object_is_left_out(metrics):
    metrics.write_text('{"a": 1}\nnot json\n[1]\n\n{"b": 2}\n')
    assert read_metrics(str(metrics)).lines == ({"a": 1}, {"b": 2})


def test_no_file_is_no_metrics(tmp_path):
    assert read_metrics(str(tmp_path / "none"), 5) == Metrics((), 0)


def test_losses_of_steps_only():
    lines = ({"kind": "start"}, {"kind": "step", "loss": 5.5}, {"kind": "end", "loss": 1}, {"kind": "step"})
    assert step_losses(lines) == [5.5]


@pytest.mark.parametrize(
    ("metric", "line"),
    [
        (
            {
                "kind": "step",
                "step": 20,
                "max_steps": 200,
                "loss": 3.21456,
                "tokens_per_second": 12345.6,
                "seconds_left": 95,
            },
            "step 20/200  loss 3.2146  12,346 tokens/s  1 min 35 s left",
        ),
        (
            {"kind": "step", "step": 1, "max_steps": 9, "loss": 5.5, "tokens_per_second": None, "seconds_left": None},
            "step 1/9  loss 5.5000",
        ),
        ({"kind": "step", "step": 7}, "step 7"),
        ({"kind": "checkpoint", "time": 1.5, "step": 20, "path": "/c"}, "checkpoint: step 20, path /c"),
        ({"kind": "end", "step": 9, "last_loss": 3.123456789}, "end: step 9, last_loss 3.12346"),
        ({"kind": "start", "step": 0, "resumed_from": None}, "start: step 0"),
        ({"mine": True}, "?: mine True"),
    ],
)
def test_a_metric_on_the_screen(metric, line):
    assert metric_line(metric) == line


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-3, "0 s"),
        (0, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (3599, "59 min 59 s"),
        (3600, "1 h 00 min"),
        (86399, "23 h 59 min"),
        (90000, "1 d 01 h"),
    ],
)
def test_durations(seconds, text):
    assert duration(seconds) == text
