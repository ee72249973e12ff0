# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Local data as rows: JSON lines, a list in JSON (also SQuAD's ``data``), CSV, lines of text, and images by label."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any, Sequence

from gaudi3_scale.core._errors import GaudiError

Row = dict[str, Any]
# What Pillow reads and people have.
IMAGES = {".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"}


def read_rows(switch: str, name: str, most: int | None) -> list[Row]:
    """At most ``most`` rows of the file that ``switch`` names. GaudiError where it cannot be read or has none."""
    path = Path(name)
    try:
        rows = _rows(path)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise GaudiError(f"{switch} {name} cannot be read: {error}; give a readable file in UTF-8.") from error
    if not rows:
        raise GaudiError(f"{switch} {name} has no rows; give a file with at least one.")
    return rows[:most]


def _rows(path: Path) -> list[Row]:
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".txt":
        return [{"text": line} for line in text.splitlines() if line.strip()]
    try:
        whole = json.loads(text)
    except ValueError:
        # Only line feeds: strings may have Unicode's other ends of lines.
        return [_row(path, number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    rows = whole.get("data", [whole]) if isinstance(whole, dict) else whole
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise GaudiError(f"{path} is no list of rows; write one JSON object per line.")
    return rows


def _row(path: Path, number: int, line: str) -> Row:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise GaudiError(f"{path}, line {number}, is not JSON: {error}; write one object per line.") from error
    if not isinstance(row, dict):
        raise GaudiError(f"{path}, line {number}, is not an object; write one object per line.")
    return row


def read_images(switch: str, name: str, most: int | None) -> list[Row]:
    """Rows with ``image``, a path, and ``label``, the name of its directory; in the order of their names."""
    root = Path(name)
    try:
        labels = sorted(path for path in root.iterdir() if path.is_dir())
    except OSError as error:
        raise GaudiError(f"{switch} {name} cannot be read: {error}; give a directory.") from error
    rows = [
        {"image": path, "label": label.name}
        for label in labels
        for path in sorted(label.rglob("*"))
        if path.suffix.lower() in IMAGES
    ]
    if not rows:
        raise GaudiError(f"{switch} {name} has no images; put them into one directory per label: {name}/dog/1.png.")
    return rows[:most]


def column(rows: Sequence[Row], given: tuple[str, str | None], usual: Sequence[str]) -> str:
    """The column that the switch of ``given`` names, else the first of ``usual`` that the rows have."""
    switch, name = given
    found = name if name else next((known for known in usual if known in rows[0]), None)
    if found is None or any(found not in row for row in rows):
        wanted = f"{switch} {name}" if name else f"one of {', '.join(usual)}"
        raise GaudiError(
            f"Not every row has {wanted}; the first one has {', '.join(rows[0])}. Name the column with {switch}."
        )
    return found
