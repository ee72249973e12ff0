# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Ansible loads every filter of a collection to find one, in each fork anew and without compiled files."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._core_filter import PLUGINS, core_filter

ROOT = Path(__file__).resolve().parents[4]
FILTERS = sorted((ROOT / "plugins" / "filter").glob("*.py"))
OF_THE_CORE = [
    found for path in FILTERS for found in re.findall(r'core_filter\("([\w.]+)", "(\w+)"\)', path.read_text("utf-8"))
]
LOAD = """
import runpy, sys
for path in sys.argv[1:]:
    filters = runpy.run_path(path)["FilterModule"]().filters()
    assert filters and all(map(callable, filters.values())), path
packages = ["ansible_collections" + end for end in ("", ".gaudi3", ".gaudi3.scale", ".gaudi3.scale.plugins")]
shared = "ansible_collections.gaudi3.scale.plugins.plugin_utils"
allowed = {*packages, shared, shared + "._core_filter"}
print([name for name in sys.modules if name.startswith("ansible_collections") and name not in allowed])
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


@pytest.mark.parametrize(("module", "name"), OF_THE_CORE, ids=str)
def test_a_filter_that_is_named_is_there(module, name):
    assert callable(getattr(importlib.import_module(f"{PLUGINS}.{module}"), name))


def test_it_is_called_with_what_the_filter_is_given():
    clocks_apart = core_filter("module_utils._job.clocks", "clocks_apart")
    assert "5.2 minutes" in clocks_apart({"gaudi-01": 0.4, "gaudi-02": 312.5}, most=1)
