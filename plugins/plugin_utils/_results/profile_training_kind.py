# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The profiles of all nodes of a training as one verdict: each cause with its share, what shows it, what comes next."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._profile.directory import of_one_run
from ansible_collections.gaudi3.scale.plugins.module_utils._profile.records import RankRecord, record_of
from ansible_collections.gaudi3.scale.plugins.module_utils._profile.trace_summary import TraceSummary, summary_of
from ansible_collections.gaudi3.scale.plugins.module_utils._profile.verdict import Verdict, judge
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import RefusedError, literals
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Kind, Made

PROFILED = "gaudi_training_profile_result"
COLUMNS = ("share", "cause", "evidence", "next")
OK, FAILED = "ok", "failed"


@dataclasses.dataclass
class _Gathered:
    """What the nodes answered, and the reasons of those whose answer is none."""

    records: list[RankRecord] = dataclasses.field(default_factory=list)
    traces: dict[int, TraceSummary] = dataclasses.field(default_factory=dict)
    reasons: dict[str, str] = dataclasses.field(default_factory=dict)


def profile_training_kind(asked: Asked) -> Made:
    """``given``: the job. A refusal where no node has a profile; "not enough seen" is none."""
    gathered, job = _gather(asked), asked.given["job"]
    refusal = ""
    try:
        records = of_one_run(gathered.records, f"The job {job}")
    except GaudiError as error:
        records, refusal = [], str(error)
    verdict = judge(records, gathered.traces)
    reasons = dict(gathered.reasons)
    if not records and not refusal:
        refusal = next(iter(reasons.values()), f"No node has a profile of the job {job}.")
    notes = [*_seen(verdict), *(f"{host}: {reason}" for host, reason in reasons.items()), *verdict.notes]
    return Made(
        literals(
            {
                "title": f"Profile of {job}",
                "columns": COLUMNS if verdict.causes else ["share"],
                "rows": [_row(cause) for cause in verdict.causes],
                "notes": notes,
                "data": {"verdict": _plain(verdict)},
            }
        ),
        {
            "nodes": {host: FAILED if host in reasons else OK for host in asked.hosts},
            "ok": bool(verdict.causes) and not reasons,
            "numbers": {"step_seconds": round(verdict.seconds, 4)} if verdict.causes else {},
        },
        refusal=refusal,
        reasons=reasons,
    )


def _gather(asked: Asked) -> _Gathered:
    found = _Gathered()
    results = asked.results(PROFILED)
    for host in asked.hosts:
        result = results.get(host, {})
        if "records" not in result:
            found.reasons[host] = str(result.get("msg") or asked.why_nothing(host))
            continue
        try:
            # By the inventory's name: what a node calls itself leads nobody to another one.
            mine = [dataclasses.replace(record_of(one), node=host) for one in result["records"]]
            traces = {int(one["rank"]): summary_of(one) for one in result.get("traces", ())}
        except (KeyError, TypeError, ValueError, AttributeError, RefusedError) as error:
            found.reasons[host] = (
                f"{host} answered gaudi3.scale.training_profile with an invalid result ({type(error).__name__}: "
                f"{str(error)[:100]}); find out who changed that node before you trust it."
            )
            continue
        found.records += mine
        found.traces.update(traces)
    return found


def _seen(verdict: Verdict) -> list[str]:
    if verdict.missing:
        return [f"Not enough seen: {verdict.missing}"]
    step = f"{verdict.steps} steps of {verdict.seconds * 1e3:.1f} ms"
    return [f"{step}, {verdict.ranks} of {verdict.world_size} ranks; shares are of a mean step"]


def _row(cause: Any) -> dict[str, str]:
    return {
        "share": f"{cause.share:.0%}",
        "cause": cause.said,
        "evidence": cause.evidence,
        "next": cause.next,
    }


def _plain(verdict: Verdict) -> Mapping[str, Any]:
    return {
        "missing": verdict.missing,
        "steps": verdict.steps,
        "step_seconds": round(verdict.seconds, 6),
        "causes": [
            {
                "cause": cause.word,
                "share": round(cause.share, 4),
                "ranks": list(cause.ranks),
                "node": cause.node,
                "part": cause.part,
            }
            for cause in verdict.causes
        ],
    }


KIND = Kind((PROFILED,), profile_training_kind)
