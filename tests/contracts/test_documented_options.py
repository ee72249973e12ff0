# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What pages say of options, their defaults and extras is what the code has."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tomllib
import yaml
from ansible_collections.gaudi3.scale.plugins.plugin_utils._shared_options import SHARED

from .checkout import ROLES, ROOT, is_templated, read_yaml
from .pages import PAGES, each_page, section, tables, text_of

DEFAULTS = {
    **{name: option["default"] for name, option in SHARED.items() if "default" in option},
    **{name: value for role in ROLES for name, value in (read_yaml(role / "defaults" / "main.yml") or {}).items()},
}
# A whole name: no pattern or beginning of one, no part of a path, and no program's.
NAME = re.compile(r"(?<![A-Za-z0-9_./])gaudi_[a-z0-9_]*[a-z0-9](?![a-z0-9_/*{]|\.py)")


@cache
def written_in_code() -> set[str]:
    """Every name of ours in what runs; not in roles' READMEs, which are made of it."""
    return {role.name for role in ROLES} | {
        name
        for folder in ("playbooks", "roles", "plugins", "extensions", "inventories", "src")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".yml", ".py", ".j2", ".json"}
        for name in NAME.findall(path.read_text(encoding="utf-8"))
    }


@each_page
def test_a_name_of_ours_on_a_page_is_one_in_the_code(page: Path) -> None:
    """Options, variables of the inventory, results, outcomes and metrics: what was renamed is found here."""
    # What went is named in one table, which has a test of its own.
    text = page.read_text(encoding="utf-8").partition("## Names that changed")[0]
    assert set(NAME.findall(text)) - written_in_code() == set()


@cache
def exercised_or_explained() -> set[str]:
    """Every name in tests, scenarios, examples, playbooks and pages; a catalog of all options proves nothing."""
    return {
        name
        for folder in ("docs", "molecule", "tests", "inventories", "benchmarks", "sandbox", "playbooks")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".yml", ".py", ".md", ".json"} and path.name != "catalog.md"
        for name in NAME.findall(path.read_text(encoding="utf-8"))
    }


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_an_option_of_a_role_has_a_reason(role: Path) -> None:
    """Two sites need different values: a page says when, or a playbook, a survey, a test or an example sets it."""
    known = read_yaml(role / "meta" / "argument_specs.yml")["argument_specs"].values()
    options = {name for entry in known for name in entry.get("options") or {}}
    assert options - exercised_or_explained() == set()


def stated(cell: str) -> list[Any]:
    """The value that a page gives as a default, as it may be meant; empty where it is told in words."""
    literal = re.fullmatch(r"`([^`]+)`|(\[\]|\{\}|true|false|[\d.]+)(?: %|\b|(?<=[]}])).*", cell)
    if cell == "none":
        return ["", [], {}, None]
    if not literal:
        return []
    text = literal[1] or literal[2]
    value = yaml.safe_load(text)
    return [value / 100] if re.match(r"[\d.]+ %", cell) else [value, text, text.split()]


def stated_defaults(page: Path) -> Iterator[tuple[str, str]]:
    """Each option with the default that the page gives it: in a column of that name, or in brackets behind it."""
    text = page.read_text(encoding="utf-8")
    for head, rows in tables(text):
        column = [cell.lower() for cell in head].index("default") if "default" in map(str.lower, head) else None
        for row in rows if column is not None else []:
            yield from ((name, row[column]) for name in re.findall(r"^`(gaudi_\w+)`$", row[0]))
    # With its unit between the two, `gaudi_x` steps (3), or the other way round, 5 % (`gaudi_x`).
    yield from re.findall(r"`(gaudi_\w+)`(?: seconds| steps)? \((\d[^)|:]*)\)", text)
    yield from re.findall(r"\(`(gaudi_\w+)`, (\d[^)|:]*)\)", text)
    yield from ((name, value) for value, name in re.findall(r"(\d[\d.]*(?: %)?) \(`(gaudi_\w+)`\)", text))


STATED_DEFAULTS = [
    pytest.param(name, cell, id=f"{page.stem}-{name}")
    for page in PAGES
    for name, cell in stated_defaults(page)
    # Of a role that decides by itself where nothing is given, the page tells what it decides.
    if name in DEFAULTS and not is_templated(DEFAULTS[name]) and (DEFAULTS[name] != "" or cell == "none")
]


@pytest.mark.parametrize(("name", "cell"), [row for row in STATED_DEFAULTS if stated(row.values[1])])
def test_a_default_on_a_page_is_the_role_s(name: str, cell: str) -> None:
    assert DEFAULTS[name] in stated(cell)


def test_defaults_are_found_on_pages() -> None:
    """So that a table of another form does not leave the test above with nothing."""
    assert len([row for row in STATED_DEFAULTS if stated(row.values[1])]) > 30


def test_a_port_of_the_security_page_is_its_option_s_default() -> None:
    ports = re.findall(
        r"^\| ([\d, ]+)/\w+, (`gaudi_\w+`(?:, `gaudi_\w+`)*) \|", text_of("docs/security.md"), re.MULTILINE
    )
    given = [
        pair
        for numbers, names in ports
        for pair in zip(re.findall(r"\d+", numbers), re.findall(r"gaudi_\w+", names), strict=True)
    ]
    assert len(given) >= 8
    # The one of a job's supervisors is that of its rendezvous and one more, unless it is set.
    known = {**DEFAULTS, "gaudi_training_control_port": DEFAULTS["gaudi_training_rendezvous_port"] + 1}
    assert {name: known[name] for _port, name in given} == {name: int(port) for port, name in given}


def test_what_supervision_takes_has_the_module_s_defaults() -> None:
    tree = ast.parse(text_of("plugins/modules/training_job.py"))
    (documentation,) = [
        ast.literal_eval(one.value)
        for one in tree.body
        if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "DOCUMENTATION"
    ]
    known = yaml.safe_load(documentation)["options"]["supervision"]["suboptions"]
    (rows,) = [rows for head, rows in tables(section("docs/surviving.md", "## Variables")) if head[0] == "option"]
    told = {row[0].strip("`"): float(row[1]) for row in rows}
    assert told == {name: known[name]["default"] for name in told} and told


def options_of_parser(place: str) -> dict[str, Any]:
    """Each long option of a program's parser, with its default where that is a literal."""
    found: dict[str, Any] = {}
    for call in ast.walk(ast.parse(text_of(place))):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument":
            name = ast.literal_eval(call.args[0])
            default = next((word.value for word in call.keywords if word.arg == "default"), None)
            found[name] = default.value if isinstance(default, ast.Constant) else None
    return found


TRAINER = options_of_parser("src/gaudi3_scale/trainer/options.py")


def test_the_trainer_s_options_are_those_of_its_table() -> None:
    ((_head, rows),) = tables(section("docs/training.md", "## The trainer").partition("\n### ")[0])
    described = {name: row[1] for row in rows for name in re.findall(r"`(--[\w-]+)", row[0])}
    assert described.keys() == TRAINER.keys()
    defaults = {name: default for name, default in TRAINER.items() if isinstance(default, (int, float))}
    for name, default in defaults.items():
        if not isinstance(default, bool) and described[name] and "--layers" not in described[name]:
            assert str(default) in described[name].replace("`", "").split(", "), name


@each_page
def test_an_option_that_a_page_says_is_the_trainer_s_is_one(page: Path) -> None:
    assert set(re.findall(r"trainer's `(--[\w-]+)", page.read_text(encoding="utf-8"))) <= TRAINER.keys()


def parameters(place: str, name: str) -> dict[str, ast.expr | None]:
    """The parameters of a function or of a class's ``__init__``, each with its default."""
    tree = ast.parse(text_of(place))
    found = next(
        node for node in ast.walk(tree) if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name
    )
    if isinstance(found, ast.ClassDef):
        found = next(node for node in found.body if isinstance(node, ast.FunctionDef) and node.name == "__init__")
    given = [one.arg for one in found.args.args if one.arg != "self"]
    before = [None] * (len(given) - len(found.args.defaults))
    named = zip((one.arg for one in found.args.kwonlyargs), found.args.kw_defaults, strict=True)
    return {**dict(zip(given, [*before, *found.args.defaults], strict=True)), **dict(named)}


@pytest.mark.parametrize(
    ("heading", "place", "name"),
    [
        ("### Step reports", "src/gaudi3_scale/reporting/report_step.py", "report_step"),
        ("## The batch size in your own code", "src/gaudi3_scale/batch/finder.py", "AdaptiveBatchFinder"),
    ],
)
def test_the_options_of_a_call_are_those_of_its_table(heading: str, place: str, name: str) -> None:
    (rows,) = [rows for head, rows in tables(section("docs/training.md", heading)) if head[0] == "option"]
    known = parameters(place, name)
    assert {word for row in rows for word in re.findall(r"`(\w+)`", row[0])} == known.keys()
    for row in (row for row in rows if len(row) == 3):
        names, defaults = re.findall(r"`(\w+)`", row[0]), row[1].replace("`", "").split(", ")
        for option, default in zip(names, defaults, strict=False):
            real = known[option]
            # None says that something else is taken, which is told in words; a constant's name stands for its value.
            if isinstance(real, ast.Constant) and real.value is not None:
                assert default == str(real.value), option


def test_the_extras_of_the_training_page_are_those_of_the_node_library() -> None:
    known = tomllib.loads(text_of("pyproject.toml"))["tool"]["setuptools"]["dynamic"]["optional-dependencies"]
    (row,) = re.findall(r"^\| `gaudi_venv_extras` \|.*$", text_of("docs/training.md"), re.MULTILINE)
    told = row.rpartition(" | of ")[2]
    # What is in brackets says what each is for.
    assert set(re.findall(r"`(\w+)`", re.sub(r"\((?:[^()]|\([^()]*\))*\)", "", told))) == known.keys()


@each_page
def test_an_extra_that_a_page_asks_for_is_one(page: Path) -> None:
    known = tomllib.loads(text_of("pyproject.toml"))["tool"]["setuptools"]["dynamic"]["optional-dependencies"]
    text = page.read_text(encoding="utf-8")
    asked = re.findall(r"gaudi_(?:venv|bundle)_extras: \[([\w, ]*)\]", text)
    named = re.findall(r"\bextra `(\w+)`", text)
    assert {*re.findall(r"\w+", " ".join(asked)), *named} <= known.keys()
