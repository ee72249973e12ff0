# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a run printed, as a golden file keeps it: without what differs from run to run."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

COLORS = re.compile(r"\x1b\[[0-9;]*m")
# Ansible fills a heading up with stars.
STARS = re.compile(r" \*{3,}$")
# The line under a table's head is as long as its cells.
RULE = re.compile(r"-{3,}")
FIGURE = re.compile(r"\d+(?:[.,:]\d+)*")
# Nodes answer in any order: their lines below a task are sorted.
OF_A_HOST = re.compile(r"(?:ok|changed|skipping|fatal|failed|included): ")


def lines_of(screen: str) -> list[str]:
    """The lines that a person sees, without colors and without the empty ones at both ends."""
    return [line.rstrip() for line in COLORS.sub("", screen).replace("\r", "").strip("\n").split("\n")]


def golden(screen: str, names: dict[str, str]) -> str:
    """The screen with ``#`` for each figure, and ``names``: what was there -> what is kept."""
    for name, kept in names.items():
        screen = screen.replace(name, kept)
    return "\n".join(_sorted(_plain(line) for line in lines_of(screen))) + "\n"


def _plain(line: str) -> str:
    indent = line[: len(line) - len(line.lstrip())]
    return indent + re.sub(r"  +", "  ", FIGURE.sub("#", RULE.sub("---", STARS.sub("", line.strip()))))


def _sorted(lines: Iterator[str]) -> Iterator[str]:
    # Runs of answers of hosts, and what stands between them.
    for of_a_host, together in groupby(_answers(lines), key=lambda answer: bool(OF_A_HOST.match(answer))):
        answers = list(together)
        yield from sorted(answers) if of_a_host else answers


def _answers(lines: Iterator[str]) -> Iterator[str]:
    """Each line, and a host's with the indented ones below it as one text."""
    answer: list[str] = []
    for line in lines:
        if answer and OF_A_HOST.match(answer[0]) and line.startswith(" "):
            answer.append(line)
            continue
        if answer:
            yield "\n".join(answer)
        answer = [line]
    if answer:
        yield "\n".join(answer)


def difference(shown: str, kept: Path) -> str:
    """Lines of a diff from the golden file to the screen; empty where they are the same."""
    before = kept.read_text(encoding="utf-8") if kept.is_file() else ""
    return "".join(difflib.unified_diff(before.splitlines(True), shown.splitlines(True), kept.name, "shown", n=1))
