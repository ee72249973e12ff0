# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.data.text_files import read_text, text_files


def test_a_directory_means_its_files_at_any_depth_without_links(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b").write_bytes(b"2")
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "link").symlink_to("a")
    assert text_files([tmp_path]) == [tmp_path / "a", tmp_path / "sub" / "b"]
    assert read_text([tmp_path]).tobytes() == b"12"


def test_a_link_that_is_named_itself_is_read(tmp_path):
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "link").symlink_to("a")
    assert read_text([tmp_path / "link"]).tobytes() == b"1"


def test_missing_and_empty_text_is_one_sentence(tmp_path):
    with pytest.raises(GaudiError, match=r"^--text .*nothing: there is no such file or directory on this node\.$"):
        read_text([tmp_path / "nothing"])
    with pytest.raises(GaudiError, match="no text is there"):
        read_text([tmp_path])
