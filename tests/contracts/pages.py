# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The README and the handbook as the contract tests read them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from .checkout import ROOT

PAGES = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
IN_WORDS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6}

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def section(page: str, heading: str) -> str:
    """A page from a heading on, as far as the next one of its level or above."""
    level = len(heading) - len(heading.lstrip("#"))
    (_before, found) = f"{text_of(page)}\n".split(f"\n{heading}\n")
    return re.split(rf"^#{{1,{level}}} ", found, maxsplit=1, flags=re.MULTILINE)[0]


def tables(text: str) -> Iterator[tuple[list[str], list[list[str]]]]:
    """The head and the rows of each table; a pipe in a cell is escaped."""
    for lines in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        head, _rule, *rows = [
            [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines.splitlines()
        ]
        yield head, rows
