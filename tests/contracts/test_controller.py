# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a controller is told of the playbooks is what the playbooks and their roles say."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.playbooks import (
    SHARED,
    Playbook,
    read_playbooks,
    roles_of,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.questions import QUESTIONS
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.survey import survey

from scripts.patterns import files

from .checkout import PLAYBOOKS, ROLES, ROOT, name_of, read_yaml, task_files, tasks_in

KNOWN = read_playbooks(ROOT)
TEMPLATES = [template for one in KNOWN for template in one.templates]
KEYS = {"title", "purpose", "changes", "needs", "asks", "together"}
# Only where there is something to say.
MORE = {"asks_of", "words", "sets", "variants"}
CHANGES = {"nothing", "nodes", "host", "job", "files"}
# What it takes for a question: one value that a person can type.
SCALARS = {"str", "path", "bool", "int", "float", "raw"}

each_known = pytest.mark.parametrize("playbook", KNOWN, ids=lambda one: one.name)
each_template = pytest.mark.parametrize("playbook", TEMPLATES, ids=lambda one: one.title.replace(" ", "-"))


@pytest.mark.parametrize("path", sorted((ROOT / "playbooks" / "meta").iterdir()), ids=name_of)
def test_a_playbook_is_described_once(path: Path) -> None:
    said = read_yaml(path)
    assert (ROOT / "playbooks" / path.name).is_file()
    assert set(said) - MORE == KEYS
    assert said["changes"] in CHANGES
    assert said["purpose"].endswith(".")


def test_titles_tell_templates_apart() -> None:
    assert len({one.title for one in TEMPLATES}) == len(TEMPLATES)


@each_template
def test_a_survey_asks_for_what_one_can_type(playbook: Playbook) -> None:
    """A list or a dictionary only with words of its own, which say how it is typed."""
    for name in (*playbook.needs, *playbook.asks):
        option = playbook.options[name]
        typed = option.get("type", "str") in SCALARS or "text" in QUESTIONS.get(name, {})
        assert typed or option.get("choices"), name


@each_template
def test_every_template_asks_for_something(playbook: Playbook) -> None:
    assert playbook.needs or playbook.asks


@each_template
def test_no_default_beats_what_an_inventory_of_ours_says(playbook: Playbook) -> None:
    """An answer beats the inventory, and so the default of a question would."""
    files = (ROOT / "inventories").glob("*/group_vars/**/*.yml")
    site = {name for path in files for name in read_yaml(path) or {}}
    assert not site & {one["variable"] for one in survey(playbook, {})["spec"] if one.get("default", "") != ""}


@each_template
def test_no_default_stands_for_a_variable_that_the_role_would_read(playbook: Playbook) -> None:
    """As that of all roles: the question's would beat it. What it may say here is what goes into a budget of trials."""
    given: dict[str, Any] = {}
    for role in ROLES:
        given.update(read_yaml(role / "defaults" / "main.yml") or {})
    for one in survey(playbook, {})["spec"]:
        shipped = given.get(one["variable"])
        if isinstance(shipped, str) and "{{" in shipped and one["variable"] != "gaudi_tune_steps":
            assert one.get("default", "") == "", one["variable"]


@each_template
def test_what_no_role_specifies_is_read_by_the_plays_or_their_roles(playbook: Playbook) -> None:
    path = ROOT / "playbooks" / f"{playbook.name}.yml"
    read = path.read_text(encoding="utf-8")
    for role in playbook.roles:
        read += "".join(file.read_text(encoding="utf-8") for file in (ROOT / "roles" / role / "vars").glob("main.yml"))
    for play in read_yaml(path):
        if "ansible.builtin.import_playbook" in play:
            read += path.with_name(play["ansible.builtin.import_playbook"]).read_text(encoding="utf-8")
    assert [name for name in {*SHARED} & {*playbook.needs, *playbook.asks} if name not in read] == []


def test_each_word_is_of_a_question_that_is_asked() -> None:
    asked = {name for one in TEMPLATES for name in (*one.needs, *one.asks)}
    assert {*QUESTIONS} <= asked
    for one in TEMPLATES:
        assert {*one.words} <= {*one.needs, *one.asks}
        entries = {name for role, _entry in roles_of(ROOT / "playbooks" / f"{one.name}.yml") for name in [role]}
        assert all(any(name.startswith(f"{role}_") for role in entries) for name in one.sets)


def test_titles_are_words_of_people() -> None:
    """Each once in its survey, with the case and the units of a sentence, and not the rest of a variable's name."""
    for one in TEMPLATES:
        titles = [question["question_name"] for question in survey(one, {})["spec"]]
        assert len({*titles}) == len(titles), one.title
        for title in titles:
            assert title[0].isupper(), title
            assert title not in {"Kwh", "Pue", "Dtype", "Jobs", "Port", "Path", "Watts"}, title


@each_template
def test_a_survey_is_equal_to_the_specification(playbook: Playbook) -> None:
    """Held against the files themselves, and not by the code that makes surveys."""
    specified: dict[str, dict[str, Any]] = {name: dict(option) for name, option in SHARED.items()}
    for role in ROLES:
        for entry in read_yaml(role / "meta" / "argument_specs.yml")["argument_specs"].values():
            specified.update(entry["options"])
    for question in survey(playbook, {}).get("spec", []):
        name = question["variable"]
        words = {**QUESTIONS.get(name, {}), **playbook.words.get(name, {})}
        option = {**specified[name], **words}
        choices = ["true", "false"] if option.get("type") == "bool" else option.get("choices", [])
        assert question["choices"] == [str(one) for one in choices if one != ""]
        assert question["required"] == (question["variable"] in playbook.needs)
        if question.get("default", "") != "":
            given = option["default"]
            of_several = "\n".join(given) if isinstance(given, list) else str(given).lower()
            assert question["default"] == given or question["default"] == of_several
        if "text" in words:
            assert question["question_description"] == words["text"]
            continue
        plain = re.sub(r"\b[A-Z]+\(", "", "".join(option["description"]))
        words = re.sub(r"[^a-z]", "", plain.lower())
        assert re.sub(r"[^a-z]", "", question["question_description"].lower())[:20] in words


@each_known
def test_a_playbook_whose_role_looks_at_all_hosts_of_a_job_needs_them_together(playbook: Playbook) -> None:
    of_others = read_yaml(ROOT / "playbooks" / "meta" / f"{playbook.name}.yml").get("asks_of", [])
    entries = [ROOT / "roles" / role / "tasks" for role in playbook.roles if role not in of_others]
    looks = any(
        "job_hosts" in task.get("gaudi3.scale.options_check", {})
        for folder in entries
        for file in folder.glob("*.yml")
        for task in tasks_in(read_yaml(file))
    )
    # The baseline and the timer are entry points of a role whose others look at hosts.
    if looks and playbook.name not in {"save_baseline", "schedule_qualification", "serving", "storage", "site"}:
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
