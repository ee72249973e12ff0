# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Modules are thin shells; the core knows neither Ansible nor anything outside the standard library."""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from pathlib import Path
from typing import Any

import pytest
import yaml

from scripts.build_site import for_users

from .checkout import CORE, CORE_ROOT, MODULES, ROOT, name_of, read_yaml

MOST_CODE_LINES = 60
DOCUMENTS = ("DOCUMENTATION", "EXAMPLES", "RETURN")
MEANINGLESS = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)

CORE_PACKAGE = "ansible_collections.gaudi3.scale.plugins.module_utils"

each_module = pytest.mark.parametrize("path", MODULES, ids=name_of)
each_core_file = pytest.mark.parametrize("path", CORE, ids=lambda path: path.relative_to(CORE_ROOT).as_posix())


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def documents(path: Path) -> dict[str, Any]:
    """The module's documentation strings, parsed."""
    found = {}
    for statement in tree_of(path).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            name = statement.targets[0].id
            if name in DOCUMENTS:
                found[name] = yaml.safe_load(ast.literal_eval(statement.value))
    return found


def lines_of(statement: ast.stmt) -> set[int]:
    return set(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))


def code_lines(path: Path) -> int:
    """Lines that hold code: no documentation, comments, docstrings or blank lines."""
    tree = tree_of(path)
    prose: set[int] = set()
    for node in ast.walk(tree):
        for statement in getattr(node, "body", []) if isinstance(node, (ast.Module, ast.FunctionDef)) else []:
            document = isinstance(statement, ast.Assign) and getattr(statement.targets[0], "id", "") in DOCUMENTS
            docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            if document or docstring:
                prose |= lines_of(statement)
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
    return len({token.start[0] for token in tokens if token.type not in MEANINGLESS} - prose)


def imported(path: Path) -> set[str]:
    """Top-level names of everything that the file imports absolutely, also inside functions."""
    names: set[str] = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add((node.module or "").split(".")[0])
    return names


@each_module
def test_module_is_a_thin_shell(path: Path) -> None:
    assert code_lines(path) <= MOST_CODE_LINES


@each_module
def test_module_ends_in_a_sentence_whatever_it_meets(path: Path) -> None:
    """``main`` declares the options, and all else is done by the one door; what has no ``main`` is an action.

    That door reads and checks the options, and ends with what ``answer`` returns, or in a sentence: its own tests.
    """
    tree = tree_of(path)
    functions = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}
    assert not [one for one in tree.body if isinstance(one, ast.ClassDef)]
    if "main" not in functions:
        return
    *before, last = functions["main"].body
    assert all(isinstance(one, ast.Assign) and not calls_of(one) for one in before), ast.unparse(functions["main"])
    assert isinstance(last, ast.Expr) and isinstance(last.value, ast.Call)
    assert ast.unparse(last.value.func) == "run_module"
    assert [ast.unparse(one) for one in last.value.args] == ["AnsibleModule", "answer"]
    assert f"{CORE_PACKAGE}._node.module_run import run_module" in path.read_text(encoding="utf-8")
    returned = [one for one in ast.walk(functions["answer"]) if isinstance(one, ast.Return)]
    assert returned and all(one.value is not None for one in returned)
    called = calls_of(tree)
    assert called.count("run_module") == called.count("main") == 1
    # Nothing is made of Ansible's class, and nothing ends a module well, beside the door.
    assert not {"AnsibleModule", "module.exit_json", "exit_json", "sys.exit", "module_failure"} & set(called)


def calls_of(tree: ast.AST) -> list[str]:
    return [ast.unparse(one.func) for one in ast.walk(tree) if isinstance(one, ast.Call)]


@each_module
def test_module_documents_itself(path: Path) -> None:
    assert set(documents(path)) == set(DOCUMENTS)
    documentation = documents(path)["DOCUMENTATION"]
    assert documentation["module"] == path.stem
    assert {"check_mode", "diff_mode"} <= set(documentation["attributes"])
    assert documents(path)["RETURN"], "a module that returns nothing cannot be built on"


@each_module
def test_what_a_node_answers_goes_through_the_one_door(path: Path) -> None:
    """Ansible's own action would take facts from a node, and variables for the next job."""
    action = ROOT / "plugins" / "action" / path.name
    routed = (
        read_yaml(ROOT / "meta" / "runtime.yml")["plugin_routing"]["modules"].get(path.stem, {}).get("action_plugin")
    )
    assert (routed is None) == action.exists()
    bases = door_classes(action if routed is None else action.with_name(f"{str(routed).rpartition('.')[2]}.py"))
    assert bases & DOORS, bases


# The door itself, and the classes that go through it.
DOORS = {"NodeModule", "PlainArguments", "RoleStep", "RoleEntry", "StepByStep"}


def door_classes(action: Path) -> set[str]:
    found = next(
        node for node in tree_of(action).body if isinstance(node, ast.ClassDef) and node.name == "ActionModule"
    )
    names = {base.id for base in found.bases if isinstance(base, ast.Name)}
    # hpu_batch_probe_nodes is made of the action of a node.
    return names | {"StepByStep"} if names == {"NodeProbe"} else names


def test_no_plugin_runs_a_module_beside_the_door() -> None:
    beside = [
        path.name
        for path in (ROOT / "plugins").rglob("*.py")
        if path.parent.name in ("action", "plugin_utils")
        and path.stem not in ("_node_module", "_other_action")
        and "(ActionBase)" in path.read_text(encoding="utf-8")
    ]
    assert not beside


INTERNAL = "Internal to the roles of this collection. Do not use it directly, its options may change in any release."
PUBLIC = read_yaml(Path(__file__).with_name("public_modules.yml"))


@each_module
def test_a_module_is_listed_for_users_or_says_that_it_is_internal(path: Path) -> None:
    assert (documents(path)["DOCUMENTATION"]["description"][0] == INTERNAL) == (path.stem not in PUBLIC)


def test_lists_for_users_have_what_is_public_and_nothing_else() -> None:
    modules = {path.stem for path in MODULES}
    assert set(PUBLIC) <= modules
    assert all(PUBLIC.values())
    assert read_yaml(ROOT / "meta" / "runtime.yml")["action_groups"]["all"] == sorted(PUBLIC)
    catalog = (ROOT / "docs" / "catalog.md").read_text(encoding="utf-8")
    assert {name for name in modules if f"| `{name}` |" in catalog} == set(PUBLIC)


def test_the_site_lists_what_is_public() -> None:
    shown = (
        "* :ansplugin:`hpu_info module <gaudi3.scale.hpu_info#module>` -- …\n    hpu_info_module\n    gaudi_host_role\n"
    )
    hidden = "* :ansplugin:`report module <gaudi3.scale.report#module>` -- …\n    report_module\n"
    assert for_users(shown + hidden, PUBLIC) == shown


# Programs that run beside a package of the distribution, which the role installs.
MAY_IMPORT = {"_cloudwatch/amazon.py": {"boto3", "botocore"}, "_model/bucket.py": {"boto3", "botocore"}}


@each_core_file
def test_core_needs_the_standard_library_only(path: Path) -> None:
    further = MAY_IMPORT.get(path.relative_to(CORE_ROOT).as_posix(), set())
    assert imported(path) <= set(sys.stdlib_module_names) | further


@each_core_file
def test_core_imports_its_neighbors_relatively(path: Path) -> None:
    """The wheel carries the same files under another package name."""
    assert not imported(path) & {"ansible_collections", "gaudi3_scale"}
