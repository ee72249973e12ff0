# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Ansible's own programs can read every document and every playbook."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from .checkout import MODULES, PLAYBOOKS, ROLES, ROOT, name_of

INVENTORY = ROOT / "inventories" / "bare_metal"
ENVIRONMENT = {
    **os.environ,
    "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
    "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
    "ANSIBLE_NOCOLOR": "1",
}


def ansible(*command: str) -> str:
    done = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def documented(kind: str, names: list[str]) -> dict[str, object]:
    return json.loads(ansible("ansible-doc", "--json", "--type", kind, *names))


def test_every_module_can_be_looked_up() -> None:
    names = [f"gaudi3.scale.{path.stem}" for path in MODULES]
    assert sorted(documented("module", names)) == sorted(names)


def test_every_role_can_be_looked_up() -> None:
    names = [f"gaudi3.scale.{role.name}" for role in ROLES]
    found = documented("role", names)
    assert sorted(found) == sorted(names)
    assert [name for name in names if "main" not in found[name]["entry_points"]] == []


def checked(*paths: Path) -> subprocess.CompletedProcess[str]:
    """Each of them that can be read is named in the output."""
    command = ("ansible-playbook", "--syntax-check", "--inventory", str(INVENTORY), *map(str, paths))
    return subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def readable() -> set[str]:
    """What Ansible reads of all playbooks at one start; it ends at the first that it cannot read."""
    done = checked(*PLAYBOOKS)
    return set(done.stdout.splitlines()) if done.returncode == 0 else set()


@pytest.mark.parametrize("path", PLAYBOOKS, ids=name_of)
def test_playbook_has_valid_syntax(path: Path, readable: set[str]) -> None:
    if f"playbook: {path}" not in readable:
        done = checked(path)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_example_inventory_can_be_read() -> None:
    inventory = json.loads(ansible("ansible-inventory", "--inventory", str(INVENTORY), "--list"))
    assert inventory["_meta"]["hostvars"]
