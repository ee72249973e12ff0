# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Measured storage as a report: each node's rates, all of them together, and whether that feeds a training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import quantity, rounded
from ansible_collections.gaudi3.scale.plugins.module_utils._storage.fio import RANDOM_READ, READ, WRITE
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Kind, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.junit import FAILED, PASSED, UNKNOWN, Case

MEASURED = "gaudi_storage_measure_result"
OK, UNMEASURED = "ok", "inconclusive"
COLUMNS = ("node", "file system", "write (MB/s)", "read (MB/s)", "random read (MB/s)", "IOPS", "p99 (ms)", "verdict")
LEGEND = (
    "all nodes at the same time, with more data than each node's memory; reads may come from a server's cache",
    "MB are 10^6 bytes; p99 is the 99th percentile of the time of a random read",
)


def measure_storage_kind(asked: Asked) -> Made:
    """What one task has measured on all hosts. A refusal where a need is not met."""
    found: Mapping[str, Any] = next(iter(asked.results(MEASURED).values()), {})
    if not found.get("rates"):
        said = asked.why_no_result(found, "Nothing was measured.")
        refusal = "" if asked.check_mode else said
        return Made({"title": "Storage", "columns": ["node"], "rows": []}, {"ok": False}, refusal=refusal, cases=[])
    rates, failed = found["rates"], found["failed_nodes"]
    together = {phase: sum(one["bytes_per_s"] for one in rates.get(phase, {}).values()) for phase in _PHASES}
    rows = [_row(host, rates, host in failed) for host in asked.hosts]
    reasons = {host: f"could not be measured: {why}" for host, why in failed.items()}
    return Made(
        {
            "title": f"Storage, measured by {len(asked.hosts)} node{'s' if len(asked.hosts) != 1 else ''} together",
            "columns": COLUMNS,
            "rows": [*rows, _together(together)],
            "notes": [*found["missed"], *found["says"], *(f"{host} {why}" for host, why in reasons.items()), *LEGEND],
            "data": {name: found[name] for name in ("rates", "failed_nodes", "needs", "figures", "says", "missed")},
        },
        {
            "nodes": {host: UNMEASURED if host in failed else OK for host in asked.hosts},
            "ok": not failed and not found["missed"],
            "numbers": {f"{phase}_bytes_per_s": round(rate) for phase, rate in together.items()},
        },
        refusal=" ".join(found["missed"]),
        reasons=reasons,
        cases=[
            *(Case(host, "rates", UNKNOWN if host in failed else PASSED, failed.get(host, "")) for host in asked.hosts),
            *(Case("storage", said.partition(":")[0].lower(), FAILED, said) for said in found["missed"]),
        ],
    )


_PHASES = (WRITE, READ, RANDOM_READ)


def _row(host: str, rates: Mapping[str, Mapping[str, Any]], is_unmeasured: bool) -> dict[str, Any]:
    if is_unmeasured:
        return {"node": host, "verdict": UNMEASURED}
    written, read, random = (rates[phase][host] for phase in _PHASES)
    return {
        "node": host,
        "file system": written["file_system"],
        "write (MB/s)": _megabytes(written["bytes_per_s"]),
        "read (MB/s)": _megabytes(read["bytes_per_s"]),
        "random read (MB/s)": _megabytes(random["bytes_per_s"]),
        "IOPS": quantity(random["iops"]),
        "p99 (ms)": rounded(random["p99_s"] * 1e3),
        "verdict": OK,
    }


def _together(rates: Mapping[str, float]) -> dict[str, Any]:
    return {
        "node": "together",
        "write (MB/s)": _megabytes(rates[WRITE]),
        "read (MB/s)": _megabytes(rates[READ]),
        "random read (MB/s)": _megabytes(rates[RANDOM_READ]),
    }


def _megabytes(rate: float) -> str:
    return quantity(rate / 1e6)


KIND = Kind((MEASURED,), measure_storage_kind)
