# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys

from ansible_collections.gaudi3.scale.plugins.module_utils.node.commands import run_process


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
