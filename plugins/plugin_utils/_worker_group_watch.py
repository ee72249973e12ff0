# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""Follows a job whose nodes do not supervise each other, and ends it on all of them when one says that it failed there.

A node that does not answer is a reason to wait: whether the job runs there is not known, and nothing is ended for it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._follow.metrics import (
    duration,
    metric_line,
    opening_lines,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.watch import job_state, verdict_sentence
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.worker_group import (
    OUT_OF_SIGHT,
    RUNNING,
    SUCCEEDED,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._node.systemd_units import ACTIVE
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_action import NodeAction, UnreachableError, job_info
from ansible_collections.gaudi3.scale.plugins.plugin_utils._silent_nodes import SilentNodes

# Seconds for a node's processes to end: the agent gives its ranks half a minute, and more is a rank in the kernel.
STOPPED_WITHIN_S = 120


class WorkerGroupWatch:
    """One job on all its nodes. Rank 0's node is asked for everything, the others only whether they still run.

    ``show`` writes a line for people. ``recent``: bytes before the end of the metrics at which the first look begins.

    ``others`` have ranks of the job but no worker group of their own: Slurm's business. Their logs are read after a
    failure, and those of the nodes that Slurm has chosen, which ``chosen`` finds in the inventory by Slurm's names
    for them.
    """

    def __init__(
        self,
        paths: JobPaths,
        options: dict[str, Any],
        nodes: dict[str, NodeAction],
        show: Callable[[str], None],
        recent: int,
        others: Mapping[str, NodeAction] = MappingProxyType({}),
        chosen: Callable[[str], tuple[str, NodeAction] | None] = lambda _node: None,
    ) -> None:
        self._paths = paths
        self._options = options
        self._nodes = nodes
        self._show = show
        self._recent = recent
        self._others = dict(others)
        self._chosen = chosen
        self._chosen_nodes: dict[str, None] = {}
        self._queued = ""
        self._may_wait = False
        self._first = next(iter(nodes))
        self._offset = recent
        self._infos: dict[str, dict[str, Any]] = {}
        self._states = dict.fromkeys(nodes, RUNNING)
        self._silent = SilentNodes(show)

    def follow(self) -> dict[str, Any]:
        """Poll until the job is over, or until it may not be waited for any longer."""
        name, patience = self._paths.name, self._options["timeout"]
        self._show(f"Following job {name} on {len(self._nodes)} node(s). It continues if this play is interrupted.")
        end = None if patience is None else time.monotonic() + patience
        while True:
            looked = time.monotonic()
            self._poll(self._running())
            state = job_state(self._states)
            if state == SUCCEEDED:
                return {**followed_result(state, self._states, self._infos[self._first]), "followed": True}
            if state != RUNNING:
                return self._give_up()
            if self._silent.all_of(self._running(), self._options["unreachable_timeout"]):
                unseen = followed_result(OUT_OF_SIGHT, self._states, self._infos.get(self._first, {}))
                return {**unseen, "followed": True, "msg": self._silent.lost_sight(name, self._running())}
            if end is not None and time.monotonic() >= end:
                return self._failed(
                    f"Job {name} still runs after {duration(patience)}. It continues; launch it again to follow it."
                )
            # Rank 0's node has waited for the end of its own worker group so long.
            time.sleep(max(0.0, self._options["interval"] - (time.monotonic() - looked)))

    def _running(self) -> list[str]:
        return [host for host, state in self._states.items() if state == RUNNING]

    def _poll(self, hosts: list[str]) -> None:
        # That one last, since it answers late.
        for host in sorted(hosts, key=lambda host: host == self._first):
            try:
                if host == self._first or not self._is_active(host):
                    self._inform(host)
                self._silent.heard(host)
            except UnreachableError as reason:
                self._silent.missed(host, reason)

    def _is_active(self, host: str) -> bool:
        question = f"systemctl show --property ActiveState {self._paths.unit}"
        answer = self._nodes[host].command(question, self._options["answer_timeout"], as_become_user=False)
        return answer.strip().rpartition("=")[2] in ACTIVE

    def _inform(self, host: str) -> None:
        """Ask a node for everything; the metrics that are new on rank 0's are shown."""
        places = {key: self._options[key] for key in ("state_directory", "log_directory")}
        offset = {"metrics_after": self._offset} if host == self._first else {}
        patience = math.ceil(self._options["interval"]) if host == self._first and self._may_wait else 0
        waiting = {"wait": True, "timeout": patience} if patience else {}
        arguments = {"name": self._paths.name, **places, **offset, **waiting}
        info = job_info(self._nodes[host], arguments, self._options["answer_timeout"] + patience)
        self._infos[host] = info
        self._states[host] = info["state"]
        # Slurm forgets a job, and its nodes, some minutes after its end.
        self._chosen_nodes.update(dict.fromkeys(info.get("nodes", ())))
        if host == self._first:
            first_look, self._offset = self._offset == self._recent, info["metrics_offset"]
            self._tell_queue(info)
            # A unit is looked at twice a second there. A scheduler is not to be asked so often: of its jobs it has a
            # word in "result".
            self._may_wait = info["state"] == RUNNING and not info.get("result")
            new = info["metrics"]
            for line in opening_lines(new, info.get("started"), time.time()) if first_look else map(metric_line, new):
                self._show(line)

    def _tell_queue(self, info: dict[str, Any]) -> None:
        """A scheduler's job can wait for hours, and go on after a while: say so, once for each state."""
        state = str(info.get("result") or "") if info["state"] == RUNNING else ""
        if state != self._queued and state:
            self._show(f"Slurm has the job as {state}.")
        self._queued = state

    def _failures_of_others(self) -> dict[str, dict[str, Any]]:
        """What the logs of the other nodes say of this run."""
        started = self._infos.get(self._first, {}).get("started") or 0.0
        self._find_chosen_nodes()
        found = {}
        for host, node in self._others.items():
            arguments = {
                "name": self._paths.name,
                "log_directory": self._options["log_directory"],
                "failure_in_logs": True,
                "log_lines": 0,
            }
            try:
                info = node.module("gaudi3.scale.training_job_info", arguments, self._options["answer_timeout"])
            except UnreachableError as reason:
                self._show(f"{host} did not return its logs: {reason}")
                continue
            failure = info.get("failure")
            # Logs of an earlier run may be there.
            if failure and failure["time"] >= started:
                found[host] = failure
        return found

    def _find_chosen_nodes(self) -> None:
        """Other nodes than those that the job was described with, such as one that took a lost one's place."""
        for node in self._chosen_nodes:
            known = self._chosen(node)
            if known is None:
                self._show(f"{node} had ranks of the job but is not in the inventory; its logs are only on that node.")
            elif known[0] not in self._nodes:
                self._others.setdefault(*known)

    def _give_up(self) -> dict[str, Any]:
        """End the job on all nodes that answer, and say why it failed."""
        name = self._paths.name
        self._show(f"Job {name} no longer runs on all its nodes; stopping it on the others.")
        self._may_wait = False
        self._settle()
        silent = self._silent.among(self._running())
        self._stop([host for host in self._running() if host not in silent])
        failures = {host: info["failure"] for host, info in self._infos.items() if info["failure"]}
        verdict = verdict_sentence(name, self._states, {**failures, **self._failures_of_others()})
        unasked = (
            f"\n{', '.join(silent)} did not respond: make sure that the job has ended there before you launch it again."
        )
        return self._failed(f"{verdict}{unasked if silent else ''}")

    def _settle(self) -> None:
        """Give the other nodes a moment to fail by themselves, since only then they tell which rank did, and why."""
        deadline = time.monotonic() + self._options["settle_time"]
        while time.monotonic() < deadline:
            running = self._running()
            silent = self._silent.among(running)
            waiting = [host for host in running if host not in silent]
            if not waiting:
                return
            time.sleep(min(1.0, self._options["interval"]))
            self._poll(waiting)

    def _stop(self, hosts: list[str]) -> None:
        """End what is left, telling all of them before waiting for the first.

        torchrun alone would keep an agent in its exit barrier for 300 s (torch 2.13, elastic/agent/server/api.py).
        """
        patience = self._options["answer_timeout"]
        for host in hosts:
            with self._tolerating(host):
                self._nodes[host].command(
                    f"systemctl stop --no-block {self._paths.unit}", patience, as_become_user=True
                )
        for host in hosts:
            with self._tolerating(host):
                arguments = {"name": self._paths.name, "state": "stopped"}
                result = self._nodes[host].module("gaudi3.scale.training_job", arguments, STOPPED_WITHIN_S)
                if result.get("failed"):
                    self._show(str(result.get("msg")))
                self._inform(host)

    @contextmanager
    def _tolerating(self, host: str) -> Iterator[None]:
        try:
            yield
        except UnreachableError as reason:
            self._show(f"{host} could not be asked to stop the job: {reason}")

    def _failed(self, message: str) -> dict[str, Any]:
        result = followed_result(job_state(self._states), self._states, self._infos.get(self._first, {}))
        return {**result, "followed": True, "failed": True, "msg": message}


def followed_result(state: str, states: dict[str, str], info: dict[str, Any]) -> dict[str, Any]:
    """What the task returns of a job in ``state``; ``info`` is what rank 0's node told last."""
    kept: tuple[str, ...] = ("last_metrics", "last_step", "first_loss", "last_loss", "started", "ended")
    kept += ("log_directory", "job_directory")
    return {"changed": False, "state": state, "nodes": states, **{key: info.get(key) for key in kept}}
