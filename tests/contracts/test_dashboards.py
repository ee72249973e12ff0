# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The dashboards are those that are described, and ask for nothing that nobody tells.

Each question is asked of a real Prometheus in the scenario ``monitoring``.
"""

from __future__ import annotations

import json
import re

import pytest

from scripts.dashboards.document import PLACE, render
from scripts.dashboards.panels import DASHBOARDS, Dashboard

from .checkout import ROOT

# Of the distribution's node exporter, and of Prometheus itself.
OTHERS = {
    "ALERTS",
    "up",
    "node_cpu_seconds_total",
    "node_filesystem_avail_bytes",
    "node_memory_MemAvailable_bytes",
}
METRIC = re.compile(r"\b(gaudi_[a-z_]+|node_[A-Za-z_]+|up|ALERTS)\b(?=[{) \[]|$)")
by_name = pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda one: one.name)


@by_name
def test_a_dashboard_is_as_it_is_described(dashboard: Dashboard) -> None:
    assert (PLACE / f"{dashboard.name}.json").read_text(encoding="utf-8") == render(dashboard), "run make readmes"


def test_there_is_no_other() -> None:
    assert {path.stem for path in PLACE.glob("*")} == {one.name for one in DASHBOARDS}


@by_name
def test_what_is_asked_for_is_told_by_somebody(dashboard: Dashboard) -> None:
    told = set(re.findall(r"`(gaudi_[a-z_]+)`", (ROOT / "docs/monitoring.md").read_text(encoding="utf-8")))
    asked = {
        name for panel in dashboard.panels for question, _legend in panel.questions for name in METRIC.findall(question)
    }
    assert asked - {one.name for one in dashboard.chosen} <= told | OTHERS
    assert {one.metric for one in dashboard.chosen if one.metric} <= told


@by_name
def test_panels_lie_beside_each_other_on_no_fixed_source_and_node(dashboard: Dashboard) -> None:
    document = json.loads(render(dashboard))
    taken = set()
    for panel in document["panels"]:
        place = panel["gridPos"]
        cells = {(place["x"] + across, place["y"] + down) for across in range(place["w"]) for down in range(place["h"])}
        assert place["x"] + place["w"] <= 24 and not cells & taken
        taken |= cells
        assert panel["datasource"]["uid"] == "${source}" and panel["targets"]
        variables = set(re.findall(r"\$([a-z_]+)", json.dumps(panel["targets"])))
        assert variables <= {one.name for one in dashboard.chosen}
    assert document["uid"] == dashboard.name
