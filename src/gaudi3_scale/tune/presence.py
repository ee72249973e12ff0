# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which nodes work on a study, and which went silent.

Optuna's own heartbeat is for a database that is reached directly and for ``study.optimize``; this one is a user
attribute of the study, so it works with every storage. The clocks of the nodes are not compared: who watches measures
for how long a node's beat stood still.
"""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Any, Callable, Mapping

import optuna

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.tune.storage import LOST

BEAT_S = 5.0
GRACE_S = 60.0
WORKING, DONE, GAVE_UP = "working", "done", "gave up"
PREFIX = "node:"
LONGEST_NAME = 200


class Presence:
    """Tells the study every few seconds that this node is there, also while a trial or a probe runs."""

    def __init__(self, study: optuna.Study, host: str) -> None:
        self._study = study
        self._host = host
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._tell(WORKING, "")
        self._thread.start()

    def __enter__(self) -> Presence:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Where an error or a signal ends the work, the others need not wait until this node counts as silent."""
        if error is not None and not self._over.is_set():
            with contextlib.suppress(*LOST):
                self.end(GAVE_UP, _reason(error))

    def end(self, state: str, why: str = "") -> None:
        self._over.set()
        self._thread.join()
        self._tell(state, why)

    def _beat(self) -> None:
        while not self._over.wait(BEAT_S):
            # What the worker itself does with the study tells whether its storage is lost.
            with contextlib.suppress(*LOST):
                self._tell(WORKING, "")

    def _tell(self, state: str, why: str) -> None:
        self._study.set_user_attr(f"{PREFIX}{self._host}", {"state": state, "why": why, "beat": time.time()})


class Watch:
    """What this process has seen of the other nodes' beats."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[str, tuple[object, float]] = {}

    def silent(self, nodes: Mapping[str, Mapping[str, object]]) -> set[str]:
        """The nodes that work, as far as they said, and whose beat stood still for longer than ``GRACE_S``."""
        now = self._clock()
        for host, node in nodes.items():
            if self._seen.get(host, (None, 0.0))[0] != node["beat"]:
                self._seen[host] = (node["beat"], now)
        return {host for host in working(nodes) if now - self._seen[host][1] > GRACE_S}


def _reason(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return "it was stopped"
    return str(error) if isinstance(error, GaudiError) else type(error).__name__


def nodes_of(study: optuna.Study) -> dict[str, dict[str, Any]]:
    """State, reason and beat of each node that ever worked on the study, by its name.

    Nodes write this themselves; what no node writes is passed over.
    """
    reported = {name.removeprefix(PREFIX): value for name, value in study.user_attrs.items() if name.startswith(PREFIX)}
    return {name: dict(value) for name, value in reported.items() if _is_name(name) and _is_presence(value)}


def _is_name(name: str) -> bool:
    return 0 < len(name) <= LONGEST_NAME and name.isprintable()


def _is_presence(value: object) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("beat"), (int, float)):
        return False
    return isinstance(value.get("state"), str) and isinstance(value.get("why"), str)


def working(nodes: Mapping[str, Mapping[str, object]]) -> set[str]:
    """Those that say that they still work."""
    return {host for host, node in nodes.items() if node["state"] == WORKING}
