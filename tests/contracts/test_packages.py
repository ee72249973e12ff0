# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The core and the node library have packages by subject, and a newcomer is told of each."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from .checkout import CORE_ROOT, ROOT

LIBRARY_ROOT = ROOT / "src" / "gaudi3_scale"
CONTROLLER_ROOT = ROOT / "plugins" / "plugin_utils"
PRIVATE = "# Private to gaudi3.scale: it may change in any release."
ROOTS = {"gaudi3_scale.core": CORE_ROOT, "gaudi3_scale": LIBRARY_ROOT}


def packages(root: Path) -> list[str]:
    """Folders with Python files below ``root``; one that lost its last file leaves nothing but its compiled files.

    The core is linked into the node library of a checkout, and is not a part of it.
    """
    found = {path.parent.relative_to(root).as_posix() for path in root.rglob("*.py")} - {"."}
    return sorted(name for name in found if (root / name.partition("/")[0]).resolve() != CORE_ROOT.resolve())


@pytest.mark.parametrize(("root", "levels"), [(CORE_ROOT, 2), (LIBRARY_ROOT, 1)], ids=ROOTS)
def test_packages_are_not_deep(root: Path, levels: int) -> None:
    assert [name for name in packages(root) if name.count("/") >= levels] == []


def test_only_the_error_of_all_lies_beside_the_packages_of_the_core() -> None:
    assert sorted(path.stem for path in CORE_ROOT.glob("*.py")) == ["__init__", "_errors"]


@pytest.mark.parametrize("root", [CORE_ROOT, CONTROLLER_ROOT], ids=lambda root: root.name)
def test_all_of_it_is_private_by_name_and_says_so_first(root: Path) -> None:
    files = [path for path in root.rglob("*.py") if path.name != "__init__.py"]
    assert [path.name for path in root.iterdir() if not path.name.startswith("_")] == []
    assert files
    assert [str(path) for path in files if PRIVATE not in path.read_text(encoding="utf-8").splitlines()[:4]] == []


@pytest.mark.parametrize("name", packages(CORE_ROOT))
def test_a_package_of_the_core_has_an_empty_init_file(name: str) -> None:
    """ansible-test wants it."""
    assert (CORE_ROOT / name / "__init__.py").read_bytes() == b""


@pytest.mark.parametrize(
    ("prefix", "name"), [(prefix, name) for prefix, root in ROOTS.items() for name in packages(root)]
)
def test_setuptools_and_a_newcomer_are_told_of_a_package(prefix: str, name: str) -> None:
    assert (ROOTS[prefix] / name / "__init__.py").is_file()
    assert f'"{prefix}.{name.replace("/", ".")}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f"| `{name}` |" in (ROOT / "docs" / "developing.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("root", ROOTS.values(), ids=ROOTS)
def test_all_of_it_is_python(root: Path) -> None:
    """The wheel that a controller writes has nothing else in it."""
    files = (path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    assert [str(path) for path in files if path.suffix != ".py"] == []


# What of a node each of these keeps as it is wanted; `_flags` runs no program, so it is given none.
STATES = ("_containers", "_driver", "_fabric", "_firmware", "_flags", "_host", "_venv", "_upgrade/drain")


@pytest.mark.parametrize("package", STATES)
def test_a_state_has_one_shape(package: str) -> None:
    """Who knows one layer finds the way into the next: ``converge`` in ``state.py``, and the same first parameters."""
    tree = ast.parse((CORE_ROOT / package / "state.py").read_text(encoding="utf-8"))
    (converge,) = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "converge"]
    names = [argument.arg for argument in converge.args.args]
    wanted = ["options", "run", "check_mode"]
    assert names[: len(wanted)] == wanted or (package, names[:2]) == ("_flags", ["options", "check_mode"])
    assert not converge.args.kwonlyargs
