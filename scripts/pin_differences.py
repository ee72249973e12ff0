# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a new set of pins changes: each package from which version to which, for whom, and which files name it.

``make pins`` prints it behind the new table. Files with the old version in them are to be changed or tried again; those
that only name the package are to be read. ``python -m scripts.pin_differences COMMIT`` compares with the table of that
commit.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
TABLE = "plugins/module_utils/_venv/pin_table.py"
# Where pages, fixtures and requirements are. The pins themselves, and what is written from them, say nothing new.
PLACES = ("docs", "tests", "requirements", "src/requirements", "benchmarks", "sandbox", "plugins/module_utils")
NOT_THESE = (TABLE, "requirements/known_holes.json")


class Pinned(NamedTuple):
    """A package's version, and the parts of the node library (``base`` or an extra) that need it."""

    version: str
    roots: tuple[str, ...]


class Difference(NamedTuple):
    """``old`` or ``new`` is None for a package that is only in the other table."""

    name: str
    old: Pinned | None
    new: Pinned | None


def main(arguments: list[str]) -> int:
    commit = arguments[0] if arguments else "HEAD"
    shown = subprocess.run(["git", "show", f"{commit}:{TABLE}"], cwd=ROOT, capture_output=True, text=True, check=True)
    explain(shown.stdout, (ROOT / TABLE).read_text(encoding="utf-8"))
    return 0


def explain(before: str, after: str) -> None:
    """Print what differs between the texts of two tables."""
    found = differences(pins_of(before), pins_of(after))
    texts = dict(texts_of_repository()) if found else {}
    for one in found:
        sys.stdout.write("".join(f"{line}\n" for line in explained(one, texts)))
    sys.stdout.write(f"{len(found)} of the pins differ\n")


def pins_of(table: str) -> dict[str, Pinned]:
    """The pins in the text of a table: it is read and not run, since another commit's may ask for other fields."""
    calls = [node for node in ast.walk(ast.parse(table)) if isinstance(node, ast.Call)]
    pins = [[ast.literal_eval(argument) for argument in call.args] for call in calls]
    return {name: Pinned(version, tuple(roots)) for name, version, roots, *_rest in pins}


def differences(before: Mapping[str, Pinned], after: Mapping[str, Pinned]) -> list[Difference]:
    every = sorted({*before, *after})
    return [
        Difference(name, before.get(name), after.get(name)) for name in every if before.get(name) != after.get(name)
    ]


def explained(one: Difference, texts: Mapping[str, str]) -> Iterator[str]:
    """The line of a difference, and below it the files that it concerns."""
    there = one.new or one.old
    if there is None:
        return
    versions = f"{one.old.version if one.old else 'new'} -> {one.new.version if one.new else 'gone'}"
    why = ", ".join(there.roots)
    if one.old and one.new and one.old.version == one.new.version:
        versions, why = one.new.version, f"was needed by {', '.join(one.old.roots)}, now by {why}"
    yield f"{one.name} {versions} ({why})"
    named = [path for path, text in texts.items() if _names(one.name, text)]
    old = [path for path in named if one.old and _has_version(one.name, one.old.version, texts[path])]
    if old:
        yield f"    has {one.old.version if one.old else ''}: {', '.join(old)}"
    rest = [path for path in named if path not in old]
    if rest:
        yield f"    names it: {', '.join(rest)}"


def _names(name: str, text: str) -> bool:
    """As a package's name is written: any case, and - _ . alike; not as a part of another word."""
    return re.search(rf"(?<![\w-]){_pattern(name)}(?![\w-])", text, re.IGNORECASE) is not None


def _has_version(name: str, version: str, text: str) -> bool:
    """In one line with its name: `2.4` alone may be anything's."""
    line = rf"{_pattern(name)}\b[^\n]*(?<![\w.]){re.escape(version)}(?![\w.]*\d)"
    return re.search(line, text, re.IGNORECASE) is not None


def _pattern(name: str) -> str:
    return "[-_.]".join(re.escape(part) for part in re.split("[-_.]", name))


def texts_of_repository() -> Iterator[tuple[str, str]]:
    listed = subprocess.run(["git", "ls-files", "-z", *PLACES], cwd=ROOT, capture_output=True, text=True, check=True)
    yield from _texts(path for path in listed.stdout.split("\0") if path and path not in NOT_THESE)


def _texts(paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    for path in paths:
        try:
            yield path, (ROOT / path).read_text(encoding="utf-8")
        except (UnicodeDecodeError, OSError):
            continue


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
