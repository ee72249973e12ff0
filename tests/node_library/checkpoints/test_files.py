# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import shutil

import pytest

from gaudi3_scale.checkpoints.files import (
    Retention,
    damage,
    found_in,
    manifest_of,
    put_in_place,
    remove_surplus,
    remove_unfinished,
    set_aside,
    steps_in,
    surplus,
)
from made_checkpoints import make


@pytest.mark.parametrize(
    ("steps", "retention", "expected"),
    [
        ([], Retention(2), []),
        ([5], Retention(2), []),
        ([30, 10, 20], Retention(2), [10]),
        ([10, 20, 30, 40, 50], Retention(1, 20), [10, 30]),
        ([10, 20, 25], Retention(2, 50), [10]),
    ],
)
def test_what_is_neither_new_nor_at_a_multiple_is_surplus(steps, retention, expected):
    assert surplus(steps, retention) == expected


def test_only_whole_names_are_steps(tmp_path):
    for name in ("step-00000100", "step-123456789", ".step-00000200.7", "step-00000300.damaged", "step-7", "last"):
        (tmp_path / name).mkdir()
    (tmp_path / "step-00000400").touch()
    assert list(steps_in(tmp_path)) == [100, 123456789]
    assert steps_in(tmp_path / "nothing") == {}


def test_a_checkpoint_is_as_its_manifest_says(tmp_path):
    path = make(tmp_path, 100)
    manifest = manifest_of(path)
    assert (manifest.step, manifest.run, manifest.bytes) == (100, 7, 14)
    assert damage(path, manifest) is None
    assert found_in(tmp_path) == ({100: 7}, {})


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda file: file.write_bytes(b"weightS"), "__1_0.distcp has another checksum than manifest.json"),
        (lambda file: os.truncate(file, 3), "__1_0.distcp has 3 bytes instead of 7"),
        (lambda file: file.unlink(), "__1_0.distcp: No such file or directory"),
    ],
)
def test_damage_is_named_by_whoever_reads_that_file(tmp_path, harm, said):
    path = make(tmp_path, 100)
    harm(path / "__1_0.distcp")
    assert damage(path, manifest_of(path)) == said
    assert [damage(path, manifest_of(path), part, 2) for part in range(2)] == [None, said]


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda file: file.unlink(), "manifest.json: No such file or directory"),
        (lambda file: os.truncate(file, 40), "manifest.json: it is not a manifest"),
        (lambda file: file.write_text('{"format": 9}'), "manifest.json: it has format '9', and this release reads 1"),
        (lambda file: file.write_text(file.read_text().replace("100", "90")), "manifest.json: it is of step 90"),
    ],
)
def test_without_its_manifest_it_is_no_checkpoint(tmp_path, harm, said):
    harm(make(tmp_path, 100) / "manifest.json")
    assert found_in(tmp_path) == ({}, {100: said})


def test_a_second_save_of_a_step_replaces_the_first(tmp_path):
    make(tmp_path, 100, run=7)
    make(tmp_path, 100, run=8, content=b"other weights")
    assert found_in(tmp_path) == ({100: 8}, {})
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000100"]


def test_what_is_not_kept_is_removed_and_nothing_else(tmp_path):
    for step in (10, 15, 20, 30):
        make(tmp_path, step)
    set_aside(make(tmp_path, 12))
    set_aside(make(tmp_path, 40))
    remove_surplus(tmp_path, Retention(1, every=20), spared=15)
    left = ["step-00000015", "step-00000020", "step-00000030", "step-00000040.damaged"]
    assert sorted(path.name for path in tmp_path.iterdir()) == left


def test_what_was_never_finished_is_removed_and_named(tmp_path):
    make(tmp_path, 10)
    (tmp_path / ".step-00000020.77").mkdir()
    (tmp_path / ".step-00000020.77" / "__0_0.distcp").write_bytes(b"half")
    (tmp_path / ".mark-1").touch()
    assert remove_unfinished(tmp_path) == [".step-00000020.77"]
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000010"]


def test_what_would_be_replaced_stays_where_a_later_run_took_the_rest_away(tmp_path):
    final = make(tmp_path, 20, content=b"new run's")
    unfinished = shutil.copytree(final, tmp_path / ".step-00000020.77")
    with pytest.raises(FileNotFoundError):
        put_in_place(unfinished, final, lambda: shutil.rmtree(unfinished))
    assert damage(final, manifest_of(final)) is None
    assert list(tmp_path.iterdir()) == [final]


def test_what_the_check_forbids_is_neither_published_nor_removed(tmp_path):
    def forbidden():
        raise PermissionError

    for step in (10, 20, 30):
        make(tmp_path, step)
    unfinished = shutil.copytree(tmp_path / "step-00000030", tmp_path / ".step-00000040.7")
    before = sorted(tmp_path.rglob("*"))
    for act in (
        lambda: put_in_place(unfinished, tmp_path / "step-00000040", forbidden),
        lambda: remove_surplus(tmp_path, Retention(1), check=forbidden),
        lambda: set_aside(tmp_path / "step-00000030", forbidden),
    ):
        with pytest.raises(PermissionError):
            act()
    assert sorted(tmp_path.rglob("*")) == before
