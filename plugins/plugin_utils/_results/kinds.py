# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Reports by kind: what playbooks register on their hosts, as options of the module ``report``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._firmware.rounds import RACK
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Kind, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.audit_cluster_kind import (
    AUDITED,
    audit_cluster_kind,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.benchmark_fabric_kind import (
    MEASURED,
    benchmark_fabric_kind,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.benchmark_training_kind import (
    BENCHMARKED,
    benchmark_training_kind,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.cap_power_kind import CAPPED, cap_power_kind
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.clock_rows import clocks_of, judge_clocks
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.compare_settings_kind import (
    COMPARED,
    OWN,
    TOGETHER,
    compare_settings_kind,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.difference import node_difference
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.find_bad_nodes_kind import (
    SEARCHED,
    find_bad_nodes_kind,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.firmware_rows import (
    BEFORE,
    OUTCOME,
    RESULT,
    firmware_rows,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.flag_rows import flag_rows
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.measure_collectives_kind import (
    MEASURED as COLLECTIVES,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.measure_collectives_kind import (
    measure_collectives_kind,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.measure_serving_kind import MEASURED as SERVED
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.measure_serving_kind import measure_serving_kind
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.measure_storage_kind import MEASURED as STORAGE
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.measure_storage_kind import measure_storage_kind
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.plan_fabric_kind import INFO as FABRIC
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.plan_fabric_kind import plan_fabric_kind
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.probe_kind import PROBED, probe_kind
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.profile_training_kind import (
    PROFILED,
    profile_training_kind,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.qualify_nodes_kind import (
    QUALIFIED,
    qualify_nodes_kind,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.report_cost_kind import (
    ENERGY,
    report_cost_kind,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.report_cost_kind import HISTORY as COURSE
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.report_cost_kind import INFO as COSTED
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.report_serving_cost_kind import USED as SERVED_COST
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.report_serving_cost_kind import (
    report_serving_cost_kind,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.show_fleet_kind import TOLD, show_fleet_kind
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.support_bundle_kind import (
    COLLECTED,
    support_bundle_kind,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.training_kind import HISTORY, INFO, training_kind
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.tune_training_kind import tune_training_kind
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.upgrade_report import upgrade_report
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.upgrade_row import RESULT as UPGRADED
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.upgrade_row import upgrade_failure, upgrade_row
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.verdict_row import (
    APPLIED,
    FACTS,
    LAYERS,
    RESTART,
    result_of,
    verdict_row,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._upgrade.node_outcome import GOOD

FLAGS, PLAN = "gaudi_flags_explain_result", "gaudi_upgrade_plan_result"
VERDICT_COLUMNS = (
    "node",
    "verdict",
    "release",
    "driver",
    "cards",
    "firmware",
    "°C",
    "links",
    "pytorch",
    "fabric",
    "all-reduce",
)
VERDICT_LEGEND = (
    "links are those between the cards, then those out of the node",
    "all-reduce is a checked sum over all ranks, and its bus bandwidth",
)
UNTOUCHED = " (check mode: nothing was changed)"


def _verdict(asked: Asked) -> Made:
    """``given``: the hosts that ``failed`` in an earlier play, whether this run has ``verified`` its nodes (default: it
    has), and further values for each row."""
    further = {"failed": (), "verified": True, **asked.given}
    failed, verified = further.pop("failed"), further.pop("verified")
    clocks = judge_clocks(clocks_of(asked.results(result_of("verify"))))
    rows = [
        verdict_row(
            host,
            clocks.off.get(node, ""),
            ends_at_verify=verified or node in failed,
            why_nothing=asked.why_nothing(node),
        )
        for node, host in asked.hosts.items()
    ]
    return Made(
        {
            "title": f"What was found{UNTOUCHED}" if asked.check_mode else "Verdict",
            "columns": VERDICT_COLUMNS,
            "rows": [{**row, **further} for row in rows],
            "notes": [*_reasons(rows), *clocks.notes, *VERDICT_LEGEND],
        },
        {
            "nodes": {row["node"]: row["verdict"] for row in rows},
            "good": ["ok", RESTART, *(row["verdict"] for row in rows if str(row["verdict"]).startswith(APPLIED))],
            "words": {"restart_nodes": [row["node"] for row in rows if row["verdict"] == RESTART]},
        },
    )


def _plan_upgrade(asked: Asked) -> Made:
    report = upgrade_report(asked.results(PLAN))
    in_the_way = sum(row.get("blockers") or 0 for row in report["rows"])
    notes = report["notes"] if report["states"] else ["No host was inspected; see gaudi_hosts and --limit."]
    return Made(
        {name: report[name] for name in ("title", "columns", "rows", "sections", "data")} | {"notes": report["notes"]},
        {
            "nodes": report["states"],
            "good": ["compatible", "unknown"],
            "ok": bool(report["data"]),
            "numbers": {"in_the_way": in_the_way},
        },
        refusal="" if report["data"] else notes[0],
    )


def _explain_node(asked: Asked) -> Made:
    node = str(asked.given["node"])
    report = node_difference(asked.results(PLAN), node, bool(asked.given.get("same_generation", True)))
    outcome = {"ok": True, "numbers": {"differences": len(report["rows"])}, "words": {"node": node}}
    return Made(report, outcome)


def _explain_flags(asked: Asked) -> Made:
    report = flag_rows(asked.results(FLAGS), list(asked.hosts))
    answered = report.pop("answered")
    reason = report["notes"][0] if report["notes"] else "gaudi_hosts matches no host."
    return Made(
        report,
        {
            "nodes": {host: "ok" if host in answered else "failed" for host in asked.hosts},
            "ok": bool(answered),
            "numbers": {"not_real": len({row["flag"] for row in report["rows"] if not row["real"]})},
        },
        refusal="" if answered else f"No node returned a result: {reason}",
    )


def _upgrade_driver(asked: Asked) -> Made:
    results = asked.results(UPGRADED)
    # The nodes' own release, where an inventory says it and not the command.
    release = next(
        (str(result["release"]) for result in results.values() if "release" in result), asked.given["release"]
    )
    title = f"Planned upgrade to {release}{UNTOUCHED}" if asked.check_mode else f"Upgrade to {release}"
    rows = [upgrade_row(host) for host in asked.hosts.values()]
    return Made(
        {
            "title": title,
            "columns": ["node", "state", "before", "now"],
            "rows": rows,
            "notes": _reasons(rows),
        },
        {"nodes": {row["node"]: row["state"] for row in rows}, "good": list(GOOD), "words": {"release": release}},
        reasons={host: reason for host, result in results.items() if (reason := upgrade_failure(result))},
    )


def _upgrade_firmware(asked: Asked) -> Made:
    targets = [shown.get("target") for shown in asked.results(BEFORE).values()]
    # An inventory may accept a version for the nodes alone.
    accepted = bool(asked.given["accepted"]) or any(targets)
    rows = firmware_rows(asked.hosts.values())
    untouched = UNTOUCHED if asked.check_mode else ""
    # A node has several rows where its cards differ.
    reasons = {str(row["node"]): str(row["reason"]) for row in reversed(rows) if row["reason"]}
    return Made(
        {
            "title": f"Card firmware{untouched if accepted else ' (no version accepted, nothing was changed)'}",
            "columns": ["node", "rack", "cards", "board", "before", "after" if accepted else "published", "state"],
            "rows": rows,
            "notes": _reasons(rows),
        },
        {"nodes": {host: "failed" if host in reasons else "ok" for host in asked.hosts}},
        reasons=reasons,
    )


def _reasons(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Each reason once, after the names of all nodes that have it: 64 nodes often fail by the same."""
    nodes: dict[str, list[str]] = {}
    for row in rows:
        if row["reason"]:
            nodes.setdefault(str(row["reason"]).removeprefix(f"{row['node']}: "), []).append(str(row["node"]))
    return [f"{', '.join(dict.fromkeys(names))}: {reason}" for reason, names in nodes.items()]


KINDS = {
    "audit_cluster": Kind((AUDITED,), audit_cluster_kind),
    "benchmark_training": Kind((BENCHMARKED,), benchmark_training_kind),
    "cap_power": Kind((CAPPED,), cap_power_kind),
    "compare_settings": Kind((COMPARED, TOGETHER, *OWN), compare_settings_kind),
    "probe_batch_size": Kind((PROBED,), probe_kind),
    "training": Kind((INFO, HISTORY), training_kind),
    "explain_flags": Kind((FLAGS,), _explain_flags),
    "explain_node": Kind((PLAN,), _explain_node),
    "find_bad_nodes": Kind((SEARCHED,), find_bad_nodes_kind),
    "measure_collectives": Kind((COLLECTIVES,), measure_collectives_kind),
    "measure_serving": Kind((SERVED,), measure_serving_kind),
    "measure_storage": Kind((STORAGE,), measure_storage_kind),
    "benchmark_fabric": Kind((MEASURED,), benchmark_fabric_kind),
    "plan_fabric": Kind((FABRIC,), plan_fabric_kind),
    "plan_upgrade": Kind((PLAN,), _plan_upgrade),
    "profile_training": Kind((PROFILED,), profile_training_kind),
    "qualify_nodes": Kind((QUALIFIED,), qualify_nodes_kind),
    "report_cost": Kind((COSTED, COURSE, ENERGY), report_cost_kind),
    "report_serving_cost": Kind((SERVED_COST,), report_serving_cost_kind),
    "show_fleet": Kind((TOLD,), show_fleet_kind),
    "support_bundle": Kind((COLLECTED,), support_bundle_kind),
    "tune_training": Kind((), tune_training_kind),
    "upgrade_driver": Kind((UPGRADED,), _upgrade_driver),
    "upgrade_firmware": Kind((RACK, BEFORE, RESULT, OUTCOME), _upgrade_firmware),
    "verdict": Kind((FACTS, MEASURED, *map(result_of, LAYERS)), _verdict),
}
