# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hold what nodes and reports say against every item of the audit."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from ansible.errors import AnsibleError
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import quantity
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.answers import FACTS
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.items import ITEMS
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.judgment import Judged, judged
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.measures import Facts
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.not_measured import NOT_MEASURED
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.thresholds import Threshold, targets_of
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.verdicts import Failed, Measured, Passed, Unknown
from ansible_collections.gaudi3.scale.plugins.plugin_utils._kept_document import read_if_kept
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import literals, taken
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule
from ansible_collections.gaudi3.scale.plugins.plugin_utils._task_answer import failed

ARGUMENTS: dict[str, dict[str, Any]] = {
    "hosts": {"type": "list", "elements": "str", "required": True},
    "looked": {"type": "str", "default": "gaudi_audit_facts_result"},
    "job": {"type": "str", "default": ""},
    "targets": {"type": "dict", "default": {}},
    "required": {"type": "list", "elements": "str", "default": []},
    "reports": {"type": "str", "default": ""},
    "baseline": {"type": "str", "default": ""},
}
# What playbooks keep of what they measured, by the name of their report.
REPORTS = ("site", "measure_collectives", "measure_storage", "tune_training")


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.cluster_audit``."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Judge each item."""
        super().run(tmp, task_vars)
        options = self.validate_argument_spec(argument_spec=ARGUMENTS)[1]
        try:
            known = {item.name: item for item in ITEMS if item.threshold or item.target}
            targets = targets_of(options["targets"], known)
            _refuse_unknown(options["required"])
            nodes, silent = _answers(options["hosts"], task_vars["hostvars"], options["looked"])
            reports = _reports(options["reports"], options["baseline"])
            facts = Facts(nodes, _job(nodes), reports, today=datetime.now(timezone.utc).date())
            found = judged(ITEMS, facts, silent, targets, options["job"], options["required"])
            return {"changed": False, **literals(_result(found))}
        except AnsibleError:
            raise
        except Exception as error:
            return failed(error)


def _refuse_unknown(required: list[str]) -> None:
    names = [item.name for item in ITEMS]
    for name in required:
        if name not in names:
            raise GaudiError(
                f"gaudi_audit_required names {name}, which is not a check; valid names are {', '.join(names)}."
            )


def _answers(
    hosts: list[str], hostvars: Mapping[str, Any], variable: str
) -> tuple[dict[str, Mapping[str, Any]], dict[str, str]]:
    """What each node answered, and why another has no facts."""
    nodes, silent = {}, {}
    for host in hosts:
        answer = hostvars[host].get(variable) if host in hostvars else None
        if not isinstance(answer, Mapping) or "facts" not in answer:
            told = answer.get("msg") if isinstance(answer, Mapping) else None
            silent[host] = str(told or "it did not respond")
            continue
        try:
            nodes[host] = taken(host, "audit_facts", FACTS, answer["facts"])
        except GaudiError as error:
            silent[host] = str(error)
    return nodes, silent


def _job(nodes: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """Of the node with the lines, whichever rank 0 was on last; else of one that knows the job at all."""
    known = [node["job"] for node in nodes.values() if node["job"]]
    told = [job for job in known if job.get("start") or job.get("step")]
    return max(told, key=lambda job: job.get("step", {}).get("step") or 0) if told else next(iter(known), {})


def _reports(place: str, baseline: str) -> dict[str, Mapping[str, Any]]:
    found = {name: read_if_kept(f"{place}/{name}.json" if place else f"{name}.json", "reports", "") for name in REPORTS}
    found["baseline"] = read_if_kept(baseline, "baseline", "qualification_baseline.json") if baseline else None
    return {name: document for name, document in found.items() if isinstance(document, Mapping)}


def _result(found: list[Judged]) -> dict[str, Any]:
    return {
        "answers": [_row(one) for one in found],
        "not_measured": [{"asked": list(one.lists), "why": one.why, "instead": one.instead} for one in NOT_MEASURED],
    }


def _row(one: Judged) -> dict[str, Any]:
    verdict = one.verdict
    word = {Passed: "pass", Failed: "fail", Unknown: "unknown"}[type(verdict)]
    return {
        "item": one.item.name,
        "asks": one.item.asks,
        "subject": one.subject,
        "verdict": word,
        "why": _passed(verdict.measured, one.threshold) if isinstance(verdict, Passed) else verdict.why,
        "value": None if isinstance(verdict, Unknown) else verdict.measured.value,
        "threshold": one.threshold.words if one.threshold else None,
        "counts": one.counts,
        "remedy": "" if isinstance(verdict, Passed) else one.item.remedy,
    }


def _passed(measured: Measured, threshold: Threshold | None) -> str:
    if isinstance(measured.value, bool) or threshold is None:
        return measured.seen
    return f"{quantity(measured.value)}, {threshold.words} ({measured.seen})"
