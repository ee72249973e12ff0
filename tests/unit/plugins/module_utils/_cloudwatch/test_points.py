# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What Prometheus has, as CloudWatch takes it."""

from __future__ import annotations

from typing import Any

import boto3
import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cloudwatch.points import (
    MOST_BYTES,
    MOST_POINTS,
    Point,
    Sample,
    batches,
    dimensions_of,
    points_of,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._cloudwatch.prometheus_query import samples_of
from botocore.awsrequest import AWSPreparedRequest
from botocore.config import Config

NOW = 1_790_000_000.25


@pytest.mark.parametrize(
    ("labels", "wanted"),
    [
        ({"__name__": "up", "instance": "n1", "job": "gaudi"}, {"node": "n1"}),
        ({"card": "3", "port": "eth1", "instance": "n1"}, {"card": "3", "port": "eth1", "node": "n1"}),
        ({"training": "bert", "severity": ""}, {"training": "bert"}),
        ({"instance": "exporter", "node": "n1"}, {"node": "n1"}),
        ({"disk": " \t"}, {"disk": " \\t"}),
        ({"disk": "  "}, {}),
        ({"training": "büro\n"}, {"training": "b\\xfcro\\n"}),
        ({"training": "a" * 2000}, {"training": "a" * 1024}),
    ],
)
def test_labels_are_dimensions(labels: dict[str, str], wanted: dict[str, str]) -> None:
    assert dict(dimensions_of(labels)) == wanted


def test_dimensions_have_one_order() -> None:
    """CloudWatch would take another order for the same series; a reader should not have to know that."""
    one = dimensions_of({"b": "1", "a": "2", "instance": "n"})
    assert one == dimensions_of({"instance": "n", "a": "2", "b": "1"}) == (("a", "2"), ("b", "1"), ("node", "n"))


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        (0.0, 0.0),
        (-12.5, -12.5),
        (float("nan"), None),
        (float("inf"), None),
        (float("-inf"), None),
        (2.0**360, 2.0**360),
        (2.0**361, None),
        (1e-200, 0.0),
    ],
)
def test_only_what_is_a_number_there_too_is_sent(value: float, sent: float | None) -> None:
    points, refused = points_of([Sample({"__name__": "x"}, NOW, value)])
    assert [point.value for point in points] == ([] if sent is None else [sent])
    assert refused == []


def test_too_many_labels_are_told_once_a_metric() -> None:
    labels = {"__name__": "x", **{f"l{number}": "1" for number in range(31)}}
    assert points_of([Sample(labels, NOW, 1.0)] * 3) == ([], ["x"])
    labels.pop("l30")
    assert len(points_of([Sample(labels, NOW, 1.0)])[0]) == 1


@pytest.mark.parametrize(
    ("points", "sizes"),
    [(0, []), (1, [1]), (MOST_POINTS, [MOST_POINTS]), (MOST_POINTS + 1, [MOST_POINTS, 1]), (2500, [1000, 1000, 500])],
)
def test_a_call_has_at_most_a_thousand(points: int, sizes: list[int]) -> None:
    assert [len(batch) for batch in batches([Point("up", (("node", "n"),), NOW, 1.0)] * points)] == sizes


class _BodyError(Exception):
    """Ends a call before it is sent; its argument is what would have been."""


@pytest.mark.parametrize(
    "point",
    [
        Point(
            "gaudi_card_info", tuple((f"label{number}", "ü%&=" * 20) for number in range(30)), NOW, -0.1234567890123e-30
        ),
        Point("a", tuple((f"l{number}", "v") for number in range(30)), NOW, 1.0),
        Point("a", (), NOW, 1.0),
    ],
)
def test_no_call_is_larger_than_amazon_takes(point: Point) -> None:
    """As the boto3 of today would write it, uncompressed."""

    def stop(request: AWSPreparedRequest, **_: Any) -> None:
        raise _BodyError(len(request.body or b""))

    config = Config(disable_request_compression=True)
    client = boto3.client(
        "cloudwatch", region_name="eu-central-1", aws_access_key_id="a", aws_secret_access_key="b", config=config
    )
    client.meta.events.register("before-send.cloudwatch.PutMetricData", stop)
    most = next(batches([point] * MOST_POINTS))
    assert sum(one.size for one in most) <= MOST_BYTES
    with pytest.raises(_BodyError) as sent:
        client.put_metric_data(Namespace="Gaudi", MetricData=[one.datum for one in most])
    assert sent.value.args[0] < 1_000_000


def test_an_answer_of_prometheus() -> None:
    answer = {
        "status": "success",
        "data": {"resultType": "vector", "result": [{"metric": {"__name__": "up"}, "value": [NOW, "1"]}]},
    }
    assert samples_of(answer) == [Sample({"__name__": "up"}, NOW, 1.0)]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"status": "error", "error": "parse error"}, "parse error"),
        ({}, "None"),
        ({"status": "success"}, "it is not a vector"),
        ({"status": "success", "data": {"result": {"a": 1}}}, "it is not a vector"),
        ({"status": "success", "data": {"result": [{"metric": [], "value": [1, "1"]}]}}, "it is not a vector"),
        ({"status": "success", "data": {"result": [{"metric": {}, "value": [1]}]}}, "it is not a vector"),
        ({"status": "success", "data": {"result": [{"metric": {}, "value": [1, "one"]}]}}, "could not convert"),
    ],
)
def test_what_is_no_answer(answer: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        samples_of(answer)
