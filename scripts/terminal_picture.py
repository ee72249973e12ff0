# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a run printed, as a picture of a terminal: SVG of which each line is text, and nothing else is needed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

_CHARACTER, _LINE, _SIZE, _PAD, _BAR = 7.83, 18, 13, 16, 34
# How Ansible's own callback colors the beginning of a line, and the words of a verdict.
_LINES = (
    (re.compile(r"^(PLAY|TASK) "), "head"),
    (re.compile(r"^ok: "), "good"),
    (re.compile(r"^changed: "), "changed"),
    (re.compile(r"^(fatal|failed): "), "bad"),
    (re.compile(r"^(Report: |\$ )"), "way"),
    (re.compile(r"^…$"), "soft"),
)
_GOOD = re.compile(r"(?<![\w-])(ok=\d+|ok|succeeded)(?![\w-])")
_STYLE = (
    "text { font: 13px ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace; white-space: pre; "
    "fill: #d6dee6 } .title { fill: #9fb0c0 } .head { fill: #fff; font-weight: 600 } .good { fill: #6fd39f } "
    ".changed { fill: #e0b341 } .bad { fill: #ff8a80 } .way { fill: #5cb3f0 } .soft { fill: #9fb0c0 }"
)


def terminal_picture(title: str, lines: Sequence[str]) -> str:
    """The picture; its ``title`` is in the window's bar, and what a screen reader says."""
    width = 2 * _PAD + _CHARACTER * max(len(title) + 12, *(len(line) for line in lines))
    height = _BAR + 2 * _PAD + _LINE * len(lines) - 4
    size = f'viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(title)}">',
            f"<style>{_STYLE}</style>",
            f'<rect width="{width:.0f}" height="{height}" rx="8" fill="#12181f"/>',
            *(f'<circle cx="{_PAD + 6 + 20 * n}" cy="17" r="6" fill="#2c3742"/>' for n in range(3)),
            f'<text class="title" x="{width / 2:.0f}" y="22" text-anchor="middle">{escape(title)}</text>',
            *(_line(line, _BAR + _PAD + _SIZE - 2 + _LINE * n) for n, line in enumerate(lines)),
            "</svg>\n",
        ]
    )


def _line(line: str, y: int) -> str:
    look = next((name for pattern, name in _LINES if pattern.search(line)), "")
    inside = escape(line, quote=False) if look else "".join(_words(line))
    name = f' class="{look}"' if look else ""
    return f'<text{name} x="{_PAD}" y="{y}" xml:space="preserve">{inside}</text>'


def _words(line: str) -> Iterator[str]:
    """The line with what is well in green."""
    for number, part in enumerate(_GOOD.split(line)):
        text = escape(part, quote=False)
        yield f'<tspan class="good">{text}</tspan>' if number % 2 else text
