# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""An audit as a report: what failed first, with the command that mends it; then what nobody could tell; the rest."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Kind, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.junit import FAILED, PASSED, UNKNOWN, Case

AUDITED = "gaudi_audit_result"
PASS, FAIL, WATCH, UNKNOWN_WORD = "pass", "fail", "watch", "unknown"
_ORDER = (FAIL, WATCH, UNKNOWN_WORD, PASS)
# What an item of a job is asked of where none is named.
NO_JOB = "job"
_MANY, _REASONS = 8, 2
COLUMNS = ("item", "of", "verdict", "why", "do")
LEGEND = (
    "watch: advice, or a guideline's value; it fails only with gaudi_audit_targets or gaudi_audit_required",
    "unknown: nothing was measured, or there is nothing to compare it with",
)


def audit_cluster_kind(asked: Asked) -> Made:
    """What one task has judged. A refusal where an item failed."""
    found: Mapping[str, Any] = next(iter(asked.results(AUDITED).values()), {})
    if "answers" not in found:
        said = asked.why_no_result(found, "Nothing was evaluated.")
        return Made({"title": "Audit", "columns": ["item"], "rows": []}, {"ok": False}, refusal=said, cases=[])
    answers = sorted(found["answers"], key=lambda one: _ORDER.index(_word(one)))
    counts = {word: sum(_word(one) == word for one in answers) for word in _ORDER}
    failed = [f"{one['item']} of {one['subject']}: {one['why']}" for one in answers if _word(one) == FAIL]
    return Made(
        {
            "title": "Audit: " + ", ".join(f"{count} {word}" for word, count in counts.items() if count),
            "columns": COLUMNS,
            "rows": _rows(answers, bool(asked.given.get("job"))),
            "notes": LEGEND,
            "sections": [
                {
                    "title": "In the checklists, but not measured",
                    "columns": ["asked", "why not", "instead"],
                    "rows": [
                        {
                            "asked": "; ".join(map(_plain, one["asked"])),
                            "why not": one["why"],
                            "instead": one["instead"],
                        }
                        for one in found["not_measured"]
                    ],
                    "on_screen": False,
                }
            ],
            "data": {"answers": answers, "not_measured": found["not_measured"]},
        },
        {"ok": not failed, "numbers": counts},
        refusal="; ".join(failed) + "." if failed else "",
        cases=[_case(one) for one in answers],
    )


def _plain(line: str) -> str:
    """A line of a checklist, which is Markdown, in words: without list marks and stars, the cells of a table apart."""
    cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
    return re.sub(r"^([-*]|[0-9]+\.) +", "", ", ".join(cells)).replace("**", "")


def _word(one: Mapping[str, Any]) -> str:
    return WATCH if one["verdict"] == FAIL and not one["counts"] else str(one["verdict"])


def _rows(answers: Sequence[Mapping[str, Any]], has_job: bool) -> list[dict[str, Any]]:
    """One for each item and verdict, whatever the number of nodes; and one for all items of a job that is not named."""
    told: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    without = [one for one in answers if one["subject"] == NO_JOB and not has_job]
    for one in answers:
        if one not in without:
            told.setdefault((one["item"], _word(one)), []).append(one)
    rows = [_row(word, ones) for (_item, word), ones in told.items()]
    if without:
        what = f"{len(without)} checks of a job"
        why = "no job was given in gaudi_audit_job"
        rows.append({"item": what, "of": "", "verdict": UNKNOWN_WORD, "why": why, "do": "-e gaudi_audit_job=NAME"})
    return sorted(rows, key=lambda row: _ORDER.index(row["verdict"]))


def _row(word: str, ones: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    subjects, reasons = [str(one["subject"]) for one in ones], list(dict.fromkeys(str(one["why"]) for one in ones))
    more = f"; and {len(reasons) - _REASONS} more" if len(reasons) > _REASONS else ""
    return {
        "item": ones[0]["item"],
        "of": ", ".join(subjects) if len(subjects) <= _MANY else f"{len(subjects)} nodes",
        "verdict": word,
        "why": "; ".join(reasons[:_REASONS]) + more,
        "do": ones[0]["remedy"],
    }


def _case(one: Mapping[str, Any]) -> Case:
    outcome = {PASS: PASSED, FAIL: FAILED}.get(_word(one), UNKNOWN)
    return Case(str(one["subject"]), str(one["item"]), outcome, "" if outcome == PASSED else str(one["why"]))


KIND = Kind((AUDITED,), audit_cluster_kind)
