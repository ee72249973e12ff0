# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""One node's line in the table at the end of a training job."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._follow.history import rate_of
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.metrics import RATES
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.status import status_from
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.sweep import arguments_of
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.watch import witness_of, worker_group_words
from ansible_collections.gaudi3.scale.plugins.module_utils._job.description import TORCHRUN

_WHOLE = 100


def training_row(
    host: Mapping[str, Any], first: Mapping[str, Any], left_out: Collection[str] = ()
) -> dict[str, object]:
    """The row of a node with the variables ``host``; ``first`` is what rank 0's node knows of the job.

    ``left_out`` are the nodes without which it was begun.
    """
    info = host.get("__gaudi_training_info") or {}
    described = info.get("description") or {}
    whole = first.get("description") or {}
    # Slurm and mpirun reach the other nodes by themselves; such a node knows of no worker
    # group, and stands as the job does.
    if not described and whole.get("engine", TORCHRUN) != TORCHRUN and _is_of(host, whole):
        info, described = {**info, "state": first.get("state")}, whole
    kept = described.get("checkpoint_directory") or info.get("job_directory")
    steps = [line for line in first.get("metrics") or [] if line.get("kind") == "step"]
    return {
        "node": host["inventory_hostname"],
        "state": "left out" if host["inventory_hostname"] in left_out else _worker_group(host, info, first),
        "ranks": None if witness_of(described) == host["inventory_hostname"] else described.get("processes_per_node"),
        "loss": _loss(steps),
        **_rate(steps),
        "checkpoints": kept and f"{kept}/{'point-*/' if arguments_of(described) else ''}checkpoints",
        "logs": info.get("log_directory"),
    }


def _is_of(host: Mapping[str, Any], description: Mapping[str, Any]) -> bool:
    hosts = description.get("hosts")
    return isinstance(hosts, list) and host["inventory_hostname"] in hosts


def _worker_group(host: Mapping[str, Any], info: Mapping[str, Any], first: Mapping[str, Any]) -> object:
    """A supervised job is told by rank 0's node, since a node that was lost does not know how it ended."""
    name = host["inventory_hostname"]
    status = status_from(first.get("supervision") or {})
    return worker_group_words([name], status, witness_of(first.get("description") or {})).get(name, info.get("state"))


def _loss(steps: list[Mapping[str, Any]]) -> str | None:
    """First and last loss with their steps; a job that resumed begins where it went on."""
    reported = [line for line in steps if isinstance(line.get("loss"), (int, float))]
    if not reported:
        return None
    first, last = reported[0], reported[-1]
    return f"{first['loss']:.3f} (step {first['step']}) to {last['loss']:.3f} (step {last['step']})"


def rate_column(steps: Iterable[Mapping[str, Any]]) -> str:
    """The heading of what the job counts a second: a job's lines have one unit from its beginning to its end."""
    return f"{next((unit for rate, unit in map(rate_of, steps) if rate), RATES[0])}/s"


def _rate(steps: list[Mapping[str, Any]]) -> dict[str, int | float | None]:
    """The median under its heading; what is counted by the hundred needs no fractions."""
    rates = [rate for rate, _unit in map(rate_of, steps) if rate]
    middle = statistics.median(rates) if rates else None
    return {rate_column(steps): middle if middle is None or middle < _WHOLE else round(middle)}
