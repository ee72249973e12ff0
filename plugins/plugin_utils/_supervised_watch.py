# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""Follows a job whose nodes supervise each other: one node is asked, and another one when that is lost.

The supervisors end and restart the job by themselves. This only shows what they do, and may be interrupted.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._follow.metrics import duration, metric_line
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.status import Status, status_from
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.watch import (
    event_line,
    outcome_sentence,
    speaks_for_the_job,
    unknown_end_sentence,
    witness_of,
    worker_group_words,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.worker_group import (
    ABSENT,
    OUT_OF_SIGHT,
    RUNNING,
    SUCCEEDED,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_action import NodeAction, UnreachableError, job_info
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.usage_report import outside_line
from ansible_collections.gaudi3.scale.plugins.plugin_utils._silent_nodes import SilentNodes
from ansible_collections.gaudi3.scale.plugins.plugin_utils._worker_group_watch import followed_result

# Seconds between two rounds in which all nodes are asked for one that knows more; a cluster can be large.
ROUND_S = 15.0
# Seconds between two lines that show what can be seen of a job from outside, while it tells no step.
OUTSIDE_S = 30.0


class SupervisedWatch:
    """One job on ``nodes``: its hosts in their order, then its spares and its witness.

    ``recent``: bytes of metrics shown at first.
    """

    def __init__(
        self, name: str, options: dict[str, Any], nodes: dict[str, NodeAction], show: Callable[[str], None], recent: int
    ) -> None:
        self._name = name
        self._options = options
        self._nodes = nodes
        self._show = show
        self._recent = recent
        self._metrics: dict[str, int] = {}
        self._events: dict[str, int] = {}
        self._outside = time.monotonic()
        self._reported: set[tuple[Any, ...]] = set()
        self._leader = next(iter(nodes))
        self._round = float("-inf")
        self._silent = SilentNodes(show)
        self.info: dict[str, Any] = {}

    def follow(self) -> dict[str, Any]:
        """Show the job until it is over, or until it may not be waited for any longer."""
        patience = self._options["timeout"]
        self._show(
            f"Following job {self._name} on {len(self._nodes)} node(s). It continues if this play is interrupted."
        )
        end = None if patience is None else time.monotonic() + patience
        state = RUNNING
        while True:
            looked = time.monotonic()
            found = self._look()
            if found is not None:
                state = self._take(*found)
                if state != RUNNING and self._is_over():
                    return self._ended(state)
            unseen = self._silent.among(self._nodes)
            is_wanted = found is None or state != RUNNING
            if is_wanted and self._silent.all_of(unseen, self._options["unreachable_timeout"]):
                return {**self._result(OUT_OF_SIGHT), "msg": self._silent.lost_sight(self._name, unseen)}
            if end is not None and time.monotonic() >= end:
                return self._failed(
                    f"Job {self._name} still runs after {duration(patience)}. It continues; launch it again to "
                    "follow it."
                )
            # The node that leads has waited for an event so long. After one another may follow at once.
            if found is None or not found[1]["events"]:
                time.sleep(max(0.0, self._options["interval"] - (time.monotonic() - looked)))

    def _is_over(self) -> bool:
        """Whether the job has ended as far as can be known: a supervisor says how, or no node is left that could.

        One that was rebooted, or has no part in the job any more, says nothing of those that do not answer.
        """
        return bool(_status(self.info).outcome) or not self._silent.among(self._nodes)

    def _look(self) -> tuple[str, dict[str, Any]] | None:
        """The node that knows best how the job stands, and what it says; None where no node answers."""
        answers: dict[str, dict[str, Any]] = {}
        asked: list[str] = []
        while (host := self._next(asked, answers)) is not None:
            asked.append(host)
            # The first one that is asked led last.
            info = self._ask(host, is_waiting=host == self._leader and host in self._events)
            if info is None:
                continue
            answers[host] = info
            if speaks_for_the_job(host, _status(info), info["state"]):
                return host, info
        if len(asked) == len(self._nodes):
            self._round = time.monotonic()
        if not answers:
            return None
        # The others may be about to choose a leader: whoever took part last knows most.
        best = max(answers, key=lambda name: (answers[name]["state"] == RUNNING, _status(answers[name]).generation))
        return best, answers[best]

    def _next(self, asked: list[str], answers: dict[str, dict[str, Any]]) -> str | None:
        """Whom to ask now: the node that led last, the one that the others name, and from time to time all."""
        named = [_status(info).leader for info in answers.values()]
        known = [host for host in (self._leader, *named) if host in self._nodes and host not in asked]
        if known:
            return known[0]
        if answers and time.monotonic() - self._round < ROUND_S:
            return None
        return next((host for host in self._nodes if host not in asked), None)

    def _ask(self, host: str, *, is_waiting: bool) -> dict[str, Any] | None:
        """``is_waiting``: it answers at its next event, after the interval at the latest."""
        patience = math.ceil(self._options["interval"]) if is_waiting else 0
        waiting = {"wait": True, "wait_for_event": True, "timeout": patience} if is_waiting else {}
        arguments = {
            "name": self._name,
            "state_directory": self._options["state_directory"],
            "log_directory": self._options["log_directory"],
            "metrics_after": self._metrics.get(host, self._recent if not self._metrics else 0),
            "events_after": self._events.get(host, 0),
            "log_lines": 0,
            **waiting,
        }
        try:
            info = job_info(self._nodes[host], arguments, self._options["answer_timeout"] + patience)
        except UnreachableError as reason:
            self._silent.missed(host, reason)
            return None
        self._silent.heard(host)
        return info

    def _take(self, host: str, info: dict[str, Any]) -> str:
        """Show what is new in an answer; returns the state of the job."""
        for event in info["events"]:
            reported = (event.get("kind"), event.get("generation"), event.get("host"), event.get("text"))
            # Every node tells the same of the whole job; what one has told before is new when it tells it again.
            if host in self._events or reported not in self._reported:
                self._show(event_line(event, str(info["log_directory"])))
            self._reported.add(reported)
        self._events[host] = info["events_offset"]
        for metric in info["metrics"]:
            self._show(metric_line(metric))
        self._metrics[host] = info["metrics_offset"]
        self.info = info
        status = _status(info)
        self._look_from_outside(host, info, status)
        self._leader = status.leader if status.leader in self._nodes else host
        return RUNNING if info["state"] == RUNNING else status.outcome or str(info["state"])

    def _look_from_outside(self, host: str, info: dict[str, Any], status: Status) -> None:
        """Show now and then that a job which tells no steps is alive."""
        tells = info["metrics"] or info["last_step"] or status.step is not None
        if tells or time.monotonic() - self._outside < OUTSIDE_S:
            return
        self._outside = time.monotonic()
        line = outside_line(host, info) if info["state"] == RUNNING else None
        if line:
            self._show(line)

    def _ended(self, state: str) -> dict[str, Any]:
        status = _status(self.info)
        if state == SUCCEEDED:
            return self._result(state)
        if not status.outcome:
            return self._failed(unknown_end_sentence(self._name, self._leader, state == ABSENT))
        return self._failed(outcome_sentence(self._name, status))

    def _failed(self, message: str) -> dict[str, Any]:
        return {**self._result(str(self.info.get("state", RUNNING))), "failed": True, "msg": message}

    def _result(self, state: str) -> dict[str, Any]:
        witness = witness_of(self.info.get("description") or {})
        worker_groups = worker_group_words(tuple(self._nodes), _status(self.info), witness)
        supervision = self.info.get("supervision", {})
        return {**followed_result(state, worker_groups, self.info), "followed": True, "supervision": supervision}


def _status(info: dict[str, Any]) -> Status:
    return status_from(info.get("supervision") or {})
