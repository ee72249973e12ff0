# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Figures of samples that are made up."""

from __future__ import annotations

import pytest

from plugins.module_utils._serving.load.client import Sample
from plugins.module_utils._serving.load.figures import figures, percentile, spread


def sample(begun: float, first: float, *gaps: float, error: str = "") -> Sample:
    last = begun + first + sum(gaps)
    return Sample(begun, begun + first, last, last, list(gaps), 10, 1 + len(gaps), error)


def test_figures_are_those_of_vllm_bench_serve() -> None:
    found = figures([sample(0, 0.1, 0.02, 0.04), sample(1, 0.3, 0.05, 0.05), sample(1, 0.5, error="cut")])
    assert (found["requests"], found["failed"], found["errors"]) == (3, 1, {"cut": 1})
    assert found["seconds"] == pytest.approx(1.5)
    assert found["requests_per_s"] == pytest.approx(2 / 1.5)
    assert found["output_tokens_per_s"] == pytest.approx(6 / 1.5)
    assert found["first_token_ms"]["mean"] == pytest.approx(200)
    assert found["between_tokens_ms"]["p50"] == pytest.approx(45)
    assert found["per_token_ms"]["mean"] == pytest.approx(40)
    assert found["request_ms"]["mean"] == pytest.approx(280)


def test_percentiles_lie_between_values_as_numpy_has_them() -> None:
    numpy = pytest.importorskip("numpy")
    values = sorted([5.0, 1.0, 9.0, 2.5, 7.0, 7.0])
    for percent in (0, 1, 50, 90, 95, 99, 100):
        assert percentile(values, percent) == pytest.approx(float(numpy.percentile(values, percent)))


def test_nothing_answered_has_no_latency() -> None:
    found = figures([sample(0, 1, error="cut")])
    assert (found["first_token_ms"], found["requests_per_s"]) == ({}, 0)
    assert spread([]) == {}
