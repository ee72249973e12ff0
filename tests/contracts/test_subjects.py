# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A subject has one name on every floor: from subjects.yml every path is derived, and no other one is there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from .checkout import ROOT

LISTS: dict[str, Any] = yaml.safe_load((ROOT / "tests/contracts/subjects.yml").read_text(encoding="utf-8"))
NAMED: dict[str, list[str]] = {**LISTS["subjects"], **LISTS["shared"]}
# Floor -> where one of that name may lie.
FLOORS = {
    "role": ("roles/gaudi_{}",),
    "node": ("plugins/module_utils/_{}",),
    "controller": ("plugins/plugin_utils/_{}",),
    "venv": ("src/gaudi3_scale/{}",),
    "scenario": ("molecule/{}", "molecule/gaudi_{}"),
    "page": ("docs/{}.md",),
}
# A page is made of these, and they are no subjects.
GENERATED = {"docs/site"}


def places(floor: str, name: str) -> list[str]:
    return [place for form in FLOORS[floor] if (ROOT / (place := form.format(name))).exists()]


def rows() -> list[tuple[str, str]]:
    return [(name, floor) for name, floors in NAMED.items() for floor in floors]


def there() -> Iterator[str]:
    """What lies on the floors: folders with something tracked in them, and pages."""
    for forms in FLOORS.values():
        for form in forms:
            folder = ROOT / Path(form).parent
            is_page = form.endswith(".md")
            for path in sorted(folder.iterdir()):
                held = path.suffix == ".md" if is_page else path.is_dir() and any(path.rglob("*.[pymj]*"))
                if held and not path.name.startswith((".", "__")):
                    yield path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize(("name", "floor"), rows())
def test_a_subject_is_on_the_floors_that_it_names(name: str, floor: str) -> None:
    assert places(floor, name), f"{name} has no {floor}: {', '.join(FLOORS[floor])}"


def test_nothing_lies_on_a_floor_without_a_subject() -> None:
    derived = {place for name, floor in rows() for place in places(floor, name)}
    derived |= {f"docs/{guide}.md" for guide in LISTS["guides"]} | {f"molecule/{name}" for name in LISTS["scenarios"]}
    assert set(there()) - derived - GENERATED == set()
    assert derived - set(there()) == set()


@pytest.mark.parametrize("floor", ["node", "controller"])
def test_unit_tests_lie_as_the_subject_does(floor: str) -> None:
    folder = Path(FLOORS[floor][0]).parent
    tested = {path.name.removeprefix("_") for path in (ROOT / "tests/unit" / folder).iterdir() if path.name[1:2] != "_"}
    unknown = {name for name in tested if (ROOT / "tests/unit" / folder / f"_{name}").is_dir()} - {
        name for name, floors in NAMED.items() if floor in floors
    }
    assert unknown == set()


def test_no_name_stands_twice() -> None:
    assert not set(LISTS["subjects"]) & set(LISTS["shared"])
    assert not set(NAMED) & set(LISTS["guides"])
    assert not set(NAMED) & set(LISTS["scenarios"])
