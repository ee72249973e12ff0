# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The text of metrics, read by Prometheus' own library for Python."""

from __future__ import annotations

import math

from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.exposition import COUNTER, Family, Sample, text_of
from prometheus_client.parser import text_string_to_metric_families

HOSTILE = 'a "quoted" \\ word\nand {another} line'


def read(text: str) -> dict[str, list[tuple[dict[str, str], float]]]:
    return {
        family.name: [(dict(one.labels), one.value) for one in family.samples]
        for family in text_string_to_metric_families(text)
    }


def test_a_label_of_any_text_is_read_as_it_was() -> None:
    family = Family("gaudi_card_info", "1 for\neach \\ card.", (Sample(1, {"name": HOSTILE, "card": "0"}),))
    assert read(text_of([family])) == {"gaudi_card_info": [({"name": HOSTILE, "card": "0"}, 1.0)]}


def test_a_label_has_nothing_that_ends_a_line_or_is_obeyed() -> None:
    odd = "\r\x0b\x0c\x1b\x85\u2028\u202e\ud800"
    text = text_of([Family("a", "b", (Sample(1, {"name": f"Gaudi 3 °{odd}\n"}),))])
    assert len(text.splitlines()) == 3
    assert read(text) == {"a": [({"name": f"Gaudi 3 °{len(odd) * chr(0xFFFD)}\n"}, 1.0)]}


def test_a_label_has_a_longest_length() -> None:
    ((labels, _value),) = read(text_of([Family("a", "b", (Sample(1, {"name": "x" * 10_000}),))]))["a"]
    assert labels["name"] == "x" * 200


def test_numbers_are_read_as_they_were() -> None:
    values = [0, 1, 0.1, 1e-9, 1795675254.5224411, 1e18, math.inf, -math.inf]
    samples = tuple(Sample(value, {"number": str(place)}) for place, value in enumerate(values))
    found = read(text_of([Family("a", "b", (*samples, Sample(math.nan, {"number": "none"})))]))["a"]
    assert [value for _labels, value in found[:-1]] == values
    assert math.isnan(found[-1][1])


def test_families_are_in_order_and_without_those_that_are_empty() -> None:
    text = text_of(
        [Family("b", "second", (Sample(2),)), Family("c", "none", ()), Family("a_total", "1st", (Sample(1),), COUNTER)]
    )
    assert text == ("# HELP a_total 1st\n# TYPE a_total counter\na_total 1\n# HELP b second\n# TYPE b gauge\nb 2\n")
