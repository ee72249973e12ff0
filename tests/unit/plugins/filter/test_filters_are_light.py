# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Ansible loads every filter of a collection to find one, in each fork anew and without compiled files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
FILTERS = sorted((ROOT / "plugins" / "filter").glob("*.py"))
LOAD = """
import runpy, sys
for path in sys.argv[1:]:
    filters = runpy.run_path(path)["FilterModule"]().filters()
    assert filters and all(map(callable, filters.values())), path
packages = ["ansible_collections" + end for end in ("", ".gaudi3", ".gaudi3.scale", ".gaudi3.scale.plugins")]
print([name for name in sys.modules if name.startswith("ansible_collections") and name not in packages])
"""


def test_loading_all_filters_imports_nothing_of_the_core():
    assert FILTERS
    done = subprocess.run(
        [sys.executable, "-c", LOAD, *map(str, FILTERS)],
        env={**os.environ, "PYTHONPATH": str(ROOT / ".collections")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"
