# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The table of capabilities, and what can be known of the tests that it names without playing one.

A test is named ``path/test_file.py::test_function``, with a row of its own behind it where only some are meant.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tests.gates.gate import LONG_RUN, Gate
from tests.gates.table import GATES
from tests.long_rows import SEED

from .checkout import ROOT, read_yaml

TABLE: dict[str, dict[str, dict[str, list[str]]]] = read_yaml(ROOT / "tests" / "gates" / "coverage.yml")
# Where tests speak to nodes.
ON_NODES = ("molecule/", "tests/rhel/")
OF_TESTS = ("molecule", "tests")
Definition = tuple[Path, ast.stmt]


def rows() -> dict[str, dict[str, list[str]]]:
    """Every row of the table by section and name."""
    return {f"{section}.{name}": row for section, known in TABLE.items() for name, row in known.items()}


def named(row: dict[str, list[str]]) -> list[str]:
    return [*row.get("success", []), *row["refusals"]]


def file_of(test: str) -> Path:
    return ROOT / test.partition("::")[0]


def function_of(test: str) -> str:
    return test.partition("::")[2].partition("[")[0]


def is_on_nodes(test: str) -> bool:
    return test.startswith(ON_NODES)


def is_there(test: str) -> bool:
    """Whether the file has such a function; of its rows pytest knows."""
    found = definitions(file_of(test)).get(function_of(test)) if file_of(test).is_file() else None
    return isinstance(found, ast.FunctionDef)


def in_every_run(test: str) -> bool:
    """Whether each run of CI plays the test, with the row or at least one of its rows."""
    gate = gate_of(test)
    if gate is None or gate.run == LONG_RUN:
        return False
    collected = collected_tests()
    return test in collected or any(one.startswith(f"{test}[") for one in collected)


def gate_of(test: str) -> Gate | None:
    """The gate whose commands play the folder of the test."""
    folders = {parent.as_posix() for parent in Path(test.partition("::")[0]).parents}
    return next((gate for gate in GATES if folders & set(folders_of(gate))), None)


def folders_of(gate: Gate) -> Iterator[str]:
    for command in gate.commands:
        for before, word in zip(("", *command), command):
            if before == "--scenario-name":
                yield f"molecule/{word}"
            elif word.startswith("tests/"):
                yield word


@cache
def collected_tests() -> frozenset[str]:
    """What pytest collects of the files that the table names, asked as the gates of a usual run ask it.

    Marks, rows that are worked out and fixtures' own rows are its business; no test is played, and no node is there.
    """
    files = sorted({str(file_of(test)) for row in rows().values() for test in named(row) if file_of(test).is_file()})
    # What nobody plays needs no assertions that explain themselves, and rewriting them is most of the time.
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "--assert=plain",
        "--collect-only",
        "-q",
        *files,
    ]
    # The caller's options would have it write the caller's own results, and its seed draw rows that others leave out.
    around = {name: value for name, value in os.environ.items() if name not in ("PYTEST_ADDOPTS", SEED)}
    around["GAUDI_SANDBOX"] = "nobody"
    done = subprocess.run(command, cwd=ROOT, env=around, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return frozenset(line for line in done.stdout.splitlines() if "::" in line)


def texts_of(test: str) -> set[str]:
    """Every text in the test, in its fixtures, and in whatever of the tests' own code these use."""
    path = file_of(test)
    roots = [function_of(test), *(name for name, stmt in around(path).items() if is_for_all(stmt))]
    found: set[str] = set()
    seen: set[tuple[Path, str]] = set()
    wanted = [(path, name) for name in roots]
    while wanted:
        place, name = wanted.pop()
        if (place, name) in seen:
            continue
        seen.add((place, name))
        defined = find(place, name)
        if defined is not None:
            texts, names = used_by(defined[1])
            found |= texts
            wanted += [(defined[0], one) for one in names]
    return found


def is_for_all(stmt: ast.stmt) -> bool:
    """Whether a definition counts for each test of its file without being named there."""
    if isinstance(stmt, ast.FunctionDef):
        return any("autouse=True" in ast.unparse(decorator) for decorator in stmt.decorator_list)
    return isinstance(stmt, ast.Assign) and ast.unparse(stmt.targets[0]) == "pytestmark"


def used_by(stmt: ast.stmt) -> tuple[set[str], set[str]]:
    """The texts of a definition, and the names that it uses: a fixture's name is that of an argument, or a text."""
    documented: list[Any] = [node for node in ast.walk(stmt) if is_documented(node)]
    documents = {id(node.body[0].value) for node in documented}
    texts = {
        node.value
        for node in ast.walk(stmt)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents
    }
    names = {node.id for node in ast.walk(stmt) if isinstance(node, ast.Name)}
    arguments = {node.arg for node in ast.walk(stmt) if isinstance(node, ast.arg)}
    return texts, names | arguments | texts


def is_documented(node: ast.AST) -> bool:
    return isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node) is not None


def find(path: Path, name: str) -> Definition | None:
    """Where a name of a file is defined: there, in what it imports of the tests' own, or among its fixtures."""
    stmt = definitions(path).get(name)
    if isinstance(stmt, ast.ImportFrom):
        source = source_of(path, stmt)
        (alias,) = [one.name for one in stmt.names if (one.asname or one.name) == name]
        return find(source, alias) if source is not None else None
    if stmt is not None:
        return path, stmt
    shared = next((place for place in fixtures_of(path) if name in definitions(place)), None)
    return (shared, definitions(shared)[name]) if shared is not None else None


def around(path: Path) -> dict[str, ast.stmt]:
    return {name: stmt for place in (*fixtures_of(path), path) for name, stmt in definitions(place).items()}


def fixtures_of(path: Path) -> list[Path]:
    """The files of fixtures that pytest reads for a test's file, the nearest first."""
    return [place for folder in path.relative_to(ROOT).parents if (place := ROOT / folder / "conftest.py").is_file()]


def source_of(path: Path, stmt: ast.ImportFrom) -> Path | None:
    """The file from which a test imports, where it is one of the tests' own."""
    words = (stmt.module or "").split(".")
    base = path.parents[stmt.level - 1] if stmt.level else ROOT
    source = base.joinpath(*words).with_suffix(".py")
    return source if source.is_file() and source.relative_to(ROOT).parts[0] in OF_TESTS else None


@cache
def definitions(path: Path) -> dict[str, ast.stmt]:
    """What a file defines or imports at its top, by name."""
    found: dict[str, ast.stmt] = {}
    for stmt in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(stmt, (ast.FunctionDef, ast.ClassDef)):
            found[stmt.name] = stmt
        elif isinstance(stmt, (ast.Assign, ast.AnnAssign)):
            targets = stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target]
            for node in (node for target in targets for node in ast.walk(target)):
                if isinstance(node, ast.Name):
                    found[node.id] = stmt
        elif isinstance(stmt, ast.ImportFrom):
            found.update({alias.asname or alias.name: stmt for alias in stmt.names})
    return found
