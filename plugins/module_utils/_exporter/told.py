# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What the collector told last, read from its own files: what ``exposition`` writes, and nothing more of the format."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .._node.regular_file import read_end

FILES = ("gaudi_cards.prom", "gaudi_node.prom")
# Of 16 cards with all their ports: some 60 kB.
_MOST_BYTES = 1 << 22
_LINE = re.compile(r"(?P<name>[a-z_][a-z0-9_]*)(?:\{(?P<labels>.*)\})? (?P<value>\S+)")
_LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"')
_ESCAPED = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


def read_told(directory: Path) -> list[dict[str, Any]]:
    """Each sample of the collector's files, as {name, labels, value}; none where nobody watches this node."""
    texts = (read_end(str(directory / name), _MOST_BYTES) or "" for name in FILES)
    return [sample for text in texts for sample in _samples(text)]


def _samples(text: str) -> Iterator[dict[str, Any]]:
    # Not splitlines(), which also ends a line at what a label may have.
    for line in text.split("\n"):
        found = _LINE.fullmatch(line)
        value = _number(found["value"]) if found else None
        if found and value is not None:
            labels = {name: _unescaped(text) for name, text in _LABEL.findall(found["labels"] or "")}
            yield {"name": found["name"], "labels": labels, "value": value}


def _number(text: str) -> float | str | None:
    """What is no number goes by its name, since JSON has none for it."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < float("inf") else str(value)


def _unescaped(text: str) -> str:
    return re.sub(r"\\.", lambda pair: _ESCAPED.get(pair[0], pair[0]), text)
