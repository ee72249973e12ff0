# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``--limit`` leaves the controller out: what a playbook shows at its end is of the nodes that are left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from .checkout import PLAYBOOKS, ROOT, name_of, read_yaml

# What the layers have registered; nobody can reach these nodes, and nobody needs to.
SOUND = {"summary": {"ok": True, "problems": 0, "release": "1.24.1"}}
OFF = {"ansible_host": "127.0.0.1", "ansible_port": 1, "ansible_connection": "ssh"}
NODES = {
    "gaudi-01": {**OFF, "gaudi_verify_result": SOUND},
    "gaudi-02": {**OFF, "gaudi_verify_result": SOUND},
    "gaudi-03": OFF,
}


def play(place: Path, playbook: str, *arguments: str) -> tuple[str, int]:
    inventory = {"all": {"vars": {"gaudi_report_target": str(place / "kept")}, "children": {"gaudi": {"hosts": NODES}}}}
    (place / "hosts.yml").write_text(yaml.safe_dump(inventory), encoding="utf-8")
    done = subprocess.run(
        [
            str(Path(sys.executable).with_name("ansible-playbook")),
            *("-i", str(place / "hosts.yml"), str(ROOT / "playbooks" / f"{playbook}.yml"), *arguments),
        ],
        cwd=ROOT,
        env={**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr, done.returncode


@pytest.mark.parametrize(
    ("limit", "verdicts"),
    [
        (None, {"gaudi-01": "ok", "gaudi-02": "ok", "gaudi-03": "FAILED before preflight"}),
        ("gaudi-02", {"gaudi-02": "ok"}),
        ("gaudi-02,localhost", {"gaudi-02": "ok"}),
        ("gaudi,!gaudi-01", {"gaudi-02": "ok", "gaudi-03": "FAILED before preflight"}),
    ],
)
def test_the_verdict_is_of_the_nodes_of_the_run(limit: str | None, verdicts: dict[str, str], tmp_path: Path) -> None:
    # Nothing but the table, which each choice of tags ends in.
    arguments = ["--tags", "none_of_the_layers", *(() if limit is None else ("--limit", limit))]
    screen, status = play(tmp_path, "verify", *arguments)
    assert status == 0, screen
    kept = json.loads((tmp_path / "kept/site.json").read_text(encoding="utf-8"))
    assert {row["node"]: row["verdict"] for row in kept["rows"]} == verdicts
    assert [node for node in NODES if f"\n{node} " in screen] == list(verdicts), screen


@pytest.mark.parametrize("limit", [(), ("--limit", "gaudi-02")], ids=["all", "limited"])
def test_a_place_that_cannot_take_the_report_is_refused_before_any_node_is_asked(
    limit: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "kept").write_text("", encoding="utf-8")
    screen, status = play(tmp_path, "preflight", *limit)
    assert status != 0
    assert "UNREACHABLE" not in screen
    assert str(tmp_path / "kept") in screen


# What is about no node of the group, whatever is left of it.
OF_THE_CONTROLLER = {"configure_controller", "plan_migration", "render_kubernetes"}


@pytest.mark.parametrize("path", PLAYBOOKS, ids=name_of)
def test_no_play_is_lost_with_the_controller(path: Path) -> None:
    alone = [play["name"] for play in read_yaml(path) if play.get("hosts") in ("localhost", ["localhost"])]
    assert alone == [] or path.stem in OF_THE_CONTROLLER
