# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the controller keeps of a build: by its checksum, for one kind of node, and for one builder at a time."""

from __future__ import annotations

import hashlib
import multiprocessing
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._built_libraries import BuiltLibraries

KEY, CONTENT = "0123456789abcdef0123", b"built"
SHA = hashlib.sha256(CONTENT).hexdigest()


def fetched(directory: Path) -> Path:
    (directory / "fetched").write_bytes(CONTENT)
    return directory / "fetched"


def test_what_was_kept_is_found_by_another_run(tmp_path: Path) -> None:
    with BuiltLibraries(tmp_path / "cache").alone(KEY):
        assert BuiltLibraries(tmp_path / "cache").find(KEY) is None
        BuiltLibraries(tmp_path / "cache").keep(KEY, fetched(tmp_path), SHA, "node1")
    found = BuiltLibraries(tmp_path / "cache").find(KEY)
    assert found is not None and (found.path.read_bytes(), found.sha256) == (CONTENT, SHA)
    assert BuiltLibraries(tmp_path / "cache").find("another") is None


def test_an_archive_without_its_checksum_was_cut_off_and_counts_for_nothing(tmp_path: Path) -> None:
    (tmp_path / f"{KEY}.tar.gz").write_bytes(CONTENT)
    assert BuiltLibraries(tmp_path).find(KEY) is None


def test_what_was_changed_on_the_controller_is_not_brought(tmp_path: Path) -> None:
    kept = BuiltLibraries(tmp_path).keep(KEY, fetched(tmp_path), SHA, "node1")
    kept.path.write_bytes(b"other")
    with pytest.raises(GaudiError, match=r"on the controller is not what was built: .* remove it to have it"):
        BuiltLibraries(tmp_path).find(KEY)


def test_what_was_damaged_on_its_way_is_not_kept(tmp_path: Path) -> None:
    with pytest.raises(GaudiError, match="What node1 built reached the controller with the SHA-256"):
        BuiltLibraries(tmp_path).keep(KEY, fetched(tmp_path), "0" * 64, "node1")
    assert BuiltLibraries(tmp_path).find(KEY) is None


def test_a_failure_is_for_the_run_in_which_it_was(tmp_path: Path) -> None:
    libraries = BuiltLibraries(tmp_path)
    assert libraries.failure(KEY, "run1") == ""
    libraries.fail(KEY, "run1", "node1", "make ended with 2.")
    assert libraries.failure(KEY, "run1") == "node1: make ended with 2."
    assert libraries.failure(KEY, "run2") == ""


@pytest.mark.parametrize("key", ["", "../../etc/cron", "a/b", "a" * 65, "ä"])
def test_a_node_cannot_choose_a_file_of_the_controller(tmp_path: Path, key: str) -> None:
    with pytest.raises(GaudiError, match="which is not a valid name; inspect the node"):
        BuiltLibraries(tmp_path / "cache").find(key)


def _note_alone(directory: Path, log: Path, name: str) -> None:
    with BuiltLibraries(directory).alone(KEY), log.open("a", encoding="utf-8") as lines:
        for what in ("begins", "ends"):
            lines.write(f"{name} {what}\n")
            lines.flush()


def test_one_fork_of_ansible_builds_while_the_others_wait(tmp_path: Path) -> None:
    forks = [
        multiprocessing.get_context("fork").Process(target=_note_alone, args=(tmp_path, tmp_path / "log", str(number)))
        for number in range(8)
    ]
    for fork in forks:
        fork.start()
    for fork in forks:
        fork.join()
    lines = (tmp_path / "log").read_text(encoding="utf-8").split("\n")[:-1]
    assert [line.split()[1] for line in lines] == ["begins", "ends"] * 8
    assert [line.split()[0] for line in lines[::2]] == [line.split()[0] for line in lines[1::2]]
