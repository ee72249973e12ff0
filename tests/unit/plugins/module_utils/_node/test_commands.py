# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys

from ansible_collections.gaudi3.scale.plugins.module_utils._node import commands
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process


def test_output_and_status_come_back():
    result = run_process([sys.executable, "-c", "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"])
    assert result == (3, "out\n", "err\n")


def test_a_missing_program_is_status_127_with_its_name():
    result = run_process(["no-such-program-here"])
    assert result.rc == 127
    assert "no-such-program-here" in result.stderr


def test_a_slow_program_is_ended_with_status_124():
    result = run_process([sys.executable, "-uc", "import time; print('started'); time.sleep(30)"], timeout=0.5)
    assert result.rc == 124
    assert "0.5 s" in result.stderr


def test_the_language_is_english_and_given_variables_are_added():
    show = "import os; print(os.environ['LC_ALL'], os.environ['EXTRA'])"
    assert run_process([sys.executable, "-c", show], env={"EXTRA": "here"}).stdout == "C here\n"


def test_standard_input_is_closed():
    assert run_process([sys.executable, "-c", "import sys; print(repr(sys.stdin.read()))"]).stdout == "''\n"


def test_what_cannot_be_run_is_status_126_with_the_reason(tmp_path):
    headless = tmp_path / "headless"
    headless.write_text("\x00")
    headless.chmod(0o755)
    for argv in ([str(tmp_path)], [str(headless)], ["true", "a\0b"], ["true", "x" * (1 << 20)]):
        result = run_process(argv)
        assert (result.rc, result.stdout) == (126, "") and "cannot be run" in result.stderr


def test_a_timeout_that_no_clock_reaches_is_no_error():
    assert run_process(["true"], timeout=1e15).rc == 0


def test_who_writes_without_an_end_fills_no_memory(monkeypatch):
    monkeypatch.setattr(commands, "LARGEST", 10)
    flood = run_process(["sh", "-c", "yes | head -c 5000000; exit 4"], timeout=20)
    assert (flood.rc, flood.stdout) == (4, "y\n" * 5)
    assert run_process(["yes"], timeout=0.3) == (124, "y\n" * 5, "yes: timed out after 0.3 s")


def test_who_left_its_outputs_open_is_waited_for_no_longer():
    result = run_process(["sh", "-c", "echo said; sleep 20 & exit 0"], timeout=0.5)
    assert (result.rc, result.stdout) == (124, "said\n")


def test_lines_end_as_everywhere():
    assert run_process(["printf", "a\\r\\nb\\rc\\377"]).stdout == "a\nb\nc\ufffd"
