# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Every capability has tests by name: they are there, each run of CI plays them, and they use what they stand for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .checkout import MODULES, PLAYBOOKS, ROLES, ROOT, read_yaml, tasks_in
from .proofs import TABLE, file_of, in_every_run, is_on_nodes, is_there, named, rows, texts_of

ROWS = rows()
COLLECTION = "gaudi3.scale."
INCLUDES = ("ansible.builtin.include_tasks", "ansible.builtin.import_tasks")
APPLIES = ("ansible.builtin.include_role", "ansible.builtin.import_role")

each_row = pytest.mark.parametrize("name", ROWS)
each_success = pytest.mark.parametrize("name", [name for name, row in ROWS.items() if "success" in row])


def plays_of(playbook: Path) -> list[dict[str, Any]]:
    return [play for play in read_yaml(playbook) if "hosts" in play]


def imported_by(playbook: Path) -> list[str]:
    return [Path(play["ansible.builtin.import_playbook"]).stem for play in read_yaml(playbook) if "hosts" not in play]


def entry_points_of(playbook: Path) -> Iterator[str]:
    """``role.entry`` of all that a playbook applies by itself."""
    for play in plays_of(playbook):
        for task in tasks_in(play.get("tasks")):
            for key in APPLIES:
                if key in task:
                    yield f"{task[key]['name'].removeprefix(COLLECTION)}.{task[key].get('tasks_from', 'main')}"


def modules_of(role: str, file: str) -> Iterator[str]:
    """The modules of ours that the tasks of a file always come to, whatever the role's options are."""
    path = ROOT / "roles" / role / "tasks" / Path(file).name
    if path.is_file():
        yield from modules_in(role, read_yaml(path))


def modules_in(role: str, tasks: list[dict[str, Any]]) -> Iterator[str]:
    for task in tasks:
        # What is done after a failure is not always done.
        if "when" in task:
            continue
        for part in ("block", "always"):
            yield from modules_in(role, task.get(part, []))
        for key, value in task.items():
            if key.startswith(COLLECTION):
                yield key.removeprefix(COLLECTION)
            elif key in INCLUDES:
                yield from modules_of(role, value)
            elif key in APPLIES:
                file = Path(value.get("tasks_from", "main")).stem
                yield from modules_of(value["name"].removeprefix(COLLECTION), f"{file}.yml")


ENTRY_POINTS = {
    f"{role.name}.{entry}"
    for role in ROLES
    for entry in read_yaml(role / "meta" / "argument_specs.yml")["argument_specs"]
}
PLAYED = {entry for playbook in PLAYBOOKS for entry in entry_points_of(playbook)}
# Named by a playbook of its own or by a play; of a name that is worked out nobody knows here what it comes to.
ALWAYS_REACHED = {
    module for entry in ENTRY_POINTS for module in modules_of(entry.partition(".")[0], f"{entry.partition('.')[2]}.yml")
}


def choices(role: str, option: str) -> set[str]:
    """All that an option may be in any entry point of its role."""
    entries = read_yaml(ROOT / "roles" / role / "meta" / "argument_specs.yml")["argument_specs"]
    options = [entry["options"][option] for entry in entries.values() if option in (entry.get("options") or {})]
    return {str(choice) for found in options for choice in found["choices"]}


@pytest.mark.parametrize(
    ("section", "capabilities"),
    [
        ("playbooks", {path.stem for path in PLAYBOOKS}),
        ("entry_points", ENTRY_POINTS - PLAYED),
        ("engines", choices("gaudi_training", "gaudi_training_engine")),
        ("providers", choices("gaudi_fabric", "gaudi_fabric_provider")),
        ("layers", choices("gaudi_fabric", "gaudi_fabric_layer")),
        (
            "systems",
            {path.stem.removeprefix("packages_") for path in ROOT.glob("roles/*/tasks/packages_*.yml")},
        ),
        ("stages", choices("gaudi_qualify", "gaudi_qualify_stages")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_capability_of_the_tree_has_a_row_and_nothing_else_has(section: str, capabilities: set[str]) -> None:
    assert capabilities
    assert set(TABLE[section]) == capabilities


def test_a_module_has_a_row_unless_an_entry_point_always_comes_to_it() -> None:
    modules = {path.stem for path in MODULES}
    assert modules - ALWAYS_REACHED - set(TABLE["modules"]) == set()
    assert set(TABLE["modules"]) - modules == set()
    # Where there is nothing else to prove it, it has a success of its own.
    alone = {name for name, row in TABLE["modules"].items() if "success" not in row}
    assert alone - ALWAYS_REACHED == set()


def test_every_section_is_held_against_something() -> None:
    sections = {"playbooks", "entry_points", "engines", "providers", "layers", "systems", "stages", "ways", "modules"}
    assert set(TABLE) == sections
    assert all("success" in row for name, row in ROWS.items() if not name.startswith("modules."))


@each_row
def test_the_tests_that_it_names_are_there(name: str) -> None:
    assert [test for test in named(ROWS[name]) if not is_there(test)] == []


@each_success
def test_its_success_is_played_in_every_run(name: str) -> None:
    success = ROWS[name]["success"]
    assert success, "no test has it"
    assert [test for test in success if not in_every_run(test)] == []


@each_row
def test_its_refusals_are_played_in_every_run(name: str) -> None:
    refusals = ROWS[name]["refusals"]
    assert refusals, "no test refuses anything"
    assert [test for test in refusals if not in_every_run(test)] == []


# Plays of them are on the controller alone.
OF_NO_NODE = {
    f"playbooks.{path.stem}" for path in PLAYBOOKS if {play["hosts"] for play in plays_of(path)} == {"localhost"}
}


@each_success
def test_its_success_is_on_nodes(name: str) -> None:
    success = ROWS[name]["success"]
    assert name in OF_NO_NODE or not success or any(map(is_on_nodes, success))


@pytest.mark.parametrize("name", TABLE["playbooks"])
def test_a_playbook_is_named_by_a_test_that_is_its_success(name: str) -> None:
    """By the test itself or by what it uses, not anywhere in its folder; one that imports it will do."""
    files = {name, *(path.stem for path in PLAYBOOKS if name in imported_by(path))}
    words = {form for one in files for form in (one, f"{one}.yml", f"{COLLECTION}{one}")}
    tests = [test for test in TABLE["playbooks"][name]["success"] if is_there(test)]
    assert any(words & texts_of(test) for test in tests), [str(file_of(test)) for test in tests]
