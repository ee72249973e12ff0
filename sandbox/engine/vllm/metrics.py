# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""/metrics: the names that a real server of the V1 engine exports, in the Prometheus text format."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import defaultdict

SECONDS = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0)
HISTOGRAMS = (
    "time_to_first_token_seconds",
    "inter_token_latency_seconds",
    "request_time_per_output_token_seconds",
    "e2e_request_latency_seconds",
    "request_queue_time_seconds",
    "request_inference_time_seconds",
    "request_prefill_time_seconds",
    "request_decode_time_seconds",
)
COUNTERS = ("prompt_tokens", "generation_tokens", "num_preemptions", "prefix_cache_queries", "prefix_cache_hits")
REASONS = ("stop", "length", "abort", "error")


class Metrics:
    """Of one engine; every method may be called by any thread."""

    def __init__(self, model: str) -> None:
        self._labels = f'engine="0",model_name="{model}"'
        self._lock = threading.Lock()
        self._counters: dict[str, float] = defaultdict(float)
        self._finished: dict[str, int] = dict.fromkeys(REASONS, 0)
        self._counts = {name: [0] * (len(SECONDS) + 1) for name in HISTOGRAMS}
        self._sums: dict[str, float] = defaultdict(float)

    def add(self, counter: str, amount: float = 1) -> None:
        with self._lock:
            self._counters[counter] += amount

    def observe(self, histogram: str, seconds: float) -> None:
        with self._lock:
            self._counts[histogram][bisect_left(SECONDS, seconds)] += 1
            self._sums[histogram] += seconds

    def finished(self, reason: str) -> None:
        with self._lock:
            self._finished[reason] += 1

    def text(self, running: int, waiting: int, cache_share: float) -> str:
        """All of it."""
        with self._lock:
            lines = []
            gauges: dict[str, float] = {"num_requests_running": running, "num_requests_waiting": waiting}
            gauges |= {"kv_cache_usage_perc": cache_share, "engine_sleep_state": 0}
            for gauge, value in gauges.items():
                lines += [f"# TYPE vllm:{gauge} gauge", f"vllm:{gauge}{{{self._labels}}} {value}"]
            for name in COUNTERS:
                lines.append(f"# TYPE vllm:{name} counter")
                lines.append(f"vllm:{name}_total{{{self._labels}}} {self._counters[name]}")
            lines.append("# TYPE vllm:request_success counter")
            for reason, count in self._finished.items():
                lines.append(f'vllm:request_success_total{{{self._labels},finished_reason="{reason}"}} {count}')
            for name in HISTOGRAMS:
                lines += self._histogram(name)
        return "\n".join(lines) + "\n"

    def _histogram(self, name: str) -> list[str]:
        lines, so_far = [f"# TYPE vllm:{name} histogram"], 0
        for bound, count in zip((*map(str, SECONDS), "+Inf"), self._counts[name]):
            so_far += count
            lines.append(f'vllm:{name}_bucket{{{self._labels},le="{bound}"}} {so_far}')
        lines.append(f"vllm:{name}_count{{{self._labels}}} {so_far}")
        lines.append(f"vllm:{name}_sum{{{self._labels}}} {self._sums[name]}")
        return lines
