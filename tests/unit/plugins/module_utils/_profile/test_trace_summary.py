# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What was at work in a trace, whatever the order of its events; traces that are cut off; memory that stays bounded."""

from __future__ import annotations

import gzip
import json
import random

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._profile import trace_events as reading
from ansible_collections.gaudi3.scale.plugins.module_utils._profile.lines import trace_data, trace_lines
from ansible_collections.gaudi3.scale.plugins.module_utils._profile.timelines import SLOTS, Timelines
from ansible_collections.gaudi3.scale.plugins.module_utils._profile.trace_summary import summarize

MS = 1000.0


def event(name: str, start: float, duration: float, category: str = "cpu_op") -> dict:
    return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": 5e12 + start * MS, "dur": duration * MS}


STEP = [
    event("ProfilerStep#7", 0, 100, "user_annotation"),
    event("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 10, "user_annotation"),
    event("aten::stack", 2, 4),
    event("aten::linear", 20, 30),
    event("aten::addmm", 22, 26),
    event("aten::clone", 50, 10),
    event("aten::copy_", 51, 9),
    event("gloo:all_reduce", 40, 40, "user_annotation"),
    {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": '}],"traceEvents": ['}},
]


def write(path, events, end="]}") -> str:
    path.write_text('{"schemaVersion": 1, "traceEvents": [\n' + ",\n".join(map(json.dumps, events)) + end)
    return str(path)


def shares(summary) -> dict[str, int]:
    """In milliseconds."""
    parts = ("data", "computed", "moved", "communication", "gap")
    return {part: round(getattr(summary, part) * 1000) for part in parts}


@pytest.mark.parametrize("seed", range(4))
def test_each_moment_is_counted_once_whatever_the_order(tmp_path, seed):
    events = random.Random(seed).sample(STEP, len(STEP))
    summary = summarize(write(tmp_path / "t.json", events))
    assert shares(summary) == {"data": 10, "computed": 30, "moved": 10, "communication": 20, "gap": 30}
    assert (summary.steps, summary.has_card) == (1, False)


def test_a_cards_rows_count_where_there_are_some(tmp_path):
    card = [
        event("gemm", 30, 40, "kernel"),
        event("Memcpy HtoD", 75, 5, "gpu_memcpy"),
        event("ncclAllReduce", 60, 40, "kernel"),
    ]
    summary = summarize(write(tmp_path / "t.json", [*STEP, *card]))
    assert shares(summary) == {"data": 10, "computed": 40, "moved": 5, "communication": 25, "gap": 20}
    assert summary.has_card


def test_the_longest_names_are_shown(tmp_path):
    lines = trace_lines(summarize(write(tmp_path / "t.json", STEP)))
    assert lines[0] == "1 step in 100.0 ms, 8 events, from the host's operations"
    assert lines[1] == " 30%  computing"
    assert json.loads(json.dumps(trace_data(summarize(write(tmp_path / "t.json", STEP)))))["steps"] == 1


def test_a_compressed_trace_and_a_plain_list_are_read_too(tmp_path):
    text = write(tmp_path / "t.json", STEP)
    (tmp_path / "t.json.gz").write_bytes(gzip.compress((tmp_path / "t.json").read_bytes()))
    (tmp_path / "list.json").write_text(json.dumps(STEP))
    assert summarize(str(tmp_path / "t.json.gz")) == summarize(text) == summarize(str(tmp_path / "list.json"))


@pytest.mark.parametrize("piece", [7, 64, 1000])
def test_events_lie_across_the_pieces_that_are_read(tmp_path, monkeypatch, piece):
    monkeypatch.setattr(reading, "PIECE", piece)
    assert shares(summarize(write(tmp_path / "t.json", STEP)))["computed"] == 30


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"traceEvents": [{"ph": "X"}, {"ph"', "is cut off after 1 events"),
        ('{"traceEvents": [{"ph": "X"}', "is cut off after 1 events"),
        ('{"schemaVersion": 1, "trace', "is cut off before its first event"),
        ('{"a": 1}', "is no Chrome trace"),
        ("hello", "is no Chrome trace"),
        ("", "is no Chrome trace"),
    ],
)
def test_what_is_no_whole_trace_is_one_sentence(tmp_path, text, said):
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(GaudiError) as raised:
        summarize(str(tmp_path / "t.json"))
    assert f"t.json {said}" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_compressed_trace_that_is_cut_off(tmp_path):
    write(tmp_path / "t.json", STEP)
    (tmp_path / "t.gz").write_bytes(gzip.compress((tmp_path / "t.json").read_bytes())[:-20])
    with pytest.raises(GaudiError, match=r"t.gz is cut off"):
        summarize(str(tmp_path / "t.gz"))


def test_an_event_without_end_does_not_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "LONGEST_EVENT", 1 << 16)
    monkeypatch.setattr(reading, "PIECE", 1 << 12)
    (tmp_path / "t.json").write_text('{"traceEvents": [{"name": "' + "a" * (1 << 20))
    with pytest.raises(GaudiError, match="is cut off after 0 events"):
        summarize(str(tmp_path / "t.json"))


def test_a_trace_that_is_not_there(tmp_path):
    with pytest.raises(GaudiError, match=r"cannot be read: No such file or directory; name a trace that is there"):
        summarize(str(tmp_path / "t.json"))


def test_a_long_time_takes_no_more_memory_and_is_still_measured():
    lines = Timelines(("a", "b"), most_blocks=4)
    for second in range(100):
        lines.mark("a", 5e12 + second * 1e6, 5e12 + second * 1e6 + 4e5)
        lines.mark("b", 5e12 + second * 1e6 + 2e5, 5e12 + second * 1e6 + 5e5)
    start, end = 5e12, 5e12 + 1e8
    assert lines.seconds("a", (), start, end) == pytest.approx(40, rel=0.01)
    assert lines.seconds("a", ("b",), start, end) == pytest.approx(20, rel=0.01)
    assert lines.seconds("a", (), start, start + 1e7) == pytest.approx(4, rel=0.01)
    assert lines.moment * SLOTS * 4 >= 1e8
