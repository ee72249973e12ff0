# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A figure for every two of several things as a square of cells, as SVG text.

The cell of two is drawn once, left of the diagonal. It is the darker the nearer its value is to the largest one; what
is bad has a color of its own and a cross, so that nobody has to tell colors apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import rounded

WIDTH, LEFT, TOP, RIGHT = 720, 150, 10, 24
_MOST_CELL, _LEAST_CELL = 44, 5
# Cells smaller than this have no number in them, and names of fewer pixels are not read.
_NUMBER_FITS, _NAME_FITS = 34, 11
_LONGEST_NAME = 20
_FAINTEST = 0.12
# From this part of the largest value on, a number is written in the color of the paper.
_DARK = 0.55


@dataclass(frozen=True)
class Cell:
    """``value`` of the two things ``row`` and ``column``, by number; None: there is no figure. ``note``: shown when one
    points at it."""

    row: int
    column: int
    value: float | None
    bad: bool = False
    note: str = ""


def heat_map(names: Sequence[str], cells: Sequence[Cell], *, label: str) -> str:
    """An SVG in the order of ``names``; empty where there are no cells."""
    if not cells:
        return ""
    side = max(_LEAST_CELL, min(_MOST_CELL, (WIDTH - LEFT - RIGHT) / max(1, len(names) - 1)))
    largest = max((cell.value for cell in cells if cell.value is not None), default=0.0)
    bottom = TOP + side * (len(names) - 1)
    return "\n".join(
        [
            f'<svg viewBox="0 0 {WIDTH} {bottom + 120:.0f}" role="img" aria-label="{escape(label)}">',
            *(_cell(cell, side, largest) for cell in cells),
            *_names(names, side, bottom),
            "</svg>",
        ]
    )


def _cell(cell: Cell, side: float, largest: float) -> str:
    row, column = max(cell.row, cell.column), min(cell.row, cell.column)
    x, y = LEFT + side * column, TOP + side * (row - 1)
    square = f'x="{x:.1f}" y="{y:.1f}" width="{side - 1:.1f}" height="{side - 1:.1f}"'
    title = f"<title>{escape(cell.note)}</title>"
    if cell.bad:
        drawn = f'<rect class="heat bad" {square}>{title}</rect>{_cross(x, y, side)}'
    elif cell.value is None:
        drawn = f'<rect class="heat none" {square}>{title}</rect>'
    else:
        depth = _FAINTEST + (1 - _FAINTEST) * (cell.value / largest if largest else 0.0)
        drawn = f'<rect class="heat" style="fill-opacity: {depth:.2f}" {square}>{title}</rect>'
    if cell.value is None or side < _NUMBER_FITS:
        return drawn
    dark = not cell.bad and cell.value > _DARK * largest
    middle = f'x="{x + side / 2:.1f}" y="{y + side / 2 + 4:.1f}" text-anchor="middle"'
    return f'{drawn}<text class="{"on-dark" if dark else "on-light"}" {middle}>{rounded(cell.value)}</text>'


def _cross(x: float, y: float, side: float) -> str:
    low, high = 0.15 * side, 0.85 * side
    ends = [(low, low, high, high), (low, high, high, low)]
    lines = (f'<line x1="{x + a:.1f}" y1="{y + b:.1f}" x2="{x + c:.1f}" y2="{y + d:.1f}"/>' for a, b, c, d in ends)
    return f'<g class="heat cross">{"".join(lines)}</g>'


def _names(names: Sequence[str], side: float, bottom: float) -> list[str]:
    if side < _NAME_FITS:
        return [f'<text x="{LEFT}" y="{bottom + 18:.0f}">{len(names)} nodes, in the order of the table</text>']
    shown = [name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…" for name in names]
    rows = [
        f'<text x="{LEFT - 10}" y="{TOP + side * (number - 0.5) + 4:.1f}" text-anchor="end">{escape(name)}</text>'
        for number, name in enumerate(shown)
        if number
    ]
    columns = [
        f'<text transform="translate({LEFT + side * (number + 0.5) + 4:.1f} {bottom + 10:.1f}) rotate(-90)" '
        f'text-anchor="end">{escape(name)}</text>'
        for number, name in enumerate(shown[:-1])
    ]
    return rows + columns
