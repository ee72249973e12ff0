# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a program of the host gets of the caller's environment: a node's Python modules are compiled in the node."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sandbox.commands import run
from sandbox.image import COMPILERS

HERE = "import json, os; print(sorted(set(json.loads(os.environ['ASKED'])) & set(os.environ)))"


def test_nothing_of_the_caller_says_where_compiled_modules_go(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in COMPILERS:
        monkeypatch.setenv(name, str(tmp_path))
    asked = {"ASKED": '["PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE"]'}
    assert run([sys.executable, "-c", HERE], env=asked) == "['PYTHONDONTWRITEBYTECODE', 'PYTHONPYCACHEPREFIX']\n"
    assert run([sys.executable, "-c", HERE], env=asked, without=COMPILERS) == "[]\n"
