# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The collection's folders as a picture: what runs where, and what calls what. Made of the folders themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

_WIDTH, _LINE, _PAD, _CHARACTER = 960, 18, 12, 7.6


@dataclass(frozen=True)
class Box:
    """A folder: its path, what it is, and what lies in it."""

    path: str
    what: str
    names: tuple[str, ...]


def columns(root: Path) -> dict[str, tuple[Box, ...]]:
    """Where code runs -> its folders, in the order in which one calls the next."""
    return {
        "The controller": (
            Box("playbooks/", "hosts and roles, nothing else", _stems(root / "playbooks", "*.yml")),
            Box("roles/", "options, defaults, tasks", _folders(root / "roles", "")),
            Box(
                "plugins/plugin_utils/",
                "actions, tables, pages, following a job",
                _folders(root / "plugins" / "plugin_utils", "_"),
            ),
        ),
        "Each node, as root": (
            Box(
                "plugins/module_utils/",
                "what modules do: plan, compare, change; standard library",
                _folders(root / "plugins" / "module_utils", "_"),
            ),
        ),
        "Each node, in the training venv": (
            Box(
                "src/gaudi3_scale/",
                "trainer, trials, checkpoints, supervisors",
                _folders(root / "src" / "gaudi3_scale", ""),
            ),
        ),
    }


def picture(root: Path) -> str:
    """The picture as SVG; its colors are readable on light and dark alike."""
    found = columns(root)
    width = (_WIDTH - _PAD * (len(found) + 1)) / len(found)
    drawn, heights = [], []
    for number, (where, boxes) in enumerate(found.items()):
        x, y = _PAD + number * (width + _PAD), 46.0
        drawn.append(f'<text x="{x}" y="28" class="where">{escape(where)}</text>')
        for box in boxes:
            lines = _wrapped(box.names, width - 2 * _PAD)
            what = _wrapped(box.what.split(), width - 2 * _PAD, " ")
            texts = [("path", box.path), *(("what", line) for line in what), *(("names", line) for line in lines)]
            height = _LINE * len(texts) + 2 * _PAD
            drawn.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6"/>')
            for row, (kind, text) in enumerate(texts):
                place = f'x="{x + _PAD}" y="{y + _PAD + _LINE * (row + 0.75)}"'
                drawn.append(f'<text {place} class="{kind}">{escape(text)}</text>')
            y += height + _PAD
        heights.append(y)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {max(heights):.0f}" role="img">
<title>Folders of the collection by where their code runs</title>
<style>
rect {{ fill: #ffffff; stroke: #3b6ea5; stroke-width: 1.5 }}
text {{ font: 14px sans-serif; fill: #1b1f24 }}
.where {{ font-size: 17px; font-weight: bold; fill: #5b8fc7 }}
.path {{ font-family: monospace; font-weight: bold }}
.what {{ font-style: italic }}
.names {{ font: 12.5px monospace; fill: #333a42 }}
</style>
{chr(10).join(drawn)}
</svg>
"""


def _stems(folder: Path, pattern: str) -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in folder.glob(pattern)))


def _folders(folder: Path, prefix: str) -> tuple[str, ...]:
    """The packages in a folder that begin with the prefix, without it."""
    found = (path.name for path in folder.iterdir() if path.is_dir() and not path.name.startswith("__"))
    return tuple(sorted(name.removeprefix(prefix) for name in found if name.startswith(prefix)))


def _wrapped(names: Sequence[str], width: float, between: str = "  ") -> list[str]:
    lines = [""]
    for name in names:
        longer = f"{lines[-1]}{between}{name}".strip()
        if len(longer) * _CHARACTER > width and lines[-1]:
            lines.append(name)
        else:
            lines[-1] = longer
    return lines
