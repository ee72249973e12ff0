# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A node that says options of a role as facts, to a controller whose Ansible has no configuration of ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.gaudi3.scale.tests.unit.hostile_node import CONTROLLER, hostile_node

COLLECTIONS = Path(__file__).resolve().parents[4] / ".collections"
ROLE = {"ansible.builtin.import_role": {"name": "gaudi3.scale.gaudi_quarantine"}}
Play = Callable[..., str]


@pytest.fixture
def taken_over(tmp_path: Path) -> Path:
    """What there is once a command of the node's has run on the controller."""
    return tmp_path / "taken_over"


@pytest.fixture
def play(tmp_path: Path, taken_over: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    monkeypatch.delenv("ANSIBLE_CONFIG", raising=False)
    hosts = {"node1": hostile_node(tmp_path, taken_over)}
    (tmp_path / "hosts.json").write_text(
        json.dumps({"all": {"hosts": CONTROLLER, "children": {"gaudi": {"hosts": hosts}}}})
    )

    def run(*tasks: dict[str, Any], **environment: str) -> str:
        given = {"gaudi_quarantine_node": "node1"}
        about = {"hosts": "gaudi", "gather_facts": False, "vars": given, "tasks": list(tasks)}
        (tmp_path / "play.yml").write_text(yaml.safe_dump([about]))
        ansible = Path(sys.executable).with_name("ansible-playbook")
        # The controller keeps a mark of what it has quarantined at home.
        own = {"ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS), "ANSIBLE_NOCOLOR": "1", "HOME": str(tmp_path)}
        known = {**os.environ, **own, **environment}
        done = subprocess.run(
            [ansible, "-i", "hosts.json", "play.yml"],
            cwd=tmp_path,
            env=known,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout + done.stderr

    return run


@pytest.fixture(params=["True", "False"])
def injects(request: pytest.FixtureRequest) -> str:
    value: str = request.param
    return value


def test_no_module_of_the_collection_lets_a_node_set_an_option(play: Play, taken_over: Path, injects: str) -> None:
    screen = play(ROLE, ROLE, ANSIBLE_INJECT_FACT_VARS=injects)
    assert "failed=0" in screen.split("node1  ")[-1], screen
    assert not taken_over.exists()
    assert ("inject_facts_as_vars is on in the defaults of Ansible" in " ".join(screen.split())) == (injects == "True")
    assert "gaudi_drain_command" not in screen and "CUSTOM STATS" not in screen


def test_what_it_has_set_by_a_module_of_ansible_s_is_refused(play: Play, taken_over: Path) -> None:
    """The fact is a variable then, and would win over the inventory's: that is shown, so that the attack is one."""
    told = {"ansible.builtin.debug": {"msg": "by the node: {{ gaudi_quarantine_drain }}"}}
    screen = play({"ansible.builtin.ping": {}}, told, ROLE, ANSIBLE_INJECT_FACT_VARS="True")
    assert "by the node: commands" in screen
    assert "node1 returns gaudi_drain_command as a fact" in " ".join(screen.split())
    assert "failed=1" in screen and not taken_over.exists()


def test_it_is_text_where_facts_are_no_variables(play: Play, taken_over: Path) -> None:
    screen = play({"ansible.builtin.ping": {}}, ROLE, ANSIBLE_INJECT_FACT_VARS="False")
    assert "failed=0" in screen, screen
    assert not taken_over.exists()


def test_an_answer_that_no_node_of_ours_gives_fails_the_node_and_says_why(play: Play) -> None:
    screen = play({"gaudi3.scale.hpu_info": {}})
    said = "node1 answered gaudi3.scale.hpu_info with an invalid result: hpu is missing, not as its module answers."
    assert said in " ".join(screen.split())


def test_a_warning_names_the_node_as_the_inventory_does(play: Play, tmp_path: Path) -> None:
    """What a node calls itself need not be that, and need not be true."""
    python = tmp_path / "python"
    python.write_text(python.read_text().replace('"changed": false', '"changed": false, "warnings": ["it is late"]'))
    assert "[WARNING]: node1: it is late" in play({"gaudi3.scale.node_quarantine_info": {}})


@pytest.mark.parametrize(
    ("name", "said"),
    [("warnings", "SAID"), ("deprecations", {"msg": "SAID", "version": "SAID", "collection_name": "gaudi3.scale"})],
)
def test_a_warning_has_nothing_that_a_terminal_obeys(play: Play, tmp_path: Path, name: str, said: Any) -> None:
    python = tmp_path / "python"
    warned = json.dumps({"changed": False, name: [said]}).replace("SAID", r"it is \u001b[2Jlate\u202e")[1:-1]
    python.write_text(python.read_text().replace('"changed": false', warned))
    screen = play({"gaudi3.scale.node_quarantine_info": {}})
    assert "it is  [2Jlate" in screen
    assert "\x1b" not in screen and "\u202e" not in screen


def test_the_controller_s_own_warning_is_not_the_node_s(play: Play) -> None:
    screen = " ".join(play({"gaudi3.scale.node_quarantine_info": {}}, ANSIBLE_INJECT_FACT_VARS="True").split())
    assert screen.count("inject_facts_as_vars is on in the defaults of Ansible") == 1
    assert "node1: inject_facts_as_vars" not in screen


def test_a_refusal_names_the_option_that_the_operator_wrote(play: Play, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("""#!/bin/sh\necho '{"failed": true, "msg": "drain is 3; give slurm."}'\n""")
    assert "gaudi_quarantine_drain is 3; give slurm." in play(ROLE)
    outside = play({"gaudi3.scale.node_quarantine_info": {}})
    assert "drain is 3; give slurm." in outside
    assert "gaudi_quarantine_drain is 3" not in outside


def test_what_an_action_refuses_has_nothing_that_a_terminal_obeys(play: Play) -> None:
    def refused(**options: str) -> str:
        return play({"gaudi3.scale.hpu_batch_probe_nodes": options, "ignore_errors": True})

    screen = refused(path="a", step="\x1b[2J\u202e")
    assert "value of step must be one of: probe, check_file, write_file, got:  [2J" in screen
    assert "\x1b" not in screen and "\u202e" not in screen
    assert "path contains a NUL character; remove it." in refused(path="a\0b", step="check_file")
