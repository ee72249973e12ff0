# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Where a job's key comes from, and which files are none."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from gaudi3_scale.checkpoints.job_key import find_key
from gaudi3_scale.core._errors import GaudiError

ONE = "0f" * 32


@pytest.fixture
def place():
    """A rank that is alone."""
    return SimpleNamespace(gather=lambda value: [value], leads=True)


@pytest.fixture
def found(place, tmp_path):
    return lambda given=None, environment=None: find_key(given, environment or {}, tmp_path, place)


def key_file(path, text=ONE + "\n", mode=0o600):
    path.write_text(text)
    path.chmod(mode)
    return path


def test_it_is_made_once_and_kept(found, tmp_path):
    assert found().value is None
    assert not list(tmp_path.iterdir())
    key = found().made()
    assert len(key) == 32
    (kept,) = tmp_path.iterdir()
    assert (kept.name, kept.stat().st_mode & 0o777) == ("checkpoint.key", 0o600)
    assert bytes.fromhex(kept.read_text()) == found().value == found().made() == key
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.key"]


def test_two_jobs_make_two(place, tmp_path):
    keys = set()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        keys.add(find_key(None, {}, tmp_path / name, place).made())
    assert len(keys) == 2


def test_a_given_one_counts_and_is_not_kept(found, tmp_path):
    key_file(tmp_path / "checkpoint.key", "aa" * 32)
    assert found(environment={"GAUDI3_SCALE_CHECKPOINT_KEY": ONE}).made() == bytes.fromhex(ONE)
    given = key_file(tmp_path / "given")
    assert found(given, {"GAUDI3_SCALE_CHECKPOINT_KEY": "bb" * 32}).made() == bytes.fromhex(ONE)
    assert (tmp_path / "checkpoint.key").read_text() == "aa" * 32


@pytest.mark.parametrize("text", ["", "0f" * 31, "0f" * 33, "g" * 64, "0f" * 5000, "é" * 64, "\n"])
def test_what_is_no_key_is_named(found, tmp_path, text):
    file = key_file(tmp_path / "given", text)
    with pytest.raises(GaudiError, match=rf"^--checkpoint-key-file {file} is not a key; give 64 hexadecimal digits, "):
        found(file)
    if text.strip():
        with pytest.raises(GaudiError, match=r"^\$GAUDI3_SCALE_CHECKPOINT_KEY is not a key; ") as refused:
            found(environment={"GAUDI3_SCALE_CHECKPOINT_KEY": text})
        assert text not in str(refused.value)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_file_that_others_may_read_is_no_secret(found, tmp_path, mode):
    with pytest.raises(GaudiError, match=r"may be open to other accounts than the job's; chown it, and chmod 600"):
        found(key_file(tmp_path / "given", mode=mode))
    key_file(tmp_path / "checkpoint.key", mode=mode)
    with pytest.raises(GaudiError, match=r"^--job-dir: .*checkpoint\.key may be open to other"):
        found()


def test_what_another_account_owns_is_not_the_jobs(found, tmp_path):
    file = key_file(tmp_path / "given")
    try:
        os.chown(file, 12345, 12345)
    except PermissionError:
        pytest.skip("only root can give a file away")
    with pytest.raises(GaudiError, match="may be open to other"):
        found(file)


def test_a_link_a_pipe_and_a_device_are_no_key_files(found, tmp_path):
    link, pipe = tmp_path / "link", tmp_path / "pipe"
    link.symlink_to(key_file(tmp_path / "given"))
    os.mkfifo(pipe, 0o600)
    for path, said in (
        (link, "cannot be read: Too many levels"),
        (pipe, "not a regular file"),
        (tmp_path, "not a regular"),
    ):
        with pytest.raises(GaudiError, match=said):
            found(path)
    (tmp_path / "checkpoint.key").symlink_to("/dev/zero")
    with pytest.raises(GaudiError, match="cannot be read"):
        found()


@pytest.mark.parametrize("mine", [0, 1])
def test_nodes_that_differ_are_named(tmp_path, mine):
    keys = [bytes(32), bytes(31) + b"1"]
    key_file(tmp_path / "checkpoint.key", keys[mine].hex())
    reported = [(keys[0].hex(), None), (None, None), (keys[1].hex(), None)]
    place = SimpleNamespace(gather=lambda _value: reported, leads=True)
    with pytest.raises(GaudiError) as refused:
        find_key(None, {}, tmp_path, place)
    assert str(refused.value) == (
        f"--upload: rank 2 has another key for checkpoints than rank 0 in {tmp_path}/checkpoint.key; remove the one "
        "that is not of this job, or give all the same."
    )
