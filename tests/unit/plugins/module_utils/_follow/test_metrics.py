# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.metrics import (
    Metrics,
    duration,
    metric_line,
    opening_lines,
    read_metrics,
    step_losses,
)

SLOW_STEP = (
    "step 1200/20000  loss 3.2146  1,235,000 tokens/s (19,290/card)  412 ms: fwd 31 bwd 52 opt 6 comm 9 %  61.2 GiB  "
    "slow: rank 11 on gaudi-02, 1.42 of the median  2 h 04 min left"
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
                "step": 1200,
                "max_steps": 20000,
                "loss": 3.21456,
                "tokens_per_second": 1234567.8,
                "tokens_per_second_per_card": 19290.1,
                "seconds_left": 7470,
                "seconds": {
                    "step": 0.412,
                    "data": 0.001,
                    "forward": 0.128,
                    "backward": 0.214,
                    "optimizer": 0.025,
                    "communication": 0.037,
                    "other": None,
                },
                "memory_bytes": 65713209344,
                "slowest": {"rank": 11, "node": "gaudi-02", "ratio": 1.42},
            },
            SLOW_STEP,
        ),
        (
            {"kind": "step", "step": 20, "loss": 3, "tokens_per_second": 950.4, "tokens_per_second_per_card": 950.4},
            "step 20  loss 3.0000  950 tokens/s",
        ),
        (
            {"kind": "step", "step": 1, "max_steps": 9, "loss": 5.5, "tokens_per_second": None, "seconds_left": None},
            "step 1/9  loss 5.5000",
        ),
        ({"kind": "step", "step": 7, "seconds": {"step": None, "data": None}}, "step 7"),
        (
            {"kind": "step", "step": 7, "seconds": {"step": 2.0, "forward": 1.0, "communication": None, "other": 0.4}},
            "step 7  2.00 s: fwd 50 rest 20 %",
        ),
        (
            {"kind": "checkpoint", "time": 1.5, "step": 20, "path": "/c", "seconds": 3.2, "blocked_seconds": 0.0125},
            "checkpoint at step 20: path /c, took 3.20 s, blocked 12.5 ms",
        ),
        (
            {"kind": "checkpoint_failed", "step": 20, "message": "the disk is full", "path": "/c"},
            "checkpoint failed at step 20: the disk is full, path /c",
        ),
        (
            {"kind": "upload", "step": 20, "destination": "s3://b/p", "bytes": 1 << 31},
            "upload at step 20: destination s3://b/p, size 2.0 GiB",
        ),
        # The storage did not say what it has, so there was no step to upload yet.
        (
            {"kind": "upload", "state": "retry", "step": None, "message": "it is down", "retry_seconds": 4.0},
            "upload: it is down, state retry, retry 4.00 s",
        ),
        ({"kind": "stopped", "step": 120, "reason": "SIGTERM"}, "stopped at step 120: SIGTERM"),
        ({"kind": "end", "step": 9, "last_loss": 3.123456789}, "end at step 9: last_loss 3.12346"),
        ({"kind": "start", "step": 0, "resumed_from": None}, "started"),
        (
            {"kind": "start", "step": 9, "resumed_from": 9, "world_size": 16, "nodes": 2, "device": "hpu"},
            "resumes from step 9, 16 rank(s) on 2 node(s), hpu",
        ),
        (
            {"kind": "nodes", "nodes": {"n1": {"busy_seconds": 0.25}, "n2": {"busy_seconds": 1.5}}},
            "nodes: own work 875 ms a step, most on n2 (1.50 s)",
        ),
        ({"kind": "nodes", "nodes": {"n1": {"busy_seconds": 0.0046}}}, "nodes: own work 4.6 ms a step"),
        ({"kind": "nodes", "nodes": {"n1": {"busy_seconds": None}}}, "nodes: nothing was measured"),
        ({"mine": True}, "?: mine True"),
    ],
)
def test_a_metric_on_the_screen(metric, line):
    assert metric_line(metric) == line


def test_a_line_of_a_large_job_fits_a_screen():
    line = {
        "kind": "step",
        "step": 123000,
        "max_steps": 500000,
        "loss": 2.12345,
        "tokens_per_second": 12345678,
        "tokens_per_second_per_card": 24112,
        "seconds_left": 90000,
        "seconds": {
            "step": 1.5,
            "data": 0.001,
            "forward": 0.4,
            "backward": 0.8,
            "optimizer": 0.1,
            "communication": 0.2,
        },
        "memory_bytes": 90 << 30,
    }
    assert len(metric_line(line)) <= 130
    # What the trainer knows besides, on a card whose peak is known.
    assert len(metric_line({**line, "gradient_norm": 0.71234, "mfu": 0.4134})) <= 152


def test_a_job_that_has_just_begun_is_shown_from_its_start():
    lines = [{"kind": "start"}, *LINES]
    assert opening_lines(lines, 100.0, 200.0) == [metric_line(line) for line in lines]


def test_of_a_job_that_has_run_for_a_while_the_last_lines_are_shown():
    assert opening_lines(LINES, 100.0, 100.0 + 7500) == [
        "It has run for 2 h 05 min; its last lines:",
        "step 1  loss 4.0000",
        "step 2  loss 3.0000",
        "step 3  loss 2.0000",
    ]


@pytest.mark.parametrize(
    ("reported", "line"),
    [
        ({"samples_per_second": 640.0, "samples_per_second_per_card": 40.0}, "step 7  640 samples/s (40/card)"),
        ({"samples_per_second": 640.0, "tokens_per_second": 1e6}, "step 7  1,000,000 tokens/s"),
        ({"loss": "nan", "seconds": {"step": 0.25}}, "step 7  loss nan  250 ms"),
        ({"loss": 2.5, "gradient_norm": 0.71234, "mfu": 0.4134}, "step 7  loss 2.5000  grad 0.71  mfu 41 %"),
        ({"gradient_norm": 1234.5, "mfu": 1.4}, "step 7  grad 1.2e+03"),
        ({"gradient_norm": "inf", "mfu": "much"}, "step 7  grad inf"),
    ],
)
def test_a_step_of_a_users_own_script(reported, line):
    assert metric_line({"kind": "step", "step": 7, **reported}) == line


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
