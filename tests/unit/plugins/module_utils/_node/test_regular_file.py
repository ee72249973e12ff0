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
    with pytest.raises(OSError, match="it is no regular file"):
        open_regular(str(tmp_path / "zero"), follow=True)
