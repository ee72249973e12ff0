# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Alarms and a dashboard of what is sent, as the command line of AWS takes them; nobody applies them here.

An alarm asks by Metrics Insights, over all nodes at once: one that named its nodes would miss the next.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .options import Target

MINUTE_S = 60
BELOW, FROM, UP_TO = "LessThanThreshold", "GreaterThanOrEqualToThreshold", "LessThanOrEqualToThreshold"
# What an alarm makes of a time without values.
WELL, WRONG = "notBreaching", "breaching"
# Two of them, so that one value that was late is none.
_PERIODS = 2
_LEAST = "Minimum"
_WIDTH, _HEIGHT, _COLUMNS = 12, 6, 2


@dataclass(frozen=True)
class Alarm:
    """``name`` is also that of its file. It holds ``statistic`` of ``metric`` over all series against ``threshold``."""

    name: str
    metric: str
    statistic: str
    comparison: str
    threshold: float
    description: str
    where: str = ""
    without_values: str = WELL


ALARMS = (
    Alarm(
        "gaudi_alert",
        "ALERTS",
        "MAX",
        FROM,
        1,
        "A critical alert of this Prometheus fires; the metric ALERTS names it, docs/alerts.md what to do.",
        " WHERE \"alertstate\" = 'firing' AND \"severity\" = 'critical'",
    ),
    Alarm(
        "gaudi_node_silent",
        "up",
        "MIN",
        BELOW,
        1,
        "A node does not report its metrics, or the monitoring server has stopped sending.",
        without_values=WRONG,
    ),
    Alarm(
        "gaudi_card_not_operational",
        "gaudi_card_operational",
        "MIN",
        BELOW,
        1,
        "The driver reports that a card does not work.",
    ),
    Alarm(
        "gaudi_card_cold",
        "gaudi_card_temperature_celsius",
        "MIN",
        UP_TO,
        0,
        "A card reports 0 degrees: it did not start.",
    ),
    Alarm(
        "gaudi_card_memory_errors",
        "gaudi_card_ecc_uncorrected_total",
        "MAX",
        FROM,
        1,
        "A card had uncorrected memory errors since its driver was loaded.",
    ),
)
# Whose lowest value is the one to look at; of all others it is the highest.
_LOW_IS_BAD = ("up", "gaudi_cards_driven", "gaudi_card_operational", "gaudi_job_tokens_per_second")


def alarm_texts(target: Target) -> Mapping[str, str]:
    """Name of the file -> what ``aws cloudwatch put-metric-alarm --cli-input-json`` takes."""
    return {f"{alarm.name}.json": _json(_alarm(alarm, target)) for alarm in ALARMS if alarm.metric in target.metrics}


def dashboard_text(target: Target) -> str:
    """What ``aws cloudwatch put-dashboard --cli-input-json`` takes, with a graph for each metric."""
    body = {"widgets": [_widget(number, metric, target) for number, metric in enumerate(target.metrics)]}
    name = "".join(one if one.isalnum() or one in "_-" else "-" for one in target.namespace)
    return _json({"DashboardName": name, "DashboardBody": json.dumps(body)})


def _period(target: Target) -> int:
    """Whole minutes, since values are kept in these, and no shorter than the time between two."""
    return MINUTE_S * math.ceil(target.interval / MINUTE_S)


def _alarm(alarm: Alarm, target: Target) -> Mapping[str, Any]:
    query = f'SELECT {alarm.statistic}("{alarm.metric}") FROM "{target.namespace}"{alarm.where}'
    return {
        "AlarmName": f"{target.namespace} {alarm.name}",
        "AlarmDescription": alarm.description,
        "ActionsEnabled": True,
        "Metrics": [{"Id": "q1", "Expression": query, "Period": _period(target), "ReturnData": True}],
        "EvaluationPeriods": _PERIODS,
        "DatapointsToAlarm": _PERIODS,
        "Threshold": alarm.threshold,
        "ComparisonOperator": alarm.comparison,
        "TreatMissingData": alarm.without_values,
    }


def _widget(number: int, metric: str, target: Target) -> Mapping[str, Any]:
    statistic = _LEAST if metric in _LOW_IS_BAD else "Maximum"
    which = ' alertstate="firing"' if metric == "ALERTS" else ""
    search = f'Namespace="{target.namespace}" MetricName="{metric}"{which}'
    expression = f"SEARCH('{search}', '{statistic}', {_period(target)})"
    return {
        "type": "metric",
        "x": _WIDTH * (number % _COLUMNS),
        "y": _HEIGHT * (number // _COLUMNS),
        "width": _WIDTH,
        "height": _HEIGHT,
        "properties": {
            "title": metric,
            "region": target.region,
            "view": "timeSeries",
            "period": _period(target),
            "stat": statistic,
            "metrics": [[{"id": "e1", "expression": expression}]],
        },
    }


def _json(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2) + "\n"
