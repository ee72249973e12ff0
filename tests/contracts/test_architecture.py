# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The picture of the folders shows all of them, and what it says of who calls whom is so."""

from __future__ import annotations

import ast
import re
import subprocess
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
