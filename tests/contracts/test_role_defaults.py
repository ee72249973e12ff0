# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What roles have by default is what their specifications allow, also where it is a template: Ansible itself says so.

Versions of ansible-core differ in what a template comes to, so this is played under each of them.
"""

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
from ansible_collections.gaudi3.scale.plugins.plugin_utils._shared_options import SHARED

from .checkout import ROLES, ROOT, read_yaml

OMIT = re.compile(r"\bomit\b")
# No task has this tag, and the one with which Ansible looks at a role's options is played whatever the tags are.
NOTHING = "nothing"
ENTRIES = [
    pytest.param(role, entry, id=f"{role.name}-{entry}")
    for role in ROLES
    for entry in read_yaml(role / "meta" / "argument_specs.yml")["argument_specs"]
]
# What an option without a default is given, by its type.
GIVEN: dict[str, Any] = {"str": "given", "path": "/given", "int": 1, "float": 1.0}


def test_the_firewall_closes_every_port_that_a_role_has_by_default() -> None:
    """The study, the network benchmark and a qualification have ports of their own beside the job's."""
    defaults = {name: value for role in ROLES for name, value in read_yaml(role / "defaults" / "main.yml").items()}
    closed = [range(int(text[:5]), int(text[-5:]) + 1) for text in defaults["gaudi_host_firewall_ports"]]
    of_jobs = {
        name: value for name, value in defaults.items() if name.endswith("_port") and value in range(29500, 29600)
    }
    assert len(of_jobs) >= 6
    assert [name for name, value in of_jobs.items() if not any(value in one for one in closed)] == []


NONE_GIVEN = {("gaudi_upgrade", "gaudi_cards_per_node"), ("gaudi_compare", "gaudi_release")}
DEFAULT = re.compile(r"\{\{ (gaudi_\w+) \| default\(('[^']*'|\d+|true|false|\[\]|\{\})(?:, true)?\)")


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_an_option_of_the_whole_collection_has_one_default(role: Path) -> None:
    """Wherever a role reads it, but where it has to know that none was given."""
    texts = [
        path.read_text(encoding="utf-8") for path in role.rglob("*.yml") if path.parent.name in ("defaults", "vars")
    ]
    for name, default in DEFAULT.findall("".join(texts)):
        known = SHARED.get(name, {}).get("default", "another")
        if known != "another" and (role.name, name) not in NONE_GIVEN:
            assert yaml.safe_load(default) == known, name


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_no_default_leaves_an_option_out(role: Path) -> None:
    """Before ansible-core 2.19 that is a text, which is none of another type: an empty value leaves it out."""
    defaults = read_yaml(role / "defaults" / "main.yml")
    assert [name for name, value in defaults.items() if OMIT.search(str(value))] == []


def host_of(role: Path, entry: str) -> str:
    return f"{role.name}-{entry}"


def play_of(role: Path, entry: str) -> dict[str, Any]:
    """Ends before the role's first task."""
    options = read_yaml(role / "meta" / "argument_specs.yml")["argument_specs"][entry].get("options") or {}
    needed = {name: GIVEN[option.get("type", "str")] for name, option in options.items() if option.get("required")}
    applied = {"name": f"gaudi3.scale.{role.name}", "tasks_from": entry}
    # Where all hosts of a play have failed, Ansible begins no other.
    tasks = [{"ansible.builtin.import_role": applied, "vars": needed, "ignore_errors": True}]
    return {"hosts": host_of(role, entry), "gather_facts": False, "tasks": tasks}


@pytest.fixture(scope="module")
def screen(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What Ansible says of all of them at one start, each on a host of its own."""
    place = tmp_path_factory.mktemp("defaults")
    chosen = [entry.values for entry in ENTRIES]
    hosts = {host_of(role, entry): {"ansible_connection": "local"} for role, entry in chosen}
    (place / "hosts.json").write_text(json.dumps({"all": {"children": {"gaudi": {"hosts": hosts}}}}))
    (place / "play.yml").write_text(yaml.safe_dump([play_of(role, entry) for role, entry in chosen]))
    program = Path(sys.executable).with_name("ansible-playbook")
    given = {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
        "ANSIBLE_DEPRECATION_WARNINGS": "true",
        "ANSIBLE_NOCOLOR": "1",
    }
    given.pop("ANSIBLE_CONFIG", None)
    done = subprocess.run(
        [program, "-i", "hosts.json", "play.yml", "--tags", NOTHING],
        cwd=place,
        env=given,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize(("role", "entry"), ENTRIES)
def test_ansible_takes_all_defaults_of_the_entry_point(role: Path, entry: str, screen: str) -> None:
    host = re.escape(host_of(role, entry))
    wrong = re.findall(rf"^(?:fatal|failed): \[{host}\].*", screen, re.MULTILINE)
    assert not wrong, wrong
    assert re.search(rf"^{host} +: ok=1 .* failed=0 ", screen, re.MULTILINE), screen[-4000:]


def test_ansible_knows_nothing_deprecated_in_them(screen: str) -> None:
    assert "DEPRECATION" not in screen
