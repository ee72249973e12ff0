# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""JSON of somebody who may write anything: a value of JSON, or a clause that says why not."""

from __future__ import annotations

import json
import os

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._node.json_file import LARGEST, parse_json, read_json


@pytest.mark.parametrize(
    "text",
    [
        '{"a": [1, -2.5e3, true, null, "x\\u00e9\\ud83d\\ude00"], "b": {"c": {}}}',
        '"[[[[{{{{\\"[[["',
        json.dumps([["deep"] * 500] * 500),
        str(2**64 - 1),
        b'{"caf\xc3\xa9": 0}',
        # As many brackets as one likes, in strings.
        json.dumps({"log": '"[' * 5000, "end": "\\"}),
    ],
)
def test_json_is_what_the_standard_library_makes_of_it(text):
    assert parse_json(text) == json.loads(text)


@pytest.mark.parametrize(
    ("text", "clause"),
    [
        ("[" * 200_000, "it nests deeper than 64 levels"),
        ('{"a":' * 200_000, "it nests deeper than 64 levels"),
        ("[" * 500 + "]" * 500, "it nests deeper than 64 levels"),
        ('["\\"", ' + "[" * 300 + "]" * 300 + "]", "it nests deeper than 64 levels"),
        # A string that is not closed is looked at once, and not again from each of its quotes.
        ("[" * 65 + '"' + '\\"' * 200_000, "it nests deeper than 64 levels"),
        ("[" * 65 + '"' + '\\"' * 200_000 + "\\", "it nests deeper than 64 levels"),
        ('{"a": Infinity}', "it has Infinity instead of a number"),
        ("[NaN]", "it has NaN instead of a number"),
        ("1e999", "it has a number that is too large: 1e999"),
        ("9" * 400, "it has an integer of 400 digits"),
        ("9" * 5000, "it has an integer of 5000 digits"),
        ('{"a": 1, "b": 2, "a": 3}', "it has the key 'a' twice"),
        (b'"\xff"', "it is not UTF-8 at byte 1"),
        ('"\\ud800"', "it has an unpaired surrogate: an escape from \\ud800 to \\udfff alone"),
        ("", "Expecting value: line 1 column 1 (char 0)"),
        ("{\n'a': 1}", "Expecting property name enclosed in double quotes: line 2 column 1 (char 2)"),
        (" " * (LARGEST + 1), f"it is longer than {LARGEST} bytes"),
    ],
    ids=range(17),
)
def test_what_is_none_is_refused_with_a_clause(text, clause):
    with pytest.raises(ValueError) as refused:
        parse_json(text)
    assert str(refused.value) == clause


def test_a_file_is_its_object_or_none(tmp_path):
    for name, content in {"object": b'{"a": 1}', "list": b"[1]", "deep": b"[" * 200_000, "bytes": b"\xff\x00"}.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "link").symlink_to(tmp_path / "object")
    os.mkfifo(tmp_path / "pipe")
    assert read_json(str(tmp_path / "object")) == {"a": 1}
    for name in ("list", "deep", "bytes", "link", "pipe", "none", ".", "object/below", "nul\0"):
        assert read_json(str(tmp_path / name)) is None
    assert read_json("/dev/zero") is None


def test_a_file_is_looked_up_in_the_directory_that_was_opened(tmp_path):
    (tmp_path / "here").mkdir()
    (tmp_path / "here/status.json").write_text('{"a": 1}')
    opened = os.open(tmp_path / "here", os.O_RDONLY | os.O_DIRECTORY)
    (tmp_path / "here").rename(tmp_path / "moved")
    (tmp_path / "here").symlink_to("/etc")
    try:
        assert read_json("status.json", opened) == {"a": 1}
    finally:
        os.close(opened)


def test_what_is_short_as_text_and_large_as_data_is_refused():
    """16 MB of empty lists were 480 MB of root's memory."""
    with pytest.raises(ValueError, match=r"^it has more than 2097152 values$"):
        parse_json("[" + "[]," * (LARGEST // 3 - 1) + "[]")
    assert len(parse_json("[" + "7," * 1_000_000 + "7]")) == 1_000_001
