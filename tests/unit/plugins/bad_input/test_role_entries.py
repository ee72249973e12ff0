# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Every option of every entry point of every role, and of every action, under values that are none of its kind.

Ansible itself refuses them, by the role's argument_specs and by what the action declares, before anything is done.
Texts and paths are for the modules.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.gaudi3.scale.tests.unit.plugins.bad_input.wrong_kinds import cases, unrefused

ROOT = Path(__file__).resolve().parents[4]
ROLES = {
    (path.parents[1].name, entry): spec.get("options") or {}
    for path in sorted((ROOT / "roles").glob("*/meta/argument_specs.yml"))
    for entry, spec in yaml.safe_load(path.read_text(encoding="utf-8"))["argument_specs"].items()
}
ACTIONS: dict[str, Mapping[str, Any]] = {
    path.stem: arguments
    for path in sorted((ROOT / "plugins/action").glob("*.py"))
    if (
        arguments := getattr(
            importlib.import_module(f"ansible_collections.gaudi3.scale.plugins.action.{path.stem}"), "ARGUMENTS", None
        )
    )
}
FEWEST = 3000


@pytest.mark.parametrize(("role", "entry"), ROLES)
def test_no_value_of_another_kind_gets_into_a_role(role: str, entry: str) -> None:
    assert unrefused(ROLES[role, entry]) == ([], [])


@pytest.mark.parametrize("action", ACTIONS)
def test_no_value_of_another_kind_gets_into_an_action(action: str) -> None:
    assert unrefused(ACTIONS[action]) == ([], [])


def test_there_are_enough_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    roles, actions = (sum(1 for options in given.values() for _case in cases(options)) for given in (ROLES, ACTIONS))
    with capsys.disabled():
        print(f"\n{roles} bad inputs over {len(ROLES)} entry points of roles, {actions} over {len(ACTIONS)} actions")
    assert roles + actions >= FEWEST
