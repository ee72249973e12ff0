# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Lines of a program that may write anything: what is shown, and that nothing breaks what reads them."""

from __future__ import annotations

import json
import os

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.history import course_of
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.json_lines import (
    LONGEST_LINE,
    object_of,
    read_lines,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.metrics import metric_line, read_metrics
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.training_page import training_report

STEP = '{"kind": "step", "step": 3, "time": 5.0, "loss": %s, "tokens_per_second": %s}'


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("NaN", "nan"),
        ("Infinity", "inf"),
        ("-Infinity", "-inf"),
        ("1e999", "inf"),
        ("-1e999", "-inf"),
        ("9" * 400, "inf"),
        ("1" * 19, float("1" * 19)),
        ("2.5", 2.5),
        ("7", 7),
        ("true", True),
    ],
)
def test_a_number_is_one_or_has_a_name(text, value):
    line = object_of((STEP % (text, text)).encode())
    assert line["loss"] == value
    assert metric_line(line).startswith("step 3")


@pytest.mark.parametrize(
    "line", [b"", b"7", b"[1]", b"{", b"\xff", b"[" * 200_000, b'{"a":' * 200_000, b"null", b'"kind"']
)
def test_what_is_no_object_is_left_out(line):
    assert object_of(line) is None


@pytest.mark.parametrize("value", ["NaN", "1e999", "9" * 400, "[]", '{"a": 1}', '"3"', "null", "true", "-1"])
def test_odd_values_break_neither_screen_nor_page(tmp_path, value):
    path = tmp_path / "metrics.jsonl"
    fields = (
        *("loss", "tokens_per_second", "samples_per_second", "lr", "seconds", "memory_bytes", "max_steps"),
        *("gradient_norm", "mfu", "memory_parts", "graph_compilations", "validation_loss"),
    )
    odd = ", ".join(f'"{name}": {value}' for name in fields)
    path.write_text("".join(f'{{"kind": "step", "time": {value}, "step": {step}, {odd}}}\n' for step in (1, 2, 3)))
    lines = read_metrics(str(path)).lines
    assert len(lines) == 3
    assert all(metric_line(line) for line in lines)
    runs = course_of(read_lines(str(path)))
    assert [point["step"] for point in runs[0]["points"]] == [1, 2, 3]
    host = {
        "inventory_hostname": "node1",
        "__gaudi_training_info": {},
        "__gaudi_training_history": {"runs": runs, "events": []},
    }
    json.dumps(training_report([host]), allow_nan=False)


def test_a_line_without_an_end_holds_up_nobody(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b"x" * (LONGEST_LINE + 10) + b'\n{"kind": "step", "step": 9}\n')
    first = read_metrics(str(path))
    assert (first.lines, first.offset) == ((), LONGEST_LINE)
    assert [line["step"] for line in read_metrics(str(path), first.offset).lines] == [9]
    assert [line["step"] for line in read_lines(str(path))] == [9]


def test_of_a_file_that_grows_while_it_is_read_no_more_is_read(tmp_path):
    path = tmp_path / "metrics.jsonl"
    line = '{"step": 1}\n'
    path.write_text(line * 3)
    found = read_lines(str(path), 2 * len(line))
    with path.open("a") as stream:
        for number, _line in enumerate(found, 1):
            assert number <= 2
            stream.write(line)
            stream.flush()


def test_what_is_no_file_is_none(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/etc/passwd")
    for path in (tmp_path / "pipe", tmp_path / "link", tmp_path, tmp_path / "none", "/dev/zero"):
        assert read_metrics(str(path)).lines == ()
        assert list(read_lines(str(path))) == []
