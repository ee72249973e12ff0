# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Every role begins by refusing options that it does not know, and refuses nothing that this collection itself sets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._returned import facts_of
from ansible_collections.gaudi3.scale.plugins.plugin_utils._role_options import (
    FACTS,
    OUTCOMES,
    SHARED,
    SpecifiedRole,
    refusal,
    shared_refusal,
    specified,
)

from .checkout import ROLES, ROOT, name_of, read_yaml, task_files, tasks_in

CHECK = "gaudi3.scale.role_options"
# Modules whose action does the same before the module runs.
ENTRIES = {
    f"gaudi3.scale.{path.stem}"
    for path in (ROOT / "plugins" / "action").glob("*.py")
    if re.search(r"^class ActionModule\(RoleEntry\)", path.read_text(encoding="utf-8"), re.MULTILINE)
}
SETS = ("ansible.builtin.set_fact", "vars")
LOOP_NAMES = ("loop_var", "index_var", "extended_var")
WRITTEN = sorted(
    path
    for folder in ("roles", "playbooks", "inventories", "docs", "molecule", "sandbox")
    for pattern in ("*.yml", "*.md")
    for path in (ROOT / folder).rglob(pattern)
)

# A name, and no pattern or beginning of one.
NAME = re.compile(r"(?<![A-Za-z0-9_./])gaudi_[a-z0-9_]*[a-z0-9](?![a-z0-9_/*{])")

each_role = pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)


@cache
def of(role: Path) -> SpecifiedRole:
    return specified(role.name, role.name, read_yaml(role / "meta" / "argument_specs.yml")["argument_specs"])


def longer_than(role: Path) -> list[SpecifiedRole]:
    return [of(other) for other in ROLES if other.name.startswith(f"{role.name}_")]


def tasks_of(role: Path) -> Iterator[Mapping[str, Any]]:
    """Its tasks and handlers."""
    return (task for path in task_files(role) for task in tasks_in(read_yaml(path)))


def names_set_by(role: Path) -> Iterator[str]:
    """What the role's own tasks and handlers register and set."""
    for task in tasks_of(role):
        if "register" in task:
            yield task["register"]
        for key in SETS:
            yield from task.get(key) or {}
        yield from (name for key, name in (task.get("loop_control") or {}).items() if key in LOOP_NAMES)


def registered_by(role: Path) -> set[str]:
    return {task["register"] for task in tasks_of(role) if task.get("register", "").startswith(f"{role.name}_")}


@each_role
def test_every_entry_point_begins_with_it(role: Path) -> None:
    for entry in read_yaml(role / "meta" / "argument_specs.yml")["argument_specs"]:
        for task in read_yaml(role / "tasks" / f"{entry}.yml"):
            (action,) = {*task} - {"name", "register", "when", "run_once", "vars", "notify"}
            if action == "ansible.builtin.set_fact":
                continue
            if action == "ansible.builtin.include_tasks" and "when" in task:
                # What is sometimes done before begins with it itself.
                assert CHECK in read_yaml(role / "tasks" / task[action])[0]
                continue
            if action == "ansible.builtin.import_tasks":
                task = read_yaml(role / "tasks" / task[action])[0]
                (action,) = {*task} - {"name", "register"}
            # No condition, and so no way around it.
            assert (action in ENTRIES or action == CHECK) and "when" not in task
            break
        else:
            pytest.fail(f"{entry} refuses nothing")


@each_role
def test_the_role_s_own_names_pass(role: Path) -> None:
    names = {*names_set_by(role), *read_yaml(role / "defaults" / "main.yml")}
    assert f"{role.name}_result" in names
    assert refusal(of(role), "node1", names, longer_than(role)) == ""


@each_role
def test_nothing_passes_that_is_neither_option_nor_registered(role: Path) -> None:
    """A name that the role does not register any more would be a misspelling that slips through."""
    assert of(role).known - of(role).options == registered_by(role)


@each_role
def test_no_option_is_also_a_result(role: Path) -> None:
    assert not of(role).options & registered_by(role)


@pytest.mark.parametrize("path", WRITTEN, ids=name_of)
def test_no_file_of_ours_has_a_name_that_would_be_refused(path: Path) -> None:
    # What went is named in one table, which has a test of its own.
    text = path.read_text(encoding="utf-8").partition("## Names that changed")[0]
    # A role's name is none of a variable, also where another role's options begin with it.
    names = set(NAME.findall(text)) - {role.name for role in ROLES}
    said = [refusal(of(role), path.name, names, longer_than(role)) for role in ROLES]
    assert [sentence for sentence in said if sentence] == []


# Plays and roles alone: what they read is what there is.
READ = sorted(
    path
    for pattern in ("playbooks/*.yml", *(f"roles/*/{part}/*.yml" for part in ("tasks", "defaults", "vars", "meta")))
    for path in ROOT.glob(pattern)
)
READ_NAME = re.compile(r"(?<![A-Za-z0-9_./])gaudi_[a-z0-9_]+(?![a-z0-9_/*{.])")
OUTCOME = re.compile(r"^ +(?:variable|__gaudi_training_outcome): (gaudi_\w+)$", re.MULTILINE)
ROLE_NAMES = [role.name for role in ROLES]


def test_what_the_collection_shares_is_what_its_roles_and_playbooks_read() -> None:
    texts = [path.read_text(encoding="utf-8") for path in READ]
    outcomes = {name for text in texts for name in OUTCOME.findall(text)}
    assert outcomes == OUTCOMES
    read = {
        name for text in texts for name in re.findall(r"(?<![A-Za-z0-9_./])gaudi_[a-z0-9_]+(?![a-z0-9_/*{.])", text)
    }
    of_no_role = {name for name in read if shared_refusal("", [name], ROLE_NAMES, SHARED) or name in SHARED}
    # Words of the vendor and of a report that are no variables.
    assert of_no_role - {"gaudi_ethernet", "gaudi_direct"} == {*SHARED} - {"gaudi_site_variables"}
    assert facts_of("hpu_fabric") | facts_of("hpu_batch_probe") == FACTS


def test_each_shared_option_is_explained_to_operators() -> None:
    handbook = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md"))
    assert [name for name in sorted(SHARED) if f"`{name}" not in handbook] == []
