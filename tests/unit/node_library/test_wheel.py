# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The wheel carries the node library and the very files of the core that Ansible ships."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("setuptools")
ROOT = Path(__file__).parents[3]


def files_of(folder: str) -> list[Path]:
    """Without a link to the core, as a checkout may have one in the node library."""
    return sorted(file for file in (ROOT / folder).rglob("*.py") if "core" not in file.relative_to(ROOT).parts)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> zipfile.ZipFile:
    """Built from a copy, since setuptools writes into the source tree."""
    source = tmp_path_factory.mktemp("source")
    for folder in ("src/gaudi3_scale", "plugins/module_utils"):
        for file in files_of(folder):
            target = source / file.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes())
    (source / "pyproject.toml").write_bytes((ROOT / "pyproject.toml").read_bytes())
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", source / "out", source]
    subprocess.run(command, check=True, capture_output=True, text=True)
    (built,) = (source / "out").glob("gaudi3_scale-*.whl")
    return zipfile.ZipFile(built)


@pytest.mark.parametrize(
    ("package", "folder"), [("gaudi3_scale", "src/gaudi3_scale"), ("gaudi3_scale/core", "plugins/module_utils")]
)
def test_every_file_is_there_as_it_is_in_the_checkout(wheel, package, folder):
    files = files_of(folder)
    assert files
    for file in files:
        assert wheel.read(f"{package}/{file.relative_to(ROOT / folder).as_posix()}") == file.read_bytes()


def test_nothing_else_is_in_it(wheel):
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert tops == {"gaudi3_scale", next(top for top in tops if top.endswith(".dist-info"))}


def test_it_asks_for_no_other_torch(wheel):
    (metadata,) = (name for name in wheel.namelist() if name.endswith("/METADATA"))
    text = wheel.read(metadata).decode()
    assert "Name: gaudi3-scale\n" in text
    (torch,) = (line for line in text.splitlines() if line.startswith("Requires-Dist: torch"))
    assert torch == "Requires-Dist: torch>=2.6"


def test_it_brings_a_command(wheel):
    (entries,) = (name for name in wheel.namelist() if name.endswith("/entry_points.txt"))
    assert wheel.read(entries).decode().split() == [
        "[console_scripts]",
        "gaudi3_scale",
        "=",
        "gaudi3_scale.__main__:main",
    ]
