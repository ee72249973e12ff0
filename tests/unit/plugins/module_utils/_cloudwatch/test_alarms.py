# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Alarms and the dashboard, taken by moto through the real boto3, which knows what may be in them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from ansible_collections.gaudi3.scale.plugins.module_utils._cloudwatch.alarms import (
    ALARMS,
    alarm_texts,
    dashboard_text,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._cloudwatch.options import METRICS, Target

from tests.unit.cloudwatch_services import Moto

RULES = Path(__file__).parents[5] / "roles/gaudi_monitoring/files/rules"
TARGET = Target("eu-central-1")


@pytest.fixture(scope="module")
def moto() -> Iterator[Moto]:
    server = Moto()
    yield server
    server.close()


def test_amazon_s_own_description_of_its_calls_takes_each_alarm(moto: Moto) -> None:
    texts = alarm_texts(TARGET)
    assert len(texts) == len(ALARMS)
    for text in texts.values():
        moto.client.put_metric_alarm(**json.loads(text))
    kept = {alarm["AlarmName"] for alarm in moto.client.describe_alarms()["MetricAlarms"]}
    assert kept == {f"Gaudi {alarm.name}" for alarm in ALARMS}


def test_amazon_s_own_description_of_its_calls_takes_the_dashboard(moto: Moto) -> None:
    moto.client.put_dashboard(**json.loads(dashboard_text(replace(TARGET, namespace="Site/Gaudi:1"))))
    body = json.loads(moto.client.get_dashboard(DashboardName="Site-Gaudi-1")["DashboardBody"])
    assert [widget["properties"]["title"] for widget in body["widgets"]] == [*METRICS]
    places = {(widget["x"], widget["y"]) for widget in body["widgets"]}
    assert len(places) == len(METRICS)


def test_an_alarm_asks_for_what_is_sent_alone() -> None:
    assert {*alarm_texts(replace(TARGET, metrics=("up", "gaudi_job_loss")))} == {"gaudi_node_silent.json"}
    assert {alarm.metric for alarm in ALARMS} <= {*METRICS}


def test_a_machine_that_sends_nothing_any_more_is_an_alarm() -> None:
    alarms = [json.loads(text) for text in alarm_texts(TARGET).values()]
    assert [alarm["AlarmName"] for alarm in alarms if alarm["TreatMissingData"] == "breaching"] == [
        "Gaudi gaudi_node_silent"
    ]


@pytest.mark.parametrize(("interval", "period"), [(10, 60), (60, 60), (61, 120), (300, 300)])
def test_a_period_is_whole_minutes_and_has_a_value(interval: int, period: int) -> None:
    (text,) = alarm_texts(replace(TARGET, metrics=("up",), interval=interval)).values()
    assert json.loads(text)["Metrics"][0]["Period"] == period
    assert f"'Minimum', {period})" in json.loads(dashboard_text(replace(TARGET, interval=interval)))["DashboardBody"]


def test_the_alarm_of_alerts_asks_as_our_rules_are_labeled() -> None:
    rules = [
        rule
        for path in RULES.glob("*.yml")
        for group in yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]
        for rule in group["rules"]
        if "alert" in rule
    ]
    assert {rule["labels"]["severity"] for rule in rules} == {"critical", "warning"}
    (asked,) = [alarm.where for alarm in ALARMS if alarm.metric == "ALERTS"]
    assert asked == " WHERE \"alertstate\" = 'firing' AND \"severity\" = 'critical'"
