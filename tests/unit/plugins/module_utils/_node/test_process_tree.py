# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
import sys

from ansible_collections.gaudi3.scale.plugins.module_utils._node import process_tree
from ansible_collections.gaudi3.scale.plugins.module_utils._node.process_tree import (
    descendants,
    ended_children,
    environment_of,
    own_control_group,
    processes_in,
)


def test_processes_of_a_group_and_those_below_it_are_found_in_any_layout(tmp_path, monkeypatch):
    monkeypatch.setattr(process_tree, "CGROUP_MOUNTS", (str(tmp_path / "v2"), str(tmp_path / "v1")))
    for place, text in (("v1/system.slice/u", "7\n9\n"), ("v1/system.slice/u/sub", "8\n"), ("v1/system.slice", "1\n")):
        (tmp_path / place).mkdir(parents=True, exist_ok=True)
        (tmp_path / place / "cgroup.procs").write_text(text)
    assert processes_in("/system.slice/u") == [7, 8, 9]
    assert processes_in("/system.slice/gone") == []
    assert processes_in("") == []


def test_descendants_are_found_with_their_parents():
    code = "import os, subprocess; p = subprocess.Popen(['sleep', '60']); print(p.pid, flush=True); p.wait()"
    environment = {"PATH": "/usr/bin:/bin", "MARK": "x=y"}
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment)
    grandchild = int(child.stdout.readline())
    try:
        found = descendants(child.pid)
        assert found == {grandchild: child.pid}
        assert environment_of(grandchild)["MARK"] == "x=y"
    finally:
        child.kill()
        subprocess.run(["kill", "-9", str(grandchild)], check=True)
        while child.pid not in ended_children(process_tree.os.getpid()):
            continue
        child.wait()
    assert child.pid not in ended_children(process_tree.os.getpid())
    assert environment_of(grandchild) == {}


def test_a_control_group_that_is_not_the_units_own_is_left_alone():
    # That of whoever runs the tests, for instance.
    assert own_control_group("gaudi3-scale-job-demo.service") == ""
