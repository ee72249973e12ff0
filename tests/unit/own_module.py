# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A workload's module as a user has it: outside of the venv, with one more that it imports."""

from __future__ import annotations

import sys


def own_module(tmp_path):
    """Its folder, which only PYTHONPATH is to name; the venv in ``tmp_path`` gets a real Python."""
    (tmp_path / "venv/bin/python").unlink()
    (tmp_path / "venv/bin/python").symlink_to(sys.executable)
    (tmp_path / "code").mkdir()
    (tmp_path / "code/mine.py").write_text("import json\nimport helping\nraise SystemExit('never run')\n")
    (tmp_path / "code/helping.py").write_text("import os\n")
    return tmp_path / "code"
