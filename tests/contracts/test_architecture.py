# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The picture of the folders shows all of them, and what it says of who calls whom is so."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from scripts.architecture import columns, picture

from .checkout import ROOT

# Where code runs -> what it may import of ours beside its own folder.
MAY_IMPORT = {
    "plugins/module_utils": set(),
    "plugins/modules": {"module_utils"},
    "plugins/plugin_utils": {"module_utils"},
    "plugins/action": {"module_utils", "plugin_utils"},
    "plugins/callback": {"module_utils", "plugin_utils"},
    "plugins/inventory": {"module_utils", "plugin_utils"},
}


def test_every_tracked_folder_of_code_is_in_the_picture() -> None:
    folders = ("plugins/module_utils", "plugins/plugin_utils", "src", "roles")
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *folders]
    tracked = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    drawn = set(re.findall(r"[a-z0-9_]+", " ".join(re.findall(r'class="names">([^<]*)<', picture(ROOT)))))
    for path in tracked:
        parts = Path(path).parts
        place = 3 if parts[0] == "src" else 2 if parts[0] == "plugins" else 1
        if len(parts) > place + 1 and parts[0] != "src":
            assert parts[place].removeprefix("_") in drawn, path
        if parts[0] == "src" and len(parts) > 3 and parts[1] == "gaudi3_scale":
            assert parts[2] in drawn, path


def test_every_box_is_a_folder() -> None:
    for boxes in columns(ROOT).values():
        for box in boxes:
            assert (ROOT / box.path).is_dir()
            assert box.names


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_calls_go_in_the_direction_that_the_picture_shows(folder: str) -> None:
    own = Path(folder).name
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
            found = re.match(r"ansible_collections\.gaudi3\.scale\.plugins\.(\w+)", module)
            if found:
                assert found[1] in MAY_IMPORT[folder] | {own}, f"{path}: {module}"


def imports(path: Path, root: Path) -> Iterator[tuple[str, ...]]:
    """The places below ``root`` that the file imports, each as its parts."""
    here = path.relative_to(root).with_suffix("").parts
    prefix = ".".join(root.relative_to(ROOT).parts)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom):
            continue
        module = tuple((node.module or "").split(".")) if node.module else ()
        if node.level:
            base = (*here[: len(here) - node.level], *module)
        elif f"{prefix}." in f"{node.module}.":
            base = tuple(f"{node.module}.".partition(f"{prefix}.")[2].strip(".").split("."))
        else:
            continue
        yield from ((*base, alias.name) for alias in node.names)


def cycles(edges: Mapping[str, set[str]]) -> list[str]:
    """What cannot be put into an order, since each needs another one of the list and is needed by one."""
    left = {name: set(needs) - {name} for name, needs in edges.items()}
    while True:
        needed = set().union(*left.values())
        kept = {name: needs & set(left) for name, needs in left.items() if needs & set(left) and name in needed}
        if kept == left:
            return sorted(left)
        left = kept


@pytest.mark.parametrize("folder", ["plugins/module_utils", "plugins/plugin_utils"])
def test_packages_can_be_read_in_an_order(folder: str) -> None:
    root = ROOT / folder
    edges: dict[str, set[str]] = {}
    for path in sorted(root.rglob("*.py")):
        package = path.relative_to(root).parts[0].removesuffix(".py")
        edges.setdefault(package, set()).update(place[0] for place in imports(path, root) if place and place[0])
    assert cycles(edges) == []


def test_modules_of_the_sandbox_can_be_read_in_an_order() -> None:
    root = ROOT / "sandbox"
    names = {path.relative_to(root).with_suffix("").parts for path in root.rglob("*.py")}
    edges = {
        ".".join(name): {
            ".".join(part)
            for place in imports(root.joinpath(*name).with_suffix(".py"), root)
            for part in (place, place[:-1])
            if part in names
        }
        for name in names
    }
    assert cycles(edges) == []


def test_a_cycle_is_found() -> None:
    assert cycles({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"d"}}) == ["b", "c"]
