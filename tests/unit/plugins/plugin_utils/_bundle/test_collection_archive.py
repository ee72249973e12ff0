# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The archive of a collection, as it is installed or as a checkout."""

from __future__ import annotations

import gzip
import json
import tarfile
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.plugin_utils._bundle.collection_archive import archive


def collection(root: Path) -> Path:
    (root / "docs").mkdir(parents=True)
    (root / "docs/a.md").write_text("a")
    (root / "MANIFEST.json").write_text(
        json.dumps({"collection_info": {"namespace": "n", "name": "c", "version": "1.2.3"}})
    )
    listed = [{"name": "."}, {"name": "docs"}, {"name": "docs/a.md"}]
    (root / "FILES.json").write_text(json.dumps({"files": listed}))
    (root / "local.txt").write_text("not the collection's")
    return root


def test_an_installed_collection_is_packed_the_same_each_time(tmp_path: Path) -> None:
    source = collection(tmp_path / "c")
    path = Path(archive(str(source), str(tmp_path), run_process))
    assert path.name == "n-c-1.2.3.tar.gz"
    first = path.read_bytes()
    (source / "docs/a.md").touch()
    archive(str(source), str(tmp_path), run_process)
    assert path.read_bytes() == first
    with tarfile.open(path) as packed:
        assert packed.getnames() == ["MANIFEST.json", "FILES.json", "docs", "docs/a.md"]
    assert gzip.decompress(first)


def test_a_checkout_with_an_empty_directory_is_packed(tmp_path: Path) -> None:
    source = tmp_path / "c"
    (source / "docs/empty").mkdir(parents=True)
    about = {"namespace": "n", "name": "c", "version": "1.2.3", "readme": "README.md", "authors": ["a"]}
    (source / "galaxy.yml").write_text(json.dumps(about))
    (source / "README.md").touch()
    (source / "meta").mkdir()
    (source / "meta/runtime.yml").write_text("requires_ansible: '>=2.17.0'\n")
    with tarfile.open(archive(str(source), str(tmp_path), run_process)) as packed:
        assert "docs/empty" in packed.getnames()


def test_a_collection_that_lost_a_file_is_not_packed(tmp_path: Path) -> None:
    source = collection(tmp_path / "c")
    (source / "docs/a.md").unlink()
    with pytest.raises(GaudiError, match=r"docs/a\.md is not there; install it again"):
        archive(str(source), str(tmp_path), run_process)


def test_what_is_no_collection_is_not_packed(tmp_path: Path) -> None:
    with pytest.raises(GaudiError, match=r"neither MANIFEST\.json nor galaxy\.yml"):
        archive(str(tmp_path), str(tmp_path), run_process)
