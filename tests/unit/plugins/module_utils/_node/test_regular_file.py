# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._node.regular_file import (
    open_regular,
    read_bounded,
    read_end,
    read_on,
)


def test_the_end_of_a_file_is_read(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"one\ntwo\xff\n")
    assert read_end(str(path), 100) == "one\ntwo\ufffd\n"
    assert read_end(str(path), 5) == "two\ufffd\n"


def test_what_is_no_file_is_left_alone(tmp_path):
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    # A pipe without a writer would hold its reader.
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe", "none", "."):
        assert read_end(str(tmp_path / name), 100) is None
    assert read_end("/dev/zero", 100) is None


def test_a_file_is_read_up_to_its_bound(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"x" * 200_000)
    assert read_bounded(str(path), 200_000) == b"x" * 200_000
    with pytest.raises(OSError, match="it has more than 199999 bytes"):
        read_bounded(str(path), 199_999)


def test_files_of_the_kernel_are_read_whole():
    # Their size is said to be 0 and 4096.
    for path in ("/proc/meminfo", "/sys/kernel/mm/transparent_hugepage/enabled", "/proc/self/status"):
        assert read_bounded(path, 1 << 24).splitlines()[0] == Path(path).read_bytes().splitlines()[0]


def test_a_link_is_followed_only_where_that_was_asked(tmp_path):
    (tmp_path / "f").write_text("text")
    (tmp_path / "link").symlink_to(tmp_path / "f")
    (tmp_path / "zero").symlink_to("/dev/zero")
    assert read_bounded(str(tmp_path / "link"), 9, follow=True) == b"text"
    with pytest.raises(OSError, match="symbolic link"):
        read_bounded(str(tmp_path / "link"), 9)
    with pytest.raises(OSError, match="it is not a regular file"):
        open_regular(str(tmp_path / "zero"), follow=True)


def test_a_file_that_grows_is_read_on_in_whole_lines(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"one\ntw")
    first = read_on(str(path), None, 100, 100)
    assert (first.text, first.goes_on) == (b"one\n", False)
    assert read_on(str(path), first.place, 100, 100) == first.__class__(b"", first.place, True)
    path.open("ab").write(b"o\nthree\n")
    second = read_on(str(path), first.place, 100, 100)
    assert (second.text, second.goes_on) == (b"two\nthree\n", True)


def test_of_more_than_is_read_at_once_it_is_the_end(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"0123\n5678\n")
    first = read_on(str(path), None, 3, 7)
    assert first.text == b"3\n5678\n"[-7:]
    path.open("ab").write(b"abcdef\n")
    assert read_on(str(path), first.place, 3, 7).text == b"ef\n"
    # A line without an end holds nobody for ever.
    path.open("ab").write(b"x" * 50)
    stuck = read_on(str(path), first.place, 3, 7)
    path.open("ab").write(b"\n!\n")
    assert (stuck.text, read_on(str(path), stuck.place, 3, 7).text) == (b"", b"\n!\n")


def test_another_file_and_one_that_became_shorter_are_read_anew(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"one\ntwo\n")
    before = read_on(str(path), None, 100, 100).place
    path.write_bytes(b"new\n")
    shorter = read_on(str(path), before, 100, 100)
    assert (shorter.text, shorter.goes_on) == (b"new\n", False)
    path.rename(tmp_path / "earlier")
    path.write_bytes(b"another one\n")
    other = read_on(str(path), shorter.place, 100, 100)
    assert (other.text, other.goes_on) == (b"another one\n", False)


def test_what_is_no_file_is_not_read_on(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    for name in ("pipe", "link", "none"):
        with pytest.raises(OSError):
            read_on(str(tmp_path / name), None, 100, 100)
