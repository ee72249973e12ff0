# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a new set of pins changes is told by package, with the files that have the old version or only the name."""

from __future__ import annotations

import pytest

from scripts.pin_differences import ROOT, TABLE, Difference, Pinned, differences, explained, pins_of

OLD = "PINS = (Pin('aiohttp', '3.14.4', ('base',), '', ('a',)), Pin('gone-one', '1.0', ('s3',), '', ('b',)))\n"
NEW = "PINS = (Pin('aiohttp', '3.14.5', ('base',), '', ('c',)), Pin('pyarrow', '20.0', ('s3',), '', ('d',)))\n"
TEXTS = {
    "docs/serving.md": "We tried aiohttp 3.14.4, and others.\n",
    "docs/other.md": "aiohttp answers; 3.14.4 is a number of something else.\n\nsee 3.14.4\n",
    "docs/not.md": "my-aiohttp-fork 3.14.4\n",
    "tests/x.py": "GONE_ONE = 'gone_one==1.0'\n",
}


def test_the_versions_and_for_whom_with_the_files_that_have_the_old_one() -> None:
    found = differences(pins_of(OLD), pins_of(NEW))
    assert [line for one in found for line in explained(one, TEXTS)] == [
        "aiohttp 3.14.4 -> 3.14.5 (base)",
        "    has 3.14.4: docs/serving.md, docs/other.md",
        "gone-one 1.0 -> gone (s3)",
        "    has 1.0: tests/x.py",
        "pyarrow new -> 20.0 (s3)",
    ]


def test_a_file_with_the_name_alone_is_told_apart() -> None:
    one = Difference("pyarrow", Pinned("19.0", ("s3",)), Pinned("20.0", ("s3",)))
    texts = {"docs/a.md": "PyArrow reads it.\n", "docs/b.md": "pyarrow>=19.0.1\n", "docs/c.md": "pyarrow 19.0.\n"}
    assert [*explained(one, texts)][1:] == ["    has 19.0: docs/c.md", "    names it: docs/a.md, docs/b.md"]


def test_one_that_another_part_needs_now_says_so() -> None:
    one = Difference("numpy", Pinned("2.0", ("s3",)), Pinned("2.0", ("base",)))
    assert [*explained(one, {})] == ["numpy 2.0 (was needed by s3, now by base)"]


@pytest.mark.parametrize("table", [OLD, NEW])
def test_the_same_table_differs_in_nothing(table: str) -> None:
    assert differences(pins_of(table), pins_of(table)) == []


def test_the_table_that_is_there_can_be_read() -> None:
    pins = pins_of((ROOT / TABLE).read_text(encoding="utf-8"))
    assert len(pins) > 10 and all(pin.version and pin.roots for pin in pins.values())
