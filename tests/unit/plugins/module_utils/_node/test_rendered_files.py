# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_failure import module_failure
from ansible_collections.gaudi3.scale.plugins.module_utils._node.rendered_files import (
    WantedFile,
    differences,
    pending,
    read_text,
    replaced,
    write,
)


def apply(*wanted: WantedFile) -> list[str | None]:
    return [write(change) for change in pending(wanted)]


def mode_of(path) -> int:
    return stat.S_IMODE(Path(path).stat().st_mode)


def test_a_new_file_is_written_once(tmp_path):
    wanted = WantedFile(str(tmp_path / "etc" / "a.conf"), "x=1\n", mode=0o600)
    assert differences(pending([wanted])) == [
        {
            "before_header": f"{wanted.path} (absent)",
            "after_header": f"{wanted.path} (mode 0600)",
            "before": "",
            "after": "x=1\n",
        }
    ]
    assert apply(wanted) == [None]
    assert (tmp_path / "etc" / "a.conf").read_text() == "x=1\n"
    assert mode_of(wanted.path) == 0o600
    assert pending([wanted]) == []


def test_a_wrong_mode_alone_is_a_change(tmp_path):
    path = tmp_path / "a"
    path.write_text("same")
    path.chmod(0o600)
    wanted = WantedFile(str(path), "same", mode=0o644)
    apply(wanted)
    assert mode_of(path) == 0o644
    assert pending([wanted]) == []


def test_a_backup_keeps_the_users_text_and_never_overwrites_an_older_one(tmp_path):
    path = tmp_path / "daemon.json"
    path.write_text("one")
    first = apply(WantedFile(str(path), "two", backup=True))[0]
    second = apply(WantedFile(str(path), "three", backup=True))[0]
    assert first != second
    assert Path(first).read_text() == "one"
    assert Path(second).read_text() == "two"
    assert path.read_text() == "three"


def test_content_none_removes_the_file_and_is_done_when_it_is_gone(tmp_path):
    path = tmp_path / "old"
    path.write_text("x")
    gone = WantedFile(str(path), None)
    apply(gone)
    assert not path.exists()
    assert pending([gone]) == []


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_text("old")

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full_disk)
    with pytest.raises(OSError):
        apply(WantedFile(str(path), "new"))
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "old"


def test_bytes_that_are_no_text_survive(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"\xff\xfe tail")
    apply(WantedFile(str(path), (read_text(str(path)) or "") + "!"))
    assert path.read_bytes() == b"\xff\xfe tail!"


def test_a_directory_in_the_way_is_named(tmp_path):
    with pytest.raises(GaudiError, match=str(tmp_path)):
        read_text(str(tmp_path))


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    apply(WantedFile(str(tmp_path / "link"), "new"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_line_ends_and_bytes_of_a_user_stay_in_the_file_and_its_backup(tmp_path):
    path = tmp_path / "grub"
    before = b"A=1\r\nB=\xff\xfe\r\n\xef\xbb\xbfC\rD\n"
    path.write_bytes(before)
    text = read_text(str(path))
    (backup,) = apply(WantedFile(str(path), text + "OURS=1\n", backup=True))
    assert path.read_bytes() == before + b"OURS=1\n"
    assert Path(backup).read_bytes() == before
    assert pending([WantedFile(str(path), text + "OURS=1\n")]) == []


@pytest.mark.parametrize("kind", ["pipe", "device", "directory", "large"])
def test_what_is_no_file_is_refused_in_a_sentence(tmp_path, kind):
    path = tmp_path / "f"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "directory":
        path.mkdir()
    else:
        with path.open("wb") as stream:
            stream.truncate(1 << 40)
    with pytest.raises(GaudiError, match=r"^.*/f cannot be read: .*; check its type and permissions\.$"):
        pending([WantedFile(str(path), "x\n")])


def test_a_full_disk_leaves_the_file_and_names_it(tmp_path, monkeypatch):
    path = tmp_path / "f"
    path.write_text("before\n")

    def full(_descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError) as met:
        apply(WantedFile(str(path), "after\n"))
    assert module_failure(met.value) == {"msg": f"{path}: No space left on device; free some space on its file system."}
    assert [file.name for file in tmp_path.iterdir()] == ["f"]
    assert path.read_text() == "before\n"


OURS = "# Written by gaudi3.scale.\nx=1\n"


def test_a_text_of_somebody_else_at_our_path_is_kept_beside_it_once(tmp_path):
    path = tmp_path / "90-gaudi3-scale.conf"
    path.write_text("vm.swappiness=1\n")
    path.chmod(0o600)
    wanted = WantedFile(str(path), OURS)
    (said,) = replaced(pending([wanted]))
    assert said == (
        f"{path} was not written by gaudi3.scale: it is replaced, and a copy of it is kept beside it as "
        "90-gaudi3-scale.conf.TIME.bak."
    )
    (kept,) = apply(wanted)
    assert Path(kept).read_text() == "vm.swappiness=1\n"
    assert (mode_of(kept), Path(kept).suffix) == (0o600, ".bak")
    assert path.read_text() == OURS
    # An earlier text of ours is not somebody's.
    assert replaced(pending([WantedFile(str(path), f"{OURS}y=2\n")])) == []
    assert apply(WantedFile(str(path), f"{OURS}y=2\n")) == [None]


@pytest.mark.parametrize(
    ("before", "after"),
    [("", OURS), ("\n", OURS), ("#!/bin/sh\n# Written by gaudi3.scale, for x.\n", OURS), ("a=1\n", "a=2\n")],
)
def test_what_is_no_text_of_somebody_else(tmp_path, before, after):
    path = tmp_path / "a"
    path.write_text(before)
    assert replaced(pending([WantedFile(str(path), after)])) == []
    assert apply(WantedFile(str(path), after)) == [None]


def test_only_a_text_of_ours_is_taken_away_where_that_is_asked_for(tmp_path):
    path = tmp_path / "a.service"
    gone = WantedFile(str(path), None, only_ours=True)
    path.write_text("[Service]\n")
    assert apply(gone) == []
    path.write_text(OURS)
    apply(gone)
    assert not path.exists()
