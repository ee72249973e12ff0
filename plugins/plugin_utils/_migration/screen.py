# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""A plan on the screen: each setting with its answer, and the files; pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.answers import KEPT, LOOK, VERDICTS, Answer
from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.plan import Plan


def screen(plan: Plan) -> Iterator[str]:
    """Settings of one file with one answer are one line, except where each has a value that counts."""
    for verdict in VERDICTS:
        answers = [one for one in plan.answers if one.verdict == verdict]
        if answers:
            yield f"{verdict} ({len(answers)})"
            yield from _lines(answers, verdict)
    for document in plan.documents:
        yield f"{document.name}:"
        yield from (f"  {line}" for line in document.content.splitlines())


def _lines(answers: Sequence[Answer], verdict: str) -> Iterator[str]:
    if verdict in (LOOK, KEPT):
        for one in answers:
            value = f" {one.value}" if one.value.startswith("of ") else f" = {one.value}" if one.value else ""
            yield f"  {one.file}: {one.name}{value}: {one.text}"
        return
    together: dict[tuple[str, str], list[str]] = {}
    for one in answers:
        together.setdefault((one.file, one.text), []).append(one.name)
    for (file, text), names in together.items():
        yield f"  {file}: {', '.join(names)}: {text}"
