# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""An answer with every field that a module's RETURN has, and what a hostile node might put in the place of each."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.gaudi3.scale.plugins.plugin_utils._returned import COLLECTION, documented_of
from ansible_collections.gaudi3.scale.tests.unit.json_places import Place, places, with_value

ROOT = Path(__file__).parents[2]
_OF_A_TYPE: dict[str, Any] = {
    "str": "a",
    "int": 3,
    "float": 2.5,
    "bool": True,
    "raw": "a",
    "dict": {"a": 1},
    "list": ["a"],
}
ABSENT = object()
HOSTILE = [
    ABSENT,
    None,
    True,
    -1,
    10**400,
    math.nan,
    "",
    "\x1b]0;t\x07\u202e{{ lookup('pipe', 'id') }}",
    "\ud800",
    "x" * 100_000,
    [],
    [None],
    [[5]],
    {},
    {"ansible_user": "x", "\ud800": None},
]


def whole_answer(module: str) -> dict[str, Any]:
    return _members(documented_of(module))


def _members(documented: dict[str, Any]) -> dict[str, Any]:
    return {name: _value(told) for name, told in documented.items()}


def _value(told: dict[str, Any]) -> Any:
    inside = _members(told["contains"]) if told.get("contains") else None
    if told["type"] == "list":
        return [copy.deepcopy(_OF_A_TYPE[told["elements"]]) if inside is None else inside]
    return copy.deepcopy(_OF_A_TYPE[told["type"]]) if inside is None else inside


def hostile(answer: dict[str, Any]) -> Iterator[tuple[Place, Any]]:
    """Each place with each value: the place, and the whole answer with that there."""
    for at in places(answer):
        for value in HOSTILE:
            if value is not ABSENT:
                yield at, with_value(answer, at, value)
            elif at:
                yield at, without(answer, at)


def without(document: Any, at: Place) -> Any:
    changed = copy.deepcopy(document)
    holder = changed
    for key in at[:-1]:
        holder = holder[key]
    del holder[at[-1]]
    return changed


def registered() -> dict[str, str]:
    """Variable to the module whose answer, which a node gives, a role or playbook keeps there."""
    files = [*ROOT.glob("roles/*/tasks/*.yml"), *ROOT.glob("playbooks/*.yml")]
    found: dict[str, str] = {}
    for file in files:
        for task in _tasks(yaml.safe_load(file.read_text(encoding="utf-8"))):
            for name in task:
                if "register" in task and str(name).startswith(COLLECTION):
                    found[task["register"]] = name.removeprefix(COLLECTION)
    return {name: module for name, module in found.items() if runs_on_nodes(module)}


def runs_on_nodes(module: str) -> bool:
    """What an action alone is made of has no program to send there."""
    return "\ndef main" in (ROOT / "plugins/modules" / f"{module}.py").read_text(encoding="utf-8")


def _tasks(document: Any) -> Iterator[dict[str, Any]]:
    if isinstance(document, list):
        for one in document:
            yield from _tasks(one)
    elif isinstance(document, dict):
        yield document
        for name in ("tasks", "pre_tasks", "post_tasks", "block", "rescue", "always"):
            yield from _tasks(document.get(name))
