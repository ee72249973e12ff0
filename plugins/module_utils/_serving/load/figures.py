# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What the samples of a run come to; pure. Each figure is defined as ``vllm bench serve`` defines it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from .client import Sample

PERCENTILES = (50, 95, 99)
# Of different errors, the most frequent ones.
MOST_ERRORS = 5


def figures(samples: Sequence[Sample], left_out: int = 0) -> dict[str, Any]:
    """Rates over all ``samples``; latencies, in milliseconds, without the first ``left_out``, which begin together."""
    answered = [sample for sample in samples if not sample.error]
    seconds = max(sample.ended for sample in samples) - min(sample.begun for sample in samples)
    steady = [sample for sample in samples[left_out:] if not sample.error]
    slow = [sample for sample in steady if sample.output_tokens > 1]
    errors = Counter(sample.error for sample in samples if sample.error)
    return {
        "requests": len(samples),
        "failed": len(samples) - len(answered),
        "errors": dict(errors.most_common(MOST_ERRORS)),
        "seconds": seconds,
        "requests_per_s": len(answered) / seconds,
        "input_tokens_per_s": sum(sample.input_tokens for sample in answered) / seconds,
        "output_tokens_per_s": sum(sample.output_tokens for sample in answered) / seconds,
        "first_token_ms": spread([sample.first_token for sample in steady]),
        "between_tokens_ms": spread([gap for sample in steady for gap in sample.gaps]),
        "per_token_ms": spread([(one.last - one.first) / (one.output_tokens - 1) for one in slow]),
        "request_ms": spread([sample.last - sample.begun for sample in steady]),
    }


def spread(seconds: Sequence[float]) -> dict[str, float]:
    """Mean and percentiles, in milliseconds; nothing where there are none."""
    if not seconds:
        return {}
    ordered = sorted(seconds)
    found = {f"p{percent}": percentile(ordered, percent) * 1e3 for percent in PERCENTILES}
    return {"mean": math.fsum(ordered) / len(ordered) * 1e3, **found}


def percentile(ordered: Sequence[float], percent: float) -> float:
    """Between two values, in proportion, as numpy has it."""
    place = (len(ordered) - 1) * percent / 100
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
