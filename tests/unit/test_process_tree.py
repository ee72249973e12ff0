# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from ansible_collections.gaudi3.scale.plugins.module_utils import process_tree
from ansible_collections.gaudi3.scale.plugins.module_utils.process_tree import processes_in


def test_processes_of_a_group_and_those_below_it_are_found_in_any_layout(tmp_path, monkeypatch):
    monkeypatch.setattr(process_tree, "CGROUP_MOUNTS", (str(tmp_path / "v2"), str(tmp_path / "v1")))
    for place, text in (("v1/system.slice/u", "7\n9\n"), ("v1/system.slice/u/sub", "8\n"), ("v1/system.slice", "1\n")):
        (tmp_path / place).mkdir(parents=True, exist_ok=True)
        (tmp_path / place / "cgroup.procs").write_text(text)
    assert processes_in("/system.slice/u") == [7, 8, 9]
    assert processes_in("/system.slice/gone") == []
    assert processes_in("") == []
