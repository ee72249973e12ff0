# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A dashboard as the JSON that Grafana 10 and newer read. Its Prometheus is whichever the reader's Grafana has."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .panels import CURVE, NUMBER, TABLE, Chosen, Dashboard, Panel

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / "roles" / "gaudi_monitoring" / "files" / "dashboards"
# Grafana 10's; newer ones bring older documents up to date when they read them.
_SCHEMA = 38
_COLUMNS = 24
_HEIGHTS = {NUMBER: 4, CURVE: 8, TABLE: 8}
_SOURCE = {"type": "prometheus", "uid": "${source}"}


def render(dashboard: Dashboard) -> str:
    """The document as text."""
    document = {
        "uid": dashboard.name,
        "title": dashboard.title,
        "tags": ["gaudi3.scale"],
        "schemaVersion": _SCHEMA,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [_source(), *map(_chosen, dashboard.chosen)]},
        "panels": list(_panels(dashboard)),
    }
    return json.dumps(document, indent=1) + "\n"


def _panels(dashboard: Dashboard) -> Iterator[dict[str, Any]]:
    """From left to right, and below where a line is full."""
    across = down = tallest = 0
    for number, panel in enumerate(dashboard.panels, start=1):
        if across + panel.width > _COLUMNS:
            across, down, tallest = 0, down + tallest, 0
        height = _HEIGHTS[panel.kind]
        yield _panel(panel, number, {"x": across, "y": down, "w": panel.width, "h": height})
        across, tallest = across + panel.width, max(tallest, height)


def _panel(panel: Panel, number: int, place: dict[str, int]) -> dict[str, Any]:
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.about,
        "gridPos": place,
        "datasource": _SOURCE,
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "targets": [
            {
                "refId": chr(ord("A") + place),
                "datasource": _SOURCE,
                "expr": question,
                "legendFormat": legend or "__auto",
                "instant": panel.kind != CURVE,
                "range": panel.kind == CURVE,
                "format": "table" if panel.kind == TABLE else "time_series",
            }
            for place, (question, legend) in enumerate(panel.questions)
        ],
    }


def _source() -> dict[str, Any]:
    return {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}


def _chosen(one: Chosen) -> dict[str, Any]:
    if not one.metric:
        return {"name": one.name, "label": one.title, "type": "textbox", "query": one.typed}
    return {
        "name": one.name,
        "label": one.title,
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": f"label_values({one.metric}, {one.label})", "refId": one.name},
        "refresh": 2,
        "sort": 7,
    }
