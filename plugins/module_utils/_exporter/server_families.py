# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Metrics of the instances of a node that serve models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .exposition import COUNTER, GAUGE, Family, Sample
from .server_metrics import CACHE
from .server_readings import ServerReading

# What gaudi_serving_instances calls a name; "instance" is the node.
LABEL = "serving"
# vLLM's name without its prefix -> ours, its kind, and what it is.
VALUES: Mapping[str, tuple[str, str, str]] = {
    "num_requests_running": ("gaudi_server_requests_running", GAUGE, "Requests that are computed."),
    "num_requests_waiting": ("gaudi_server_requests_waiting", GAUGE, "Requests that wait for a place."),
    CACHE: ("gaudi_server_cache_ratio", GAUGE, "Fraction of the KV cache in use."),
    "prompt_tokens_total": ("gaudi_server_prompt_tokens_total", COUNTER, "Tokens of prompts."),
    "generation_tokens_total": ("gaudi_server_generated_tokens_total", COUNTER, "Generated tokens."),
    "num_preemptions_total": (
        "gaudi_server_preemptions_total",
        COUNTER,
        "Requests that were put back since the KV cache was full.",
    ),
}
# vLLM's name -> ours of its buckets and of its sum, and what is counted.
HISTOGRAMS: Mapping[str, tuple[str, str, str]] = {
    "time_to_first_token_seconds": (
        "gaudi_server_first_token_seconds_bucket",
        "gaudi_server_first_token_seconds_sum",
        "latencies to the first token",
    ),
    "inter_token_latency_seconds": (
        "gaudi_server_between_tokens_seconds_bucket",
        "gaudi_server_between_tokens_seconds_sum",
        "times between two tokens",
    ),
    "e2e_request_latency_seconds": (
        "gaudi_server_request_seconds_bucket",
        "gaudi_server_request_seconds_sum",
        "latencies of whole answers",
    ),
}


def server_families(servers: Sequence[ServerReading]) -> Iterable[Family]:
    """A value that an instance does not tell has no sample."""
    info = tuple(Sample(1, _about(one)) for one in servers)
    yield Family("gaudi_server_info", "1 for each instance that is set up on this node.", info)
    cards = ((one, str(module)) for one in servers for module in one.control.modules)
    yield Family(
        "gaudi_server_card",
        "1 for each card of an instance, by its module id.",
        tuple(Sample(1, {**_of(one), "card": module}) for one, module in cards),
    )
    running = tuple(Sample(one.started is not None, _of(one)) for one in servers)
    yield Family("gaudi_server_running", "1 while its unit runs.", running)
    failed = tuple(Sample(one.has_failed, _of(one)) for one in servers)
    yield Family("gaudi_server_failed", "1 if its unit has failed, and is not started again.", failed)
    answering = tuple(Sample(one.answers, _of(one)) for one in servers)
    yield Family("gaudi_server_answers", "1 while it answers that it is healthy.", answering)
    started = tuple(Sample(one.started, _of(one)) for one in servers if one.started is not None)
    yield Family("gaudi_server_started_timestamp_seconds", "When it was started.", started)
    differing = tuple(Sample(bool(one.differs), _of(one)) for one in servers if one.differs is not None)
    yield Family("gaudi_server_differs", "1 if its answers are not those of its model's record.", differing)
    for told, (name, kind, about) in VALUES.items():
        values = ((one, one.metrics.values.get(told)) for one in servers)
        yield Family(name, about, tuple(Sample(value, _of(one)) for one, value in values if value is not None), kind)
    finished = ((one, *pair) for one in servers for pair in one.metrics.finished.items())
    samples = tuple(Sample(count, {**_of(one), "reason": reason}) for one, reason, count in finished)
    yield Family("gaudi_server_requests_total", "Requests that ended, by reason.", samples, COUNTER)
    yield from _latencies(servers)


def _latencies(servers: Sequence[ServerReading]) -> Iterable[Family]:
    """The parts of vLLM's histograms, each as a counter, as which a Prometheus takes them."""
    for told, (bucket, total, about) in HISTOGRAMS.items():
        buckets = tuple(
            Sample(count, {**_of(one), "le": bound})
            for one in servers
            for bound, count in one.metrics.histograms.get(told, {}).items()
        )
        yield Family(bucket, f"Number of {about} up to a bound.", buckets, COUNTER)
        sums = ((one, one.metrics.values.get(f"{told}_sum")) for one in servers)
        samples = tuple(Sample(seconds, _of(one)) for one, seconds in sums if seconds is not None)
        yield Family(total, f"Sum of {about}.", samples, COUNTER)


def _of(one: ServerReading) -> dict[str, str]:
    return {LABEL: one.control.name}


def _about(one: ServerReading) -> dict[str, str]:
    return {
        **_of(one),
        "model": one.control.served_name,
        "version": one.control.version[:12],
        "engine": one.control.engine,
        "port": str(one.control.port),
    }
