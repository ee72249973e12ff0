# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os

from ansible_collections.gaudi3.scale.plugins.module_utils.node.regular_file import read_end


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
