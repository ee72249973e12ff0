# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A table for a terminal."""

from __future__ import annotations

import re
from typing import Mapping, Sequence

from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import quantity
from ansible_collections.gaudi3.scale.plugins.module_utils._node.screen_text import one_line

# Headings of what is counted or measured. Other whole numbers may be names, as those of ports and ranks are, or what a
# person enters: their digits stay together.
_COUNTED = re.compile(r"\b([KMGT]i?B|bytes|IOPS|tokens|samples|seconds|steps?|W)\b")


def text_table(rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> str:
    """``rows`` as aligned text under a heading of ``columns``; numbers to the right, a missing value as ``-``."""
    cells = [[cell_text(row.get(column), column) for column in columns] for row in rows]
    widths = [max(len(line[i]) for line in [list(columns), *cells]) for i in range(len(columns))]
    right = [_is_numeric([row.get(column) for row in rows]) for column in columns]
    rule = "  ".join("-" * width for width in widths)
    return "\n".join([_line(columns, widths, right), rule, *(_line(line, widths, right) for line in cells)])


def cell_text(value: object, column: str = "") -> str:
    """One value as a person reads it; ``column`` is its heading."""
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) or (isinstance(value, int) and column.endswith("/s")):
        return quantity(value)
    if isinstance(value, int) and _COUNTED.search(column):
        return f"{value:,}"
    if isinstance(value, (list, tuple)):
        return ", ".join(cell_text(item) for item in value) or "-"
    text = str(value)
    # Of a text of many lines, as a traceback, a row of the screen has the first; the page has them all.
    return one_line(text if text.count("\n") < 2 else text.partition("\n")[0] + " …")


def _is_numeric(values: Sequence[object]) -> bool:
    """Whether a column has numbers and missing values only."""
    there = [value for value in values if value is not None]
    return bool(there) and all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in there)


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    return "  ".join(
        cell.rjust(width) if to_right else cell.ljust(width) for cell, width, to_right in zip(cells, widths, right)
    ).rstrip()
