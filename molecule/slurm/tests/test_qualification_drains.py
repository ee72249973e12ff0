# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A qualification on a real Slurm: a node is out while it is measured, a good one comes back, a bad one does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from testinfra.host import Host

from tests.sandbox_nodes import fault, run

REASON = "gaudi3_scale: qualification #"


def qualified(directory: Path) -> dict[str, Any]:
    done = run(
        directory,
        "qualify_nodes",
        gaudi_qualify_stages=["self_test"],
        gaudi_qualify_drain="slurm",
        gaudi_drain_wait=60,
        gaudi_report_target=str(directory),
    )
    assert done.status in ("successful", "failed"), done.stdout.read()[-4000:]
    found: dict[str, Any] = json.loads((directory / "qualify_nodes.json").read_text())["data"]
    return found


def shown(controller: Host, node: str) -> str:
    return controller.check_output(f"scontrol --oneliner show node {node}")


@pytest.mark.long
def test_a_bad_node_stays_out_until_it_has_passed(installed: Host, tmp_path: Path) -> None:
    with fault("node2", "hot_card=2"):
        found = qualified(tmp_path)
    assert {name: node["state"] for name, node in found["nodes"].items()} == {"node1": "healthy", "node2": "unhealthy"}
    assert REASON in shown(installed, "node2") and "DRAIN" in shown(installed, "node2")
    assert "DRAIN" not in shown(installed, "node1")
    again = qualified(tmp_path)
    assert {node["state"] for node in again["nodes"].values()} == {"healthy"}
    assert "DRAIN" not in shown(installed, "node2")
