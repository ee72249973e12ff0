# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The nodes of each scenario of Molecule: one playbook makes them all, as each molecule.yml says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from .checkout import ROOT

CREATE = ROOT / ".config" / "molecule" / "create.yml"
SCENARIOS = sorted((ROOT / "molecule").glob("*/molecule.yml"))
# Writes down what it is asked for, in the place of the sandbox's own program.
RECORDER = """
import json, sys
with open("asked.jsonl", "a") as asked:
    print(json.dumps(sys.argv[1:]), file=asked)
"""


def settings(scenario: Path) -> dict[str, Any]:
    """Of the provisioner, with the variables that nobody has set."""
    text = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", scenario.read_text(encoding="utf-8"))
    return (yaml.safe_load(text) or {}).get("ansible", {})


def asked(directory: Path, environment: dict[str, str]) -> list[list[str]]:
    """What the playbook asks of the sandbox."""
    (directory / "sandbox.py").write_text(RECORDER)
    around = {name: value for name, value in os.environ.items() if not name.startswith("GAUDI_SANDBOX")}
    around |= {"MOLECULE_PROJECT_DIRECTORY": str(directory), "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")}
    around |= {"ANSIBLE_PYTHON_INTERPRETER": sys.executable}
    command = ("ansible-playbook", "--inventory", "localhost,", str(CREATE))
    done = subprocess.run(command, cwd=ROOT, env=around | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in (directory / "asked.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda path: path.parent.name)
def test_no_scenario_makes_its_nodes_by_a_playbook_of_its_own(scenario: Path) -> None:
    assert not scenario.with_name("create.yml").exists()
    assert "create" not in settings(scenario).get("playbooks", {})


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda path: path.parent.name)
def test_what_a_scenario_says_of_its_nodes_is_of_nodes_of_its_own(scenario: Path) -> None:
    environment = settings(scenario).get("env", {})
    names = {name for name in environment if name.startswith("GAUDI_SANDBOX")}
    assert not names or "GAUDI_SANDBOX" in names
    assert names <= {"GAUDI_SANDBOX", "GAUDI_SANDBOX_UP", "GAUDI_SANDBOX_THEN"}


@pytest.mark.parametrize(
    ("scenario", "commands"),
    [
        ("site", [["up", "--name", "shared"]]),
        ("peers", [["up", "--nodes=4", "--golden=gaudi3-test", "--name", "gaudi3-peers"]]),
        (
            "engines",
            [
                ["up", "--nodes=3", "--golden=gaudi3-test", "--name", "gaudi3-engines"],
                ["slurm", "--name", "gaudi3-engines"],
                ["open-mpi", "--name", "gaudi3-engines"],
            ],
        ),
        ("bundle", [["up", "--nodes=2", "--name", "gaudi3-bundle"], ["reset", "--name", "gaudi3-bundle"]]),
    ],
)
def test_the_nodes_are_those_that_the_scenario_says(tmp_path: Path, scenario: str, commands: list[list[str]]) -> None:
    environment = settings(ROOT / "molecule" / scenario / "molecule.yml").get("env", {})
    assert asked(tmp_path, {"GAUDI_SANDBOX": "shared", **environment}) == commands
