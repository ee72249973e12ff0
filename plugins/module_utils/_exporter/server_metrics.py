# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a vLLM says of itself at /metrics: the values that are known here, by vLLM's names of today (0.32); pure.

An engine is a program that answers over a network, so what it says is data: of it numbers are taken, by names of ours.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

# More than an engine says of itself, with all its histograms.
MOST_BYTES = 1 << 21
_LINE = re.compile(r"vllm:([a-z0-9_]+)(?:\{(.*)\})? ([0-9.eE+-]+|NaN|\+Inf)")
_LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"')
# Several engines of one server, as with data parallelism, are one: counts add up, and the fullest cache counts.
SUMS = (
    "num_requests_running",
    "num_requests_waiting",
    "prompt_tokens_total",
    "generation_tokens_total",
    "num_preemptions_total",
)
CACHE = "kv_cache_usage_perc"
FINISHED = "request_success_total"
REASONS = ("stop", "length", "abort", "error", "repetition")
HISTOGRAMS = ("time_to_first_token_seconds", "inter_token_latency_seconds", "e2e_request_latency_seconds")
# Buckets of a histogram; vLLM has some twenty.
MOST_BUCKETS = 40


@dataclass(frozen=True)
class ServerMetrics:
    """``values`` by vLLM's names without its prefix. ``finished``: requests by reason. ``histograms``: for each, the
    counts below a bound, which is the text of a number; their sum is among the values as NAME_sum."""

    values: Mapping[str, float] = field(default_factory=dict)
    finished: Mapping[str, float] = field(default_factory=dict)
    histograms: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def parse_metrics(text: str) -> ServerMetrics:
    """What is not known is left out, whatever it is."""
    values: dict[str, float] = {}
    finished: dict[str, float] = {}
    histograms: dict[str, dict[str, float]] = {}
    for name, labels, value in _samples(text):
        base, _joint, part = name.rpartition("_")
        if name in SUMS or (base in HISTOGRAMS and part == "sum"):
            values[name] = values.get(name, 0.0) + value
        elif name == CACHE:
            values[name] = max(values.get(name, 0.0), value)
        elif name == FINISHED and labels.get("finished_reason") in REASONS:
            reason = labels["finished_reason"]
            finished[reason] = finished.get(reason, 0.0) + value
        elif base in HISTOGRAMS and part == "bucket":
            buckets = histograms.setdefault(base, {})
            bound = _bound(labels.get("le", ""))
            if bound and (bound in buckets or len(buckets) < MOST_BUCKETS):
                buckets[bound] = buckets.get(bound, 0.0) + value
    return ServerMetrics(values, finished, histograms)


def _samples(text: str) -> Iterator[tuple[str, Mapping[str, str], float]]:
    for line in text.splitlines():
        found = _LINE.fullmatch(line.strip())
        if not found:
            continue
        try:
            value = float(found[3])
        except ValueError:
            continue
        if math.isfinite(value) and value >= 0:
            yield found[1], dict(_LABEL.findall(found[2] or "")), value


def _bound(text: str) -> str:
    """As Prometheus has it in its own text; "" for what is none."""
    try:
        bound = float(text)
    except ValueError:
        return ""
    return "" if math.isnan(bound) else "+Inf" if math.isinf(bound) else repr(bound)
