# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What every role promises: documented knobs, its own prefix, no hidden dependencies."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.gaudi3.scale.plugins.plugin_utils._plain_arguments import is_plain

from scripts.role_readmes import options_of

from .checkout import ROLES, ROOT, is_templated, name_of, read_yaml, task_files, tasks_in

MOST_LINES = 60
USUAL_LINES = 40
# What an argument_specs type accepts as a literal default. bool is an int in Python and not in a specification.
LITERALS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "path": (str,),
    "bool": (bool,),
    "int": (int,),
    "float": (int, float),
    "list": (list,),
    "dict": (dict,),
    "raw": (object,),
}
GROUPS = re.compile(r"\b(groups\s*[\[.]|group_names\b)")


def entry_points(role: Path) -> dict[str, dict[str, Any]]:
    return read_yaml(role / "meta" / "argument_specs.yml")["argument_specs"]


def options(role: Path) -> dict[str, dict[str, Any]]:
    return options_of(entry_points(role))


def defaults(role: Path) -> dict[str, Any]:
    return read_yaml(role / "defaults" / "main.yml") or {}


each_role = pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
each_option = pytest.mark.parametrize(
    ("role", "option"),
    [pytest.param(role, name, id=name) for role in ROLES for name in options(role)],
)


@each_role
def test_has_the_usual_files(role: Path) -> None:
    for name in ("defaults/main.yml", "meta/main.yml", "meta/argument_specs.yml", "tasks/main.yml"):
        assert (role / name).is_file(), f"{name} is missing"


@each_role
def test_every_knob_is_specified_and_every_optional_knob_has_a_default(role: Path) -> None:
    optional = {name for name, option in options(role).items() if not option.get("required")}
    assert set(defaults(role)) == optional


@each_role
def test_says_what_it_does(role: Path) -> None:
    for entry in entry_points(role).values():
        assert entry.get("short_description")
        assert entry.get("description")


@each_role
def test_an_option_is_the_same_in_all_entry_points(role: Path) -> None:
    for entry in entry_points(role).values():
        for name, option in (entry.get("options") or {}).items():
            assert option == options(role)[name], name


@each_option
def test_a_specified_default_is_a_value(role: Path, option: str) -> None:
    """A template is none, unless the option is text: documentation has to tell it in words."""
    specified = options(role)[option]
    if specified.get("type", "str") not in ("str", "path", "raw"):
        assert not is_templated(specified.get("default"))


@each_option
def test_option_is_described(role: Path, option: str) -> None:
    assert options(role)[option].get("description")


@each_option
def test_option_bears_the_roles_name(role: Path, option: str) -> None:
    assert option.startswith(f"{role.name}_")


@each_option
def test_default_has_the_specified_type(role: Path, option: str) -> None:
    value = defaults(role).get(option)
    if value is None or is_templated(value):
        return
    accepted = LITERALS[options(role)[option].get("type", "str")]
    assert isinstance(value, accepted)
    assert not (isinstance(value, bool) and accepted in (LITERALS["int"], LITERALS["float"]))


@each_option
def test_specified_default_is_the_real_one(role: Path, option: str) -> None:
    """Ansible takes nothing from a specification's ``default``: it only documents, and must not lie."""
    if "default" in options(role)[option] and not is_templated(defaults(role)[option]):
        assert options(role)[option]["default"] == defaults(role)[option]


@each_option
def test_default_is_one_of_the_choices(role: Path, option: str) -> None:
    choices = options(role)[option].get("choices")
    value = defaults(role).get(option)
    if choices is not None and value is not None and not is_templated(value):
        assert set(value if isinstance(value, list) else [value]) <= set(choices)


@each_role
def test_defaults_that_are_no_templates_are_what_the_specification_allows(role: Path) -> None:
    """With their elements and what they have below; a run does not look at them again."""
    shipped = {name: value for name, value in read_yaml(role / "defaults" / "main.yml").items() if is_plain(value)}
    for entry in read_yaml(role / "meta" / "argument_specs.yml")["argument_specs"].values():
        options = {
            name: {key: value for key, value in option.items() if key != "default"}
            for name, option in (entry.get("options") or {}).items()
            if name in shipped
        }
        given = {name: shipped[name] for name in options}
        assert ArgumentSpecValidator(options).validate(given).error_messages == []


@each_role
def test_depends_on_no_other_role(role: Path) -> None:
    assert read_yaml(role / "meta" / "main.yml")["dependencies"] == []


@each_role
def test_internal_variables_are_marked_as_such(role: Path) -> None:
    for path in sorted((role / "vars").glob("*.yml")):
        for name in read_yaml(path) or {}:
            assert name.startswith(f"__{role.name}_"), f"{path.name}: {name}"


@each_role
def test_knows_no_inventory_groups(role: Path) -> None:
    for path in [*task_files(role), role / "defaults" / "main.yml", *sorted((role / "vars").glob("*.yml"))]:
        assert not GROUPS.search(path.read_text(encoding="utf-8")), path.relative_to(ROOT)


@pytest.mark.parametrize("path", [path for role in ROLES for path in task_files(role)], ids=name_of)
def test_tasks_file_is_short_and_untagged(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES
    for task in tasks_in(read_yaml(path)):
        assert "tags" not in task, task.get("name")
        assert "become" not in task, f"{task.get('name')}: the play decides about become"


def test_tasks_files_are_usually_shorter() -> None:
    lengths = [len(path.read_text(encoding="utf-8").splitlines()) for role in ROLES for path in task_files(role)]
    assert median(lengths) <= USUAL_LINES


@each_role
def test_does_not_overwrite_its_inputs(role: Path) -> None:
    knobs = set(options(role))
    for path in task_files(role):
        for task in tasks_in(read_yaml(path)):
            assert not knobs & set(task.get("ansible.builtin.set_fact") or {}), task.get("name")
            assert task.get("register") not in knobs, task.get("name")
