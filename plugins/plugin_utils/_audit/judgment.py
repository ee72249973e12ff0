# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Items against facts: a verdict for each, of each node where it is asked of nodes; pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import quantity
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.item import CLUSTER, JOB, NODE, Item
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.measures import Facts
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.thresholds import SITE, Threshold
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.verdicts import (
    Failed,
    Measured,
    Passed,
    Unknown,
    Verdict,
)


@dataclass(frozen=True)
class Judged:
    """An item's verdict on ``subject``, a node, the job or the cluster. ``counts``: whether a miss is a failure."""

    item: Item
    subject: str
    verdict: Verdict
    threshold: Threshold | None
    is_required: bool = False

    @property
    def counts(self) -> bool:
        return self.is_required or (not self.item.advice and (self.threshold is None or self.threshold.counts))


def judged(
    items: Sequence[Item],
    facts: Facts,
    silent: Mapping[str, str],
    targets: Mapping[str, float],
    job: str,
    required: Collection[str] = (),
) -> list[Judged]:
    """``silent``: why a node has no facts. A node that is silent leaves nothing of others unjudged."""
    found = []
    for item in items:
        threshold = _threshold(item, targets)
        subjects = [*facts.nodes, *silent] if item.of == NODE else [{JOB: job or "job", CLUSTER: "cluster"}[item.of]]
        for subject in subjects:
            verdict: Verdict
            if item.of == NODE and subject in silent:
                verdict = Unknown(silent[subject])
            else:
                measured = item.measure(replace(facts, node=subject) if item.of == NODE else facts)
                verdict = _verdict(item, measured, threshold)
            found.append(Judged(item, subject, verdict, threshold, item.name in required))
    return found


def _threshold(item: Item, targets: Mapping[str, float]) -> Threshold | None:
    """The site's own before any other."""
    if item.name in targets:
        which, unit = (item.threshold.which, item.threshold.unit) if item.threshold else item.target or ("", "")
        return Threshold(targets[item.name], which, unit, SITE)
    return item.threshold


def _verdict(item: Item, measured: Measured | Unknown | None, threshold: Threshold | None) -> Verdict:
    if measured is None:
        return Unknown(item.missing)
    if isinstance(measured, Unknown):
        return measured
    if isinstance(measured.value, bool):
        return Passed(measured) if measured.value else Failed(measured, measured.seen)
    if threshold is None:
        unit = item.target[1] if item.target else ""
        return Unknown(f"{quantity(measured.value)} {unit} ({measured.seen}), and no target in gaudi_audit_targets")
    if threshold.is_met(measured.value):
        return Passed(measured)
    return Failed(measured, f"{quantity(measured.value)}, expected {threshold.words} ({measured.seen})")
