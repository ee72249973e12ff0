# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What every playbook promises: extra variables only, the operator's own hosts, nothing asked on the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from jinja2.nativetypes import NativeEnvironment

from .checkout import PLAYBOOKS, ROLES, ROOT, name_of, read_yaml, tasks_in

SITE = ROOT / "playbooks" / "site.yml"
IMPORT = "ansible.builtin.import_playbook"
TASK_LISTS = ("pre_tasks", "tasks", "post_tasks", "handlers")
INTERACTIVE = ("ansible.builtin.pause", "pause")

each_playbook = pytest.mark.parametrize("path", PLAYBOOKS, ids=name_of)


@each_playbook
def test_name_can_follow_the_collections_name(path: Path) -> None:
    """``ansible-playbook gaudi3.scale.NAME`` finds only names that are Python identifiers."""
    assert re.fullmatch(r"[a-z][a-z0-9_]*", path.stem)


@each_playbook
def test_asks_nothing(path: Path) -> None:
    for play in read_yaml(path):
        assert "vars_prompt" not in play
        for tasks in TASK_LISTS:
            for task in tasks_in(play.get(tasks)):
                assert not set(INTERACTIVE) & set(task), task.get("name")


@each_playbook
def test_lets_the_operator_choose_the_hosts(path: Path) -> None:
    for play in read_yaml(path):
        if IMPORT not in play:
            assert "{{" in play["hosts"] or play["hosts"] == "localhost", play["name"]


@each_playbook
def test_a_play_has_roles_or_tasks(path: Path) -> None:
    for play in read_yaml(path):
        assert not ("roles" in play and "tasks" in play), play["name"]


def test_site_is_a_table_of_contents() -> None:
    for entry in read_yaml(SITE):
        assert set(entry) == {"name", IMPORT}


def test_site_never_takes_an_action() -> None:
    """Nouns are states and live in site.yml; a verb_noun playbook starts or stops something."""
    for entry in read_yaml(SITE):
        stem = Path(entry[IMPORT]).stem
        assert stem.split("_")[0] not in ("launch", "stop", "probe", "follow", "run"), stem


# Firmware is written only when the operator names its version, and never by a run that sets up everything.
ACTION_ROLES = {"gaudi_firmware"}


def roles_named_in(files: Iterable[Path]) -> set[str]:
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    return {role.name for role in ROLES if re.search(rf"gaudi3\.scale\.{role.name}\b", text)}


def test_every_role_is_reached_from_site_or_from_an_action_alone() -> None:
    from_site = roles_named_in(ROOT / "playbooks" / entry[IMPORT] for entry in read_yaml(SITE))
    assert from_site == {role.name for role in ROLES} - ACTION_ROLES
    assert roles_named_in((ROOT / "playbooks").rglob("*.yml")) >= ACTION_ROLES


@pytest.mark.parametrize("entry", read_yaml(SITE), ids=lambda entry: entry[IMPORT])
def test_a_layer_has_the_tag_of_its_file(entry: dict[str, str]) -> None:
    layer = ROOT / "playbooks" / entry[IMPORT]
    for play in read_yaml(layer):
        assert layer.stem in play["tags"], play["name"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ["-/etc/gaudi3_scale/environment"]),
        ({"training_environment_files": ["/own"]}, ["-/etc/gaudi3_scale/environment", "/own"]),
        ({"training_environment_files": ["-/etc/gaudi3_scale/environment"]}, ["-/etc/gaudi3_scale/environment"]),
        ({"gaudi_tuning_path": "/srv/flags", "training_environment_files": []}, ["-/srv/flags"]),
    ],
)
def test_a_job_s_own_files_come_after_the_node_s_flags(given: dict[str, object], expected: list[str]) -> None:
    """Without the vendor's paths in them no rank reaches a card."""
    text = read_yaml(ROOT / "playbooks" / "vars" / "training.yml")["__training_environment_files"]
    assert NativeEnvironment().from_string(text).render(given) == expected
