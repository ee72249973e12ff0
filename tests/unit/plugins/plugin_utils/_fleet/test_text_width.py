# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.diffs import diffs_of
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.text_width import columns_of, cut, visible, wrapped
from hypothesis import given
from hypothesis import strategies as some


@given(some.text(), some.integers(1, 90))
def test_what_is_cut_fits(text: str, width: int) -> None:
    assert columns_of(cut(text, width)) <= width
    assert cut(text, columns_of(text)) == text


def test_characters_of_two_columns_are_counted() -> None:
    assert columns_of("節点e\u0301") == 5
    assert cut("節点節点", 5) == "節点…"


def test_a_long_sentence_goes_on_in_further_lines_and_ends() -> None:
    lines = wrapped("  FAILED node1: " + "a word " * 100, 40, "      ", 3)
    assert len(lines) == 3
    assert lines[1].startswith("      word a")
    assert lines[2].endswith("…")
    assert all(len(line) <= 40 for line in lines)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\n+ text\twith a tab", "plain\n+ text\twith a tab"),
        ("a\x1b[2Jb\rc", r"a\x1b[2Jb\rc"),
        ("right\u202eleft\u2028", r"right\u202eleft\u2028"),
    ],
)
def test_what_a_terminal_obeys_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_each_text_of_a_diff_is_written_out() -> None:
    diff = [{"before": "\x1b", "after": {"a": ["\x1b"]}, "after_header": "\x1b", "dst_larger": 3}]
    assert diffs_of({"changed": True, "diff": diff}) == [
        [{"before": r"\x1b", "after": {"a": [r"\x1b"]}, "after_header": r"\x1b", "dst_larger": 3}]
    ]


def test_of_a_loop_the_items_that_change_have_diffs() -> None:
    items = [{"changed": True, "diff": "a"}, {"changed": False, "diff": "b"}, {"changed": True, "diff": ""}, "no item"]
    assert diffs_of({"changed": True, "diff": "whole", "results": items}) == ["a"]
