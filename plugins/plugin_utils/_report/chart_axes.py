# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The axes of a chart with their round numbers, and where a point lies between them, as SVG text."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Sequence

from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.chart_marks import Area
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.chart_ticks import tick_text, ticks_around

WIDTH, HEIGHT = 720, 300
LEFT, RIGHT, TOP, BOTTOM = 72, 20, 16, 44
# Characters of a number that may stand half beyond the axis.
ROOM_AT_THE_END = 4
AREA = Area(LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM)


@dataclass(frozen=True)
class Axes:
    """From the first tick to the last one on either axis."""

    x_ticks: Sequence[float]
    y_ticks: Sequence[float]

    def across(self, x: float) -> float:
        low, high = self.x_ticks[0], self.x_ticks[-1]
        return LEFT + (x - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    def up(self, y: float) -> float:
        low, high = self.y_ticks[0], self.y_ticks[-1]
        return HEIGHT - BOTTOM - (y - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    def svg(self, x_label: str, y_label: str, below: Sequence[str], above: Sequence[str]) -> str:
        """The whole picture: what is drawn ``below`` the grid lines' labels and ``above`` them."""
        middle_x, middle_y = (WIDTH + LEFT) // 2, (HEIGHT - BOTTOM + TOP) // 2
        said = f"{escape(y_label)} over {escape(x_label)}"
        return "\n".join(
            [
                f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{said}">',
                *below,
                *(self._level_grid(value) for value in self.y_ticks),
                *(self._upright_tick(value) for value in self.x_ticks),
                *above,
                _label(f'x="{middle_x}" y="{HEIGHT - 6}"', x_label),
                _label(f'transform="translate(14 {middle_y}) rotate(-90)"', y_label),
                "</svg>",
            ]
        )

    def _level_grid(self, value: float) -> str:
        y = self.up(value)
        return (
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{tick_text(value)}</text>'
        )

    def _upright_tick(self, value: float) -> str:
        text, y = tick_text(value), HEIGHT - BOTTOM + 18
        # A long number below the end of the axis would leave the picture.
        leaves = value == self.x_ticks[-1] and len(text) > ROOM_AT_THE_END
        place, anchor = (WIDTH, "end") if leaves else (self.across(value), "middle")
        return f'<text x="{place:.1f}" y="{y}" text-anchor="{anchor}">{text}</text>'


def axes_around(xs: Sequence[float], ys: Sequence[float]) -> Axes:
    """Axes from the data's own range to round numbers."""
    return Axes(_ticks(xs), _ticks(ys))


def _ticks(values: Sequence[float]) -> list[float]:
    low, high = min(values), max(values)
    # Floats have 15 digits: what lies closer together would have one label.
    closest = max(abs(low), abs(high)) * 1e-9
    room = max(0.5, closest) if high - low <= closest else 0.0
    return ticks_around(low - room, high + room)


def _label(place: str, text: str) -> str:
    return f'<text {place} text-anchor="middle">{escape(text)}</text>'
