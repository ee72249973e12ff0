# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Every role's README says what the role's own specification says, and its example is one that works."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.gaudi3.scale.plugins.plugin_utils._shared_options import SHARED, values_refusal

from scripts.role_readmes import COLLECTION, options_of, render, roles

from .checkout import ROLES, read_yaml

each_role = pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)


def test_every_role_has_a_readme() -> None:
    assert roles() == ROLES


@each_role
def test_the_readme_is_made_from_the_role(role: Path) -> None:
    written = (role / "README.md").read_text(encoding="utf-8")
    assert written == render(role), f"{role.name}/README.md is out of date; run: make readmes"


@each_role
def test_the_readme_names_every_variable_and_result(role: Path) -> None:
    text = (role / "README.md").read_text(encoding="utf-8")
    for name in options_of(entries(role)):
        assert f"\n| `{name}` | " in text
    assert f"\n`{role.name}_result` is what `" in text


@each_role
def test_the_example_gives_the_role_what_it_takes(role: Path) -> None:
    play, *more = yaml.safe_load(entry(role)["examples"])
    given: dict[str, Any] = {}
    for applied in play["roles"]:
        if applied["role"] == f"{COLLECTION}.{role.name}":
            given = applied.get("vars", {})
    assert f"{COLLECTION}.{role.name}" in [applied["role"] for applied in play["roles"]]
    assert (play.get("become") is True or play["hosts"] == "localhost") and not more
    # A default that is a template is none of the option's type.
    options = {name: without_default(option) for name, option in entry(role).get("options", {}).items()}
    own = {name: value for name, value in given.items() if name not in SHARED}
    assert ArgumentSpecValidator(options).validate(own).error_messages == []
    assert values_refusal("a host", given) == ""


def entries(role: Path) -> dict[str, dict[str, Any]]:
    return read_yaml(role / "meta" / "argument_specs.yml")["argument_specs"]


def entry(role: Path) -> dict[str, Any]:
    return entries(role)["main"]


def without_default(option: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in option.items() if key != "default"}
