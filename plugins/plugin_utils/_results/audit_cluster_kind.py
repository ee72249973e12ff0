# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""An audit as a report: what failed first, with the command that mends it; then what nobody could tell; the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.junit import FAILED, PASSED, UNKNOWN, Case

AUDITED = "gaudi_audit_result"
PASS, FAIL, WATCH, UNKNOWN_WORD = "pass", "fail", "watch", "unknown"
_ORDER = (FAIL, WATCH, UNKNOWN_WORD, PASS)
COLUMNS = ("item", "of", "verdict", "why", "do")
LEGEND = (
    "watch: below what a guide without a source asks for, which fails nothing; your own limits are gaudi_audit_targets",
    "unknown: nothing was measured, or there is nothing to hold it against",
)


def audit_cluster_kind(asked: Asked) -> Made:
    """What one task has judged. A refusal where an item failed."""
    found: Mapping[str, Any] = next(iter(asked.results(AUDITED).values()), {})
    if "items" not in found:
        said = str(found.get("msg") or "Nothing was judged; see the task that failed above.")
        return Made({"title": "Audit", "columns": ["item"], "rows": []}, {"ok": False}, refusal=said, cases=[])
    items = sorted(found["items"], key=lambda one: _ORDER.index(_word(one)))
    counts = {word: sum(_word(one) == word for one in items) for word in _ORDER}
    failed = [f"{one['item']} of {one['subject']}: {one['why']}" for one in items if _word(one) == FAIL]
    return Made(
        {
            "title": "Audit: " + ", ".join(f"{count} {word}" for word, count in counts.items() if count),
            "columns": COLUMNS,
            "rows": [_row(one) for one in items],
            "notes": LEGEND,
            "sections": [
                {
                    "title": "What lists ask for and is not measured",
                    "columns": ["asked", "why not", "instead"],
                    "rows": [
                        {"asked": "; ".join(one["asked"]), "why not": one["why"], "instead": one["instead"]}
                        for one in found["not_measured"]
                    ],
                    "on_screen": False,
                }
            ],
            "data": {"items": items, "not_measured": found["not_measured"]},
        },
        {"ok": not failed, "numbers": counts},
        refusal="; ".join(failed) + "." if failed else "",
        cases=[_case(one) for one in items],
    )


def _word(one: Mapping[str, Any]) -> str:
    return WATCH if one["verdict"] == FAIL and not one["counts"] else str(one["verdict"])


def _row(one: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "item": one["item"],
        "of": one["subject"],
        "verdict": _word(one),
        "why": one["why"],
        "do": one["remedy"] if one["verdict"] != PASS else "",
    }


def _case(one: Mapping[str, Any]) -> Case:
    outcome = {PASS: PASSED, FAIL: FAILED}.get(_word(one), UNKNOWN)
    return Case(str(one["subject"]), str(one["item"]), outcome, "" if outcome == PASSED else str(one["why"]))
