# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""How a supervised job stands as a whole, from what a node's supervisor leaves in its status file."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any, Mapping

from .._job.paths import JobPaths
from .._job.reported_failure import failure_from
from .._node.json_file import read_json
from .worker_group import FAILED, STOPPED, SUCCEEDED

# A supervisor's word for its job while it has no ranks to run, as before the first start.
WAITING = "waiting"
# The file is the account's, which may write any text, and how a job ended becomes a series of metrics.
_OUTCOMES = (SUCCEEDED, FAILED, STOPPED)
_TEXTS = ("state", "leader", "outcome", "reason")
_COUNTS = ("generation", "node_rank", "restarts", "step")
_NAMES = ("members", "alive")


@dataclass(frozen=True)
class Status:
    """``members`` are the nodes of generation ``generation`` in the order of their ranks, ``leader`` the first of them.

    ``outcome`` "": the job is not over. ``failure`` is that of the rank that failed first, with its ``host``. ``time``
    0: no supervisor has told anything.
    """

    time: float = 0.0
    state: str = ""
    generation: int = 0
    members: tuple[str, ...] = ()
    node_rank: int | None = None
    leader: str = ""
    restarts: int = 0
    alive: tuple[str, ...] = ()
    step: int | None = None
    outcome: str = ""
    reason: str = ""
    failure: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, object]:
        """As plain values; empty where no supervisor has told anything."""
        if not self.time:
            return {}
        return {**asdict(self), "members": list(self.members), "alive": list(self.alive)}


def read_status(paths: JobPaths) -> Status:
    """What this node's supervisor wrote last."""
    return status_from(read_json(paths.status) or {})


def status_from(data: Mapping[str, Any]) -> Status:
    """The status from plain values of whoever; what is null, or of another kind than is meant, is not known."""
    known: dict[str, Any] = {name: data[name] for name in _TEXTS if isinstance(data.get(name), str)}
    if known.get("outcome") not in _OUTCOMES:
        known["outcome"] = ""
    known.update({name: data[name] for name in _COUNTS if _is_count(data.get(name))})
    known.update({name: tuple(filter(_is_text, data[name])) for name in _NAMES if isinstance(data.get(name), list)})
    reported = data.get("time")
    time = float(reported) if isinstance(reported, (int, float)) and math.isfinite(reported) else 0.0
    return Status(**known, time=time, failure=failure_from(data.get("failure")))


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
