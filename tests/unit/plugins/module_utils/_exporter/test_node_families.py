# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Metrics of the node: what its cache of recipes takes, which ranks write and may fill."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter import node_families as module
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.node_families import node_families


def size_of_cache(root: Path, cache: Path) -> float:
    flags = root / "environment"
    flags.write_text(f"PT_HPU_RECIPE_CACHE_CONFIG={cache},false,1024\n")
    found = node_families(str(root / "kernel"), str(flags), str(root / "qualification"), str(root / "quarantine"))
    (sample,) = next(family.samples for family in found if family.name == "gaudi_recipe_cache_bytes")
    return sample.value


def fill(directory: Path, files: int) -> float:
    """Returns what one of them takes on the disk, each alike."""
    directory.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        (directory / f"{number}.recipe").write_bytes(b"x" * 9000)
    return (directory / "0.recipe").stat().st_blocks * 512.0


def test_a_cache_is_as_large_as_the_files_below_it(tmp_path: Path) -> None:
    each = fill(tmp_path / "cache", 3)
    fill(tmp_path / "cache/of/a/rank", 2)
    fill(tmp_path / "elsewhere", 4)
    (tmp_path / "cache/link").symlink_to(tmp_path / "elsewhere")
    link = (tmp_path / "cache/link").lstat().st_blocks * 512.0
    assert size_of_cache(tmp_path, tmp_path / "cache") == 5 * each + link


def test_no_directory_is_looked_at_beyond_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    each = fill(tmp_path / "cache", 50)
    monkeypatch.setattr(module, "_MOST_FILES", 10)
    assert size_of_cache(tmp_path, tmp_path / "cache") == 10 * each
