# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever lies where a job's files are expected: what is known of the job is told, at once, and as JSON."""

from __future__ import annotations

import json
import os
import signal
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.history import read_history
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.report import report
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.status import status_from
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.sweep import read_sweep
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.watch import job_story, outcome_sentence
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.worker_group import exit_code_of
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.page import report_page
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.text_table import text_table
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.training_page import training_report
from ansible_collections.gaudi3.scale.tests.long_rows import each, rows_of
from ansible_collections.gaudi3.scale.tests.unit.json_places import places, with_value

FAILURE = {"rank": 1, "local_rank": 1, "exit_code": 1, "time": 5.0, "exception": "E", "message": "m", "lines": ["x"],
           "path": "/log", "host": "n1", "echo": 0}  # fmt: skip
FILES = {
    "description": {"engine": "torchrun", "host": "n1", "hosts": ["n1", "n2"], "processes_per_node": 2, "user": "u",
                    "environment": {"A": "b"}, "command": ["x.py"], "slurm": {"nodes": "any", "array": [["a"], ["b"]]},
                    "supervision": {"spares": []}},
    "started": {"time": 1.0, "launch": "x", "binding": [{"a": 1}]},
    "ended": {"result": "exit-code", "code": "exited", "status": "1", "time": 9.0},
    "status": {"time": 9.0, "state": "ended", "generation": 1, "members": ["n1", "n2"], "node_rank": 0, "leader": "n1",
               "restarts": 1, "alive": ["n1"], "step": 3, "outcome": "failed", "reason": "r", "failure": FAILURE},
    "slurm_job": {"job": 7},
}  # fmt: skip
LINES = {
    "metrics": [
        {"kind": "start", "time": 1.0, "step": 0, "world_size": 2, "nodes": 1, "device": "cpu", "flags": {"A": "b"},
         "versions": {"torch": "2"}},
        {"kind": "step", "time": 2.0, "step": 1, "loss": 5.0, "tokens_per_second": 10.0, "seconds": {"step": 1.0,
         "data": 0.5, "other": 0.4}, "memory_bytes": 5, "slowest": {"rank": 1, "node": "n1", "ratio": 1.2},
         "seconds_left": 9.0, "max_steps": 9, "lr": 0.1, "tokens_per_second_per_card": 5.0, "ends_at": 9.0,
         "gradient_norm": 0.7, "mfu": 0.4, "memory_parts": {"weights": 3, "rest": 2}, "graph_compilations": 4},
        {"kind": "step", "time": 3.0, "step": 2, "loss": 4.0, "tokens_per_second": 11.0, "seconds": {"step": 1.0}},
        {"kind": "nodes", "time": 3.0, "nodes": {"n1": {"busy_seconds": 1.0, "seconds": {"step": 1.0},
         "memory_bytes": 9}}},
        {"kind": "checkpoint", "time": 3.0, "step": 2, "seconds": 1.0, "bytes": 10, "message": "m"},
        {"kind": "end", "time": 4.0, "step": 2, "reason": "done"},
    ],
    "events": [{"kind": "hang", "time": 3.0, "generation": 1, "host": "n1", "text": "t"}],
    "usage": [{"time": 3.0, "generation": 1, "cores": 2.0, "of_cores": 8, "memory_bytes": 5,
               "cards": {"utilization": [1], "memory_bytes": [2], "watts": [3]}}],
}  # fmt: skip
AGENT_LOG = """E1121 09:12:46.979000 15930 torch/api.py:1002] failed (exitcode: -9) local_rank: 1 (pid: 15965) of binary
x FAILED
  time      : %s_%s
  host      : n1
  rank      : %s (local_rank: %s)
  exitcode  : %s (pid: 5)
  error_file: %s
"""
ODD = [None, True, -1, 10**17, 1e308, -1e308, "", "\x1b[2J\n", [1], [[]], {"a": 1}, "nan", [None], [{}]]
TEXTS = [b"", b"null", b"[1]", b"7", b'"x"', b"{", b"\xff\x00\xfe", b"[" * 200_000, b'{"a":' * 200_000, b"\n" * 9,
         b"9" * 5000, b'{"time": 1e999, "step": ' + b"9" * 400 + b"}",
         b'{"kind": "step", "step": ' + b"9" * 5000 + b"}",
         b'{"time": NaN}\n' * 3, b'{"a": 1, "a": 2}', b'"\\ud800"', b'{"kind": "\\ud800", "time": 1}\n']  # fmt: skip


@pytest.fixture
def paths(tmp_path):
    paths = JobPaths("llama", str(tmp_path / "state"), str(tmp_path / "log"), str(tmp_path / "units"))
    for name, content in FILES.items():
        put(getattr(paths, name), json.dumps(content))
    for name, lines in LINES.items():
        put(getattr(paths, name), "".join(f"{json.dumps(line)}\n" for line in lines))
    put(paths.agent_log, AGENT_LOG % ("2026-11-22", "09:12:46", 1, 1, -9, "/nowhere"))
    put(f"{paths.ranks}/job_x/attempt_0/1/stderr.log", "Traceback (most recent call last):\nValueError: x\n")
    return paths


def put(path: str, content: str | bytes) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(content if isinstance(content, bytes) else content.encode())


@contextmanager
def within(seconds: int):
    def expire(*_):
        raise TimeoutError("it waits for ever")

    before = signal.signal(signal.SIGALRM, expire)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def systemd(argv, **_more):
    return CommandResult(0, "ActiveState=inactive\n" if "show" in argv else "", "")


def defaulted(parts):
    """As the action fills in what an option of it has for a default."""
    return [{"notes": [], **part} if isinstance(part, dict) and "title" in part else part for part in parts]


def reported(paths):
    """All that is told of the job, as far as its page; the texts are those that a terminal would get."""
    with within(60):
        info = json.loads(json.dumps(report(paths, systemd), allow_nan=False))
        history = json.loads(json.dumps(read_history(paths), allow_nan=False))
        sweep = json.loads(json.dumps(read_sweep(paths), allow_nan=False))
        outcome_sentence("llama", status_from(info["supervision"]))
        job_story(info, {})
        host = {
            "inventory_hostname": "n1",
            "__gaudi_training_info": info,
            "__gaudi_training_history": {**history, "sweep": sweep},
        }
        made = training_report([host])
        json.dumps(made, allow_nan=False)
        text_table(made["rows"], made["columns"])
        wanted = ("rows", "columns", "notes", "charts", "sections")
        page = report_page("llama", subtitle="", **{name: defaulted(made[name]) for name in wanted})
    assert "\x1b" not in page
    return info


def test_an_honest_job_is_told(paths):
    info = reported(paths)
    assert (info["state"], info["failure"]["rank"], info["last_step"]["step"]) == ("failed", 1, 2)


@each(5)
@pytest.mark.parametrize("name", FILES)
def test_a_value_of_any_kind_in_a_record(paths, name, nth):
    for at, odd in rows_of(product(places(FILES[name]), ODD), nth):
        put(getattr(paths, name), json.dumps(with_value(FILES[name], at, odd)))
        try:
            reported(paths)
        except Exception as error:
            raise AssertionError(f"{name} {at} {odd!r}") from error


@each(5)
@pytest.mark.parametrize("name", LINES)
def test_a_value_of_any_kind_in_a_line(paths, name, nth):
    for at, odd in rows_of(product(places(LINES[name]), ODD), nth):
        lines = with_value(LINES[name], at, odd)
        put(getattr(paths, name), "".join(f"{json.dumps(line)}\n" for line in lines or ()) if at else "7\n")
        try:
            reported(paths)
        except Exception as error:
            raise AssertionError(f"{name} {at} {odd!r}") from error


@pytest.mark.parametrize("name", [*FILES, *LINES, "agent_log"])
def test_any_bytes_in_place_of_a_file(paths, name):
    for text in TEXTS:
        put(getattr(paths, name), text)
        reported(paths)


@pytest.mark.parametrize("kind", ["pipe", "device", "directory", "link"])
@pytest.mark.parametrize("name", [*FILES, *LINES, "agent_log"])
def test_what_is_no_file(paths, name, kind, tmp_path):
    path = Path(getattr(paths, name))
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    else:
        (tmp_path / "shadow").write_text("root:secret\n" * 9)
        path.symlink_to("/dev/zero" if kind == "device" else tmp_path / "shadow")
    info = reported(paths)
    if name != "agent_log" or kind != "link":
        assert "root:secret" not in json.dumps(info)


@pytest.mark.parametrize(
    "fields",
    [
        ("2026-02-31", "09:12:46", 1, 1, -9, "/nowhere"),
        ("0000-00-00", "99:99:99", 1, 1, -9, "/nowhere"),
        ("9999-12-31", "23:59:59", 1, 1, -9, "/nowhere"),
        ("0001-01-01", "00:00:00", 1, 1, -9, "/nowhere"),
        ("2026-11-22", "09:12:46", "9" * 5000, 1, -9, "/nowhere"),
        ("2026-11-22", "09:12:46", 1, "9" * 5000, -9, "/nowhere"),
        ("2026-11-22", "09:12:46", 1, 1, "-" + "9" * 5000, "/nowhere"),
        ("2026-11-22", "09:12:46", 1, 1, 1, "/dev/zero"),
        ("2026-11-22", "09:12:46", 1, 1, 1, "/etc/passwd"),
        ("2026-11-22", "09:12:46", "٣", "٣", 1, "\x00"),
    ],
    ids=range(10),
)
@pytest.mark.parametrize("supervised", [True, False])
def test_a_log_that_names_what_cannot_be(paths, fields, supervised):
    if not supervised:
        Path(paths.status).unlink()
    put(paths.agent_log, AGENT_LOG % fields)
    assert "root:x:0:0" not in json.dumps(reported(paths))


@pytest.mark.parametrize("status", ["²", "٣٣٣٣", "9" * 5000, "", "-1", "1.5", None, [], {"a": 1}, "_", "_DFL", "IGN"])
def test_an_end_that_is_no_number_has_no_code(status):
    assert exit_code_of({"status": status}) is None


@pytest.mark.parametrize(("status", "code"), [("0", 0), ("137", 137), (3, 3), ("KILL", -9)])
def test_an_end_has_its_code(status, code):
    assert exit_code_of({"status": status}) == code
