# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How a supervised job stands as a whole, from what a node's supervisor leaves in its status file."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any, Mapping

from ..job.paths import JobPaths
from ..node.json_file import read_json

# A supervisor's word for its job while it has no ranks to run, as before the first start.
WAITING = "waiting"


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
    """The status from plain values; a null is what it is where nothing is known."""
    known = {one.name: data[one.name] for one in fields(Status) if data.get(one.name) is not None}
    return Status(**{**known, **{name: tuple(known.get(name, ())) for name in ("members", "alive")}})
