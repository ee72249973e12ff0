# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Archives of a stranger stay in their place, and what is packed twice is the same."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.libfabric.archive import only_directory, pack, unpack

File = tuple[str, bytes, str]


def archive_of(path: Path, *members: File) -> str:
    """Name, type, and the content or what it links to."""
    with tarfile.open(path, "w") as made:
        for name, kind, text in members:
            member = tarfile.TarInfo(name)
            member.type, member.mode, member.uid = kind, 0o4777, 1234
            if kind == tarfile.REGTYPE:
                member.size = len(text)
            else:
                member.linkname = text
            made.addfile(member, io.BytesIO(text.encode()) if kind == tarfile.REGTYPE else None)
    return str(path)


REG, DIR, SYM, LNK, CHR = tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE


def test_files_and_links_of_a_library_are_unpacked(tmp_path: Path) -> None:
    members = [
        ("l", DIR, ""),
        ("l/lib.so.1.2", REG, "elf"),
        ("l/lib.so", SYM, "lib.so.1.2"),
        ("l/again", LNK, "l/lib.so.1.2"),
        ("l/sub", DIR, ""),
        ("l/sub/up", SYM, "../lib.so"),
        ("./l/README", REG, "x"),
        ("l/null", CHR, ""),
    ]
    (tmp_path / "to").mkdir()
    unpack(archive_of(tmp_path / "a.tar", *members), str(tmp_path / "to"), "archive")
    top = only_directory(str(tmp_path / "to"), "a.tar", "archive")
    assert sorted(path.name for path in top.rglob("*")) == ["README", "again", "lib.so", "lib.so.1.2", "sub", "up"]
    assert (top / "sub/up").read_text(encoding="utf-8") == "elf"
    # No bits of another account's programs come along.
    assert (top / "lib.so.1.2").stat().st_mode & 0o7777 == 0o755


@pytest.mark.parametrize(
    "members",
    [
        [("../out", REG, "x")],
        [("/out", REG, "x")],
        [("l/../../out", REG, "x")],
        [("out", SYM, "/etc")],
        [("out", SYM, "../..")],
        [("a", DIR, ""), ("a/b", DIR, ""), ("a/b/s", SYM, ".."), ("a/b/s/l", SYM, "../../../out")],
        [("d", DIR, ""), ("s", SYM, "d"), ("s/x", REG, "x")],
        [("out", LNK, "../secret")],
        [("out", LNK, "/etc/shadow")],
    ],
)
def test_what_leads_out_is_refused(tmp_path: Path, members: Sequence[File]) -> None:
    (tmp_path / "to").mkdir()
    (tmp_path / "secret").write_text("s", encoding="utf-8")
    with pytest.raises(GaudiError, match="which leads out of it; correct archive"):
        unpack(archive_of(tmp_path / "a.tar", *members), str(tmp_path / "to"), "archive")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar", "secret", "to"]
    assert not [path for path in (tmp_path / "to").rglob("*") if path.is_file()]


def test_what_is_no_archive_is_named(tmp_path: Path) -> None:
    (tmp_path / "login.html").write_text("<html>", encoding="utf-8")
    with pytest.raises(GaudiError, match=r"/login\.html is not a tar archive that can be unpacked; correct archive\.$"):
        unpack(str(tmp_path / "login.html"), str(tmp_path), "archive")


def test_two_directories_at_the_top_are_no_sources(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / "to" / name).mkdir(parents=True)
    with pytest.raises(GaudiError, match=r"a\.tar does not have exactly one top-level directory"):
        only_directory(str(tmp_path / "to"), "a.tar", "archive")


def test_one_content_gives_one_archive(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "lib").mkdir(parents=True)
        (tmp_path / name / "lib/a.so.1").write_text("elf", encoding="utf-8")
        (tmp_path / name / "lib/a.so").symlink_to("a.so.1")
        pack(str(tmp_path / name), str(tmp_path / f"{name}.tar.gz"))
    assert (tmp_path / "one.tar.gz").read_bytes() == (tmp_path / "two.tar.gz").read_bytes()
    (tmp_path / "to").mkdir()
    unpack(str(tmp_path / "one.tar.gz"), str(tmp_path / "to"), "archive")
    assert (tmp_path / "to/lib/a.so").read_text(encoding="utf-8") == "elf"
