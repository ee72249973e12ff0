# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import stat
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils.errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils.node.rendered_files import (
    WantedFile,
    differences,
    pending,
    read_text,
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
