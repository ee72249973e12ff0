# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Ansible loads every filter of a collection to find one, in each fork anew and without compiled files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FILTERS = Path(__file__).resolve().parents[4] / "plugins" / "filter"
LOAD = """
import runpy, sys
for path in sys.argv[1:]:
    filters = runpy.run_path(path)["FilterModule"]().filters()
    assert filters and all(map(callable, filters.values())), path
print([name for name in sys.modules if name.startswith("ansible_collections")])
"""


def test_loading_all_filters_imports_nothing_of_the_core():
    paths = sorted(map(str, FILTERS.glob("*.py")))
    assert paths
    done = subprocess.run([sys.executable, "-c", LOAD, *paths], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
