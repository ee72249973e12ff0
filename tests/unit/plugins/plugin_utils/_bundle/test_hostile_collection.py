# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Manifests of a collection that lead out of it, or are none: nothing is packed."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.plugin_utils._bundle.collection_archive import archive

ABOUT = {"collection_info": {"namespace": "a", "name": "b", "version": "1.0.0"}}


def collection(place: Path, about: Any, files: Any) -> tuple[str, str]:
    (place / "source").mkdir()
    (place / "made").mkdir()
    (place / "secret").write_text("root's\n", encoding="utf-8")
    (place / "source/README.md").write_text("A collection.\n", encoding="utf-8")
    (place / "source/out").symlink_to(place / "secret")
    for name, content in (("MANIFEST.json", about), ("FILES.json", files)):
        text = content if isinstance(content, str) else json.dumps(content)
        (place / "source" / name).write_text(text, encoding="utf-8")
    return str(place / "source"), str(place / "made")


def listing(*names: Any) -> dict[str, Any]:
    return {"files": [{"name": "."}, *({"name": name} for name in names)]}


@pytest.mark.parametrize(
    ("about", "files"),
    [
        (ABOUT, listing("../secret")),
        (ABOUT, listing("/etc/hostname")),
        (ABOUT, listing("source/../../secret")),
        (ABOUT, listing("out")),
        (ABOUT, listing(3)),
        (ABOUT, {"files": "README.md"}),
        (ABOUT, "[" * 200_000),
        ({"collection_info": {**ABOUT["collection_info"], "version": "../../x"}}, listing("README.md")),
        ({"collection_info": []}, listing("README.md")),
        ([], listing("README.md")),
        ("", listing("README.md")),
    ],
)
def test_nothing_is_packed(tmp_path: Path, about: Any, files: Any) -> None:
    with pytest.raises(GaudiError, match=r"^source '.*install") as refused:
        archive(*collection(tmp_path, about, files), run_process)
    assert len(str(refused.value).splitlines()) == 1
    assert list((tmp_path / "made").iterdir()) == []


def test_what_is_whole_is_packed_for_all_to_read(tmp_path: Path) -> None:
    made = Path(archive(*collection(tmp_path, ABOUT, listing("README.md")), run_process))
    assert made.stat().st_mode & 0o777 == 0o644
    with tarfile.open(made) as packed:
        assert sorted(packed.getnames()) == ["FILES.json", "MANIFEST.json", "README.md"]
