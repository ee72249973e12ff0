# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""nox and the workflow run what the Makefile has, and nothing else."""

from __future__ import annotations

import ast
import re

from .checkout import ROOT, read_yaml

TARGETS = set(re.findall(r"^([a-z -]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def test_each_session_is_a_target() -> None:
    (found,) = [
        node
        for node in ast.parse((ROOT / "noxfile.py").read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "TARGETS"
    ]
    assert set(ast.literal_eval(found.value)) <= TARGETS


def test_the_workflow_runs_targets() -> None:
    jobs = read_yaml(ROOT / ".github" / "workflows" / "tests.yml")["jobs"]
    for row in jobs["gates"]["strategy"]["matrix"]["include"]:
        assert row["target"].split()[0] in TARGETS
