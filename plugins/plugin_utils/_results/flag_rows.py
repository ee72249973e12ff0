# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The verdicts on the flags of several nodes as one report: nodes that agree share a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

COLUMNS = ("flag", "value", "real", "effective", "use instead", "judged by", "origin", "nodes")
EDIT_COLUMNS = ("node", "line")

_SHOWN_NODES = 4
# As module_utils._flags.judgment has it.
_OTHER = "another program"


def flag_rows(results: Mapping[str, Mapping[str, Any]], given: Sequence[str] = ()) -> dict[str, Any]:
    """What ``gaudi3.scale.report`` shows: title, columns, rows, notes and sections; and the hosts that ``answered``.

    ``results`` has what the module ``hpu_flags_info`` returned for each host, or its failure. ``given`` are the hosts
    whose order counts; those without a result are told in a note.
    """
    answered = {host: result for host, result in results.items() if "flags" in result and not result.get("failed")}
    lines: dict[tuple[object, ...], list[str]] = {}
    verdicts: dict[tuple[object, ...], Mapping[str, Any]] = {}
    for host, result in answered.items():
        for one in result["flags"]:
            key = tuple(one[field] for field in ("name", "value", "real", "effective", "why", "judged_by", "origin"))
            lines.setdefault(key, []).append(host)
            verdicts[key] = one
    # What the nodes do not agree on stands together.
    places = {name: place for place, name in enumerate(dict.fromkeys(key[0] for key in lines))}
    rows = [_row(verdicts[key], lines[key], len(answered)) for key in sorted(lines, key=lambda key: places[key[0]])]
    edits = [{"node": host, "line": line} for host, result in answered.items() for line in result["hand_edit"]]
    return {
        "title": _title(answered),
        "answered": list(answered),
        "columns": list(COLUMNS),
        "rows": rows,
        "notes": [*_summary(rows, answered), *_reasons(verdicts.values()), *_silent(results, answered, given)],
        "sections": [_edit_section(edits)] if edits else [],
    }


def _row(verdict: Mapping[str, Any], hosts: Sequence[str], nodes: int) -> dict[str, object]:
    named = ", ".join(hosts[:_SHOWN_NODES]) + (
        f" and {len(hosts) - _SHOWN_NODES} more" if len(hosts) > _SHOWN_NODES else ""
    )
    return {
        "flag": verdict["name"],
        "value": verdict["value"],
        "real": verdict["real"],
        "effective": verdict["effective"],
        "use instead": verdict["use_instead"],
        "judged by": verdict["judged_by"],
        # Its source, after the colon, is a sentence of its own.
        "origin": verdict["origin"].partition(": ")[0],
        "nodes": f"all {nodes}" if len(hosts) == nodes > 1 else named,
        "why": verdict["why"],
        "known": verdict.get("known", ""),
        "level": verdict["level"],
    }


def _title(answered: Mapping[str, Mapping[str, Any]]) -> str:
    sources = {result["source"] for result in answered.values()}
    if len(sources) == 1:
        return f"Flags of {sources.pop()}"
    jobs = {source.partition(" of ")[2] for source in sources if " of " in source}
    return f"Flags of {jobs.pop()}" if len(jobs) == 1 else "Flags"


def _summary(rows: Sequence[Mapping[str, object]], answered: Mapping[str, Mapping[str, Any]]) -> list[str]:
    settings = sorted(
        {
            f"release {result['release']}, {result['profile']} ({' and '.join(result['modes'])} mode), "
            f"{'network ' + result['network'] if result['network'] else 'any network'}"
            for result in answered.values()
        }
    )
    names = {str(row["flag"]): row for row in rows}
    if not names:
        return ["no flag of the Gaudi software is set"] if answered else []
    not_real = sum(not row["real"] for row in names.values())
    idle = sum(bool(row["real"]) and row["effective"] == "no" for row in names.values())
    others = sum(row["known"] == _OTHER for row in names.values())
    of_others = f", {others} of another program" if others else ""
    counts = f"{not_real} not real, {idle} real but without effect{of_others}"
    return [
        f"{len(names)} {'flag' if len(names) == 1 else 'flags'}: {counts}",
        f"judged for {'; '.join(settings)}",
    ]


def _reasons(verdicts: Any) -> list[str]:
    return list(dict.fromkeys(f"{one['why']}; {one['use_instead']}" for one in verdicts if one["why"]))


def _silent(
    results: Mapping[str, Mapping[str, Any]], answered: Mapping[str, object], given: Sequence[str]
) -> list[str]:
    hosts = [*results, *(host for host in given if host not in results)]
    return [
        f"{host}: {' '.join(str(results.get(host, {}).get('msg') or 'not reached').split())}"
        for host in hosts
        if host not in answered
    ]


def _edit_section(edits: list[dict[str, str]]) -> dict[str, object]:
    return {
        "title": "Edited manually since the file was written",
        "columns": list(EDIT_COLUMNS),
        "rows": edits,
        "notes": ["the next run of the role gaudi_flags saves a copy and overwrites the file; see overrides"],
    }
