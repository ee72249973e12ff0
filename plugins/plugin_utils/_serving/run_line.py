# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""One run of a measurement in a line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import rounded


def run_line(run: Mapping[str, Any]) -> str:
    """As ``8 clients: 12.1 requests/s, …``."""
    clients = f"{run['concurrency']:,} client{'s' if run['concurrency'] != 1 else ''}"
    told = [
        f"{rounded(run['requests_per_s'])} requests/s",
        f"{rounded(run['output_tokens_per_s'])} tokens/s",
        f"first token {p95(run, 'first_token_ms')}",
        f"between tokens {p95(run, 'between_tokens_ms')}",
    ]
    if run["failed"]:
        told.append(f"{run['failed']:,} of {run['requests']:,} failed")
    if run["stopped_early"]:
        told.append("stopped, since the limit is missed")
    return f"{clients}: {', '.join(told)}"


def p95(run: Mapping[str, Any], name: str) -> str:
    """As ``p95 210 ms``."""
    value = milliseconds(run, name, "p95")
    return f"p95 {value} ms" if value else "unknown"


def milliseconds(run: Mapping[str, Any], name: str, percentile: str) -> str:
    """ "" where no request that counts was answered."""
    value = (run.get(name) or {}).get(percentile)
    return rounded(value) if isinstance(value, (int, float)) else ""
