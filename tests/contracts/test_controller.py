# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a controller is told of the playbooks is what the playbooks and their roles say."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.playbooks import Playbook, read_playbooks
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.survey import survey

from scripts.patterns import files

from .checkout import PLAYBOOKS, ROLES, ROOT, name_of, read_yaml, task_files, tasks_in

KNOWN = read_playbooks(ROOT)
KEYS = {"title", "purpose", "changes", "needs", "asks", "together"}
CHANGES = {"nothing", "nodes", "host", "job", "files"}
# What it takes for a question: one value that a person can type.
SCALARS = {"str", "path", "bool", "int", "float", "raw"}

each_known = pytest.mark.parametrize("playbook", KNOWN, ids=lambda one: one.name)


@pytest.mark.parametrize("path", sorted((ROOT / "playbooks" / "meta").iterdir()), ids=name_of)
def test_a_playbook_is_described_once(path: Path) -> None:
    said = read_yaml(path)
    assert (ROOT / "playbooks" / path.name).is_file()
    assert set(said) - {"asks_of"} == KEYS
    assert said["changes"] in CHANGES
    assert said["purpose"].endswith(".")


def test_titles_tell_templates_apart() -> None:
    assert len({one.title for one in KNOWN}) == len(KNOWN)


@each_known
def test_a_survey_asks_for_what_one_can_type(playbook: Playbook) -> None:
    for name in (*playbook.needs, *playbook.asks):
        option = playbook.options[name]
        assert option.get("type", "str") in SCALARS or option.get("choices"), name


@each_known
def test_nothing_is_asked_that_an_inventory_of_ours_says(playbook: Playbook) -> None:
    """An answer beats the inventory, and so the default of a question would."""
    files = (ROOT / "inventories").glob("*/group_vars/**/*.yml")
    site = {name for path in files for name in read_yaml(path) or {}}
    assert not site & {*playbook.needs, *playbook.asks}


@each_known
def test_a_survey_is_equal_to_the_specification(playbook: Playbook) -> None:
    """Held against the files themselves, and not by the code that makes surveys."""
    specified: dict[str, dict[str, Any]] = {}
    for role in ROLES:
        for entry in read_yaml(role / "meta" / "argument_specs.yml")["argument_specs"].values():
            specified.update(entry["options"])
    for question in survey(playbook, {}).get("spec", []):
        option = specified[question["variable"]]
        choices = ["true", "false"] if option.get("type") == "bool" else option.get("choices", [])
        assert question["choices"] == [str(one) for one in choices if one != ""]
        assert question["required"] == (question["variable"] in playbook.needs)
        if "default" in question:
            given = option["default"]
            of_several = "\n".join(given) if isinstance(given, list) else str(given).lower()
            assert question["default"] == given or question["default"] == of_several
        plain = re.sub(r"\b[A-Z]+\(", "", "".join(option["description"]))
        words = re.sub(r"[^a-z]", "", plain.lower())
        assert re.sub(r"[^a-z]", "", question["question_description"].lower())[:20] in words


@each_known
def test_a_playbook_whose_role_looks_at_all_hosts_of_a_job_needs_them_together(playbook: Playbook) -> None:
    of_others = read_yaml(ROOT / "playbooks" / "meta" / f"{playbook.name}.yml").get("asks_of", [])
    entries = [ROOT / "roles" / role / "tasks" for role in playbook.roles if role not in of_others]
    looks = any(
        "gaudi3.scale.job_hosts" in task
        for folder in entries
        for file in folder.glob("*.yml")
        for task in tasks_in(read_yaml(file))
    )
    # The baseline and the timer are entry points of a role whose others look at hosts.
    if looks and playbook.name not in {"save_baseline", "schedule_qualification", "storage", "site"}:
        assert playbook.together


def test_patterns_are_what_is_written_of_them() -> None:
    written = dict(files())
    there = {str(path.relative_to(ROOT)) for path in (ROOT / "extensions" / "patterns").rglob("*") if path.is_file()}
    assert there == set(written), "run: make readmes"
    for path, text in written.items():
        assert (ROOT / path).read_text(encoding="utf-8") == text, f"{path} is out of date; run: make readmes"


def test_a_pattern_s_templates_are_playbooks_of_it() -> None:
    for path in (ROOT / "extensions" / "patterns").glob("*/meta/pattern.json"):
        said = json.loads(path.read_text(encoding="utf-8"))
        assert said["name"] == path.parents[1].name
        templates = said["aap_resources"]["controller_job_templates"]
        assert [one["primary"] for one in templates].count(True) == 1
        for one in templates:
            assert (ROOT / one["playbook"]).is_file()


TRUTHS = sorted(
    {
        name
        for role in ROLES
        for entry in read_yaml(role / "meta" / "argument_specs.yml")["argument_specs"].values()
        for name, option in (entry.get("options") or {}).items()
        if option.get("type") == "bool"
    }
)
# Where an expression says what is so, other than to hand a value on as it is.
JUDGED = re.compile(rf"\b({'|'.join(TRUTHS)})\b(?!\s*\|\s*(?:bool|default))")
CONDITIONS = ("when", "that", "failed_when", "changed_when", "until")


def conditions(role: Path) -> list[str]:
    """Every expression of the role that is true or false, and every one that chooses by one."""
    found: list[str] = []
    for file in task_files(role):
        for task in tasks_in(read_yaml(file)):
            for key, value in [*task.items(), *dict(task.get("ansible.builtin.assert") or {}).items()]:
                if key in CONDITIONS:
                    found += [str(one) for one in (value if isinstance(value, list) else [value])]
    for path in (*task_files(role), *role.glob("vars/*.yml"), *role.glob("defaults/*.yml")):
        text = path.read_text(encoding="utf-8")
        found += re.findall(r"\bif (.+?) else\b", text) + re.findall(r"\{\{([^}]*\b(?:and|or|not)\b[^}]*)\}\}", text)
    return found


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_a_truth_may_be_a_text(role: Path) -> None:
    """``-e name=false`` and a controller's survey give texts, and the text false is true."""
    assert [one for one in conditions(role) if JUDGED.search(one)] == []


def test_every_playbook_but_the_one_that_makes_templates_is_known() -> None:
    assert {path.stem for path in PLAYBOOKS} - {one.name for one in KNOWN} == {"configure_controller"}
