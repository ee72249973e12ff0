# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What cannot be read of another tool's files is one sentence, and what would be more than data is none of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.plan import plan
from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.sources import MOST_FILES, read_sources
from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.yaml_data import DEEPEST
from ansible_collections.gaudi3.scale.tests.unit.plugins.plugin_utils._migration.other_tools import written

BAD = {
    "an object": (
        "a.yml",
        "x: !!python/object/apply:os.system [touch run]\n",
        "it is not YAML that can be read at line 1",
    ),
    "an alias": ("a.yml", "a: &a [1]\nb: *a\n", "it has an alias"),
    "twice": ("a.yml", "a: 1\na: 2\n", "'a' is there twice; keep one"),
    "deep": ("a.yml", "[" * (DEEPEST + 8) + "]" * (DEEPEST + 8), f"it nests deeper than {DEEPEST} levels"),
    "no JSON": ("a.json", "{", "a.json:"),
    "no YAML": ("a.yml", "a: [\n", "it is not YAML that can be read at line 2"),
    "a quote": ("inventory", "[a]\nn1 x='1\n", "line 2 has a quote that does not end"),
    "a word": ("inventory", "[a]\nn1 odd\n", "line 2 has a word that is not name=value"),
    "two ranges": ("inventory", "[a]\nn[1:2]-[1:2]\n", "line 2 has a range that is not read here"),
    "a large range": ("inventory", "[a]\nn[1:99999]\n", "it has more than 10000 hosts"),
    "columns": ("map.csv", "a,b\n1,2\n", "it has no columns HOSTNAME and ADMIN_IP"),
    "groups": ("hosts.yml", "all:\n  hosts: [n1]\n", "all.hosts is not a mapping"),
}


@pytest.mark.parametrize(("name", "text", "expected"), BAD.values(), ids=[*BAD])
def test_what_cannot_be_read_is_one_sentence(name: str, text: str, expected: str, tmp_path: Path) -> None:
    with pytest.raises(GaudiError) as refusal:
        read_sources([str(written(tmp_path, {name: text}))])
    assert expected in str(refusal.value)
    assert str(refusal.value).endswith(".")
    assert not Path("run").exists()


def test_nothing_a_path_that_is_not_there_and_too_many_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(GaudiError, match="gaudi_migration_sources is empty"):
        read_sources([])
    for path in (str(tmp_path / "none"), "~nobody-here/x", "x" * 9999, "\0"):
        with pytest.raises(GaudiError, match="there is no"):
            read_sources([path])
    written(tmp_path, {f"{number}.md": "" for number in range(MOST_FILES + 1)})
    with pytest.raises(GaudiError, match="more than 500 files"):
        read_sources([str(tmp_path)])


def test_files_that_nobody_reads_are_named(tmp_path: Path) -> None:
    files = {"vars.yml": "habana_version: 1.22.0\n", "all.yml": "$ANSIBLE_VAULT;1.1;AES256\n30\n", "notes.md": "x\n"}
    written(tmp_path, files)
    (tmp_path / "image.bin").write_bytes(b"\xff\xfe\x00")
    told = {one.file: one.text for one in plan(read_sources([str(tmp_path)])).answers}
    assert "encrypted with Ansible Vault" in told["all.yml"]
    assert "not a kind of file that is known" in told["notes.md"]
    assert "it is not text" in told["image.bin"]
