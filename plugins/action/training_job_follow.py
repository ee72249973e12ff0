# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Show a job on the screen until it ends on all its nodes; end it everywhere when it fails on one."""

from __future__ import annotations

import time
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.gaudi3.scale.plugins.module_utils.errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils.job_metrics import duration, metric_line
from ansible_collections.gaudi3.scale.plugins.module_utils.job_plan import JobPaths, check_name
from ansible_collections.gaudi3.scale.plugins.module_utils.job_state import ACTIVE, RUNNING, SUCCEEDED
from ansible_collections.gaudi3.scale.plugins.module_utils.job_watch import job_state, verdict_sentence
from ansible_collections.gaudi3.scale.plugins.plugin_utils.node_action import NodeAction, UnreachableError

ARGUMENTS = {
    "name": {"type": "str", "required": True},
    "hosts": {"type": "list", "elements": "str", "required": True},
    "interval": {"type": "float", "default": 5.0},
    "timeout": {"type": "int"},
    "unreachable_timeout": {"type": "int", "default": 120},
    "settle_time": {"type": "int", "default": 10},
    "state_directory": {"type": "path", "default": "/var/lib/gaudi3_scale"},
    "log_directory": {"type": "path", "default": "/var/log/gaudi3_scale"},
}


class ActionModule(ActionBase):
    """See the documentation of the module ``gaudi3.scale.training_job_follow``."""

    TRANSFERS_FILES = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Follow the job; fails unless it succeeds on every node."""
        super().run(tmp, task_vars)
        options = self.validate_argument_spec(argument_spec=ARGUMENTS)[1]
        try:
            paths = JobPaths(check_name(options["name"]), options["state_directory"], options["log_directory"])
        except GaudiError as error:
            return {"failed": True, "msg": str(error)}
        unknown = [host for host in options["hosts"] if host not in task_vars["hostvars"]]
        if unknown or not options["hosts"]:
            return {"failed": True, "msg": f"hosts: {', '.join(unknown) or 'none given'}; name hosts of the inventory."}
        if self._task.check_mode:
            return {
                **_result(RUNNING, {}, {}),
                "followed": False,
                "msg": "Check mode: no job runs that could be followed.",
            }
        watch = Watch(paths, options, {host: NodeAction(self, host, task_vars) for host in options["hosts"]})
        return watch.follow()


class Watch:
    """One job on all its nodes. Rank 0's node is asked for everything, the others only whether they still run."""

    def __init__(self, paths: JobPaths, options: dict[str, Any], nodes: dict[str, NodeAction]) -> None:
        self._paths = paths
        self._options = options
        self._nodes = nodes
        self._first = next(iter(nodes))
        self._offset = 0
        self._infos: dict[str, dict[str, Any]] = {}
        self._states = dict.fromkeys(nodes, RUNNING)
        self._answered = dict.fromkeys(nodes, time.monotonic())

    def follow(self) -> dict[str, Any]:
        """Poll until the job is over, or until it may not be waited for any longer."""
        name, count = self._paths.name, len(self._nodes)
        _show(f"Following job {name} on {count} node(s). It goes on if this play is interrupted.")
        end = None if self._options["timeout"] is None else time.monotonic() + self._options["timeout"]
        while True:
            self._poll()
            state = job_state(self._states)
            if state == SUCCEEDED:
                return {**_result(state, self._states, self._infos[self._first]), "followed": True}
            lost = [host for host in self._nodes if self._silence(host) > self._options["unreachable_timeout"]]
            if state != RUNNING or lost:
                return self._give_up(lost)
            if end is not None and time.monotonic() >= end:
                waited = duration(self._options["timeout"])
                return self._failed(f"Job {name} still runs after {waited}. It goes on; launch it again to follow it.")
            time.sleep(self._options["interval"])

    def _poll(self) -> None:
        for host in self._nodes:
            if self._states[host] != RUNNING:
                continue
            try:
                self._ask(host)
                self._answered[host] = time.monotonic()
            except UnreachableError as reason:
                _show(f"{host} does not answer for {duration(self._silence(host))}: {reason}")

    def _ask(self, host: str) -> None:
        if host != self._first and self._is_active(host):
            return
        self._inform(host)
        if host == self._first:
            self._print_metrics(self._infos[host])

    def _is_active(self, host: str) -> bool:
        shown = self._nodes[host].command(
            f"systemctl show --property ActiveState {self._paths.unit}", as_become_user=False
        )
        return shown.strip().rpartition("=")[2] in ACTIVE

    def _inform(self, host: str) -> None:
        places = {key: self._options[key] for key in ("state_directory", "log_directory")}
        arguments = {"name": self._paths.name, **places}
        if host == self._first:
            arguments["metrics_after"] = self._offset
        info = self._nodes[host].module("gaudi3.scale.training_job_info", arguments)
        if info.get("failed"):
            raise UnreachableError(str(info.get("msg")))
        self._infos[host] = info
        self._states[host] = info["state"]

    def _print_metrics(self, info: dict[str, Any]) -> None:
        for metric in info["metrics"]:
            _show(metric_line(metric))
        self._offset = info["metrics_offset"]

    def _silence(self, host: str) -> float:
        return time.monotonic() - self._answered[host]

    def _give_up(self, lost: list[str]) -> dict[str, Any]:
        """End the job on all nodes and say why it failed.

        The other nodes get a moment to fail by themselves, since only then they tell which of their ranks did and why.
        torchrun would leave an agent in its exit barrier for 300 s (torch 2.13, elastic/agent/server/api.py).
        """
        _show(f"Job {self._paths.name} does not run on all its nodes any more; ending it on the others.")
        deadline = time.monotonic() + self._options["settle_time"]
        while time.monotonic() < deadline and RUNNING in [
            self._states[host] for host in self._nodes if host not in lost
        ]:
            time.sleep(min(1.0, self._options["interval"]))
            self._poll()
        remaining = [host for host, state in self._states.items() if state == RUNNING]
        for host in remaining:
            self._attempt(
                host, lambda node: node.command(f"systemctl stop --no-block {self._paths.unit}", as_become_user=True)
            )
        for host in remaining:
            self._attempt(host, self._stop)
            self._attempt(host, lambda _node, host=host: self._inform(host))
        if lost:
            silence = duration(self._options["unreachable_timeout"])
            return self._failed(
                f"{', '.join(lost)} did not answer for {silence}; job {self._paths.name} was ended on the other nodes. "
                "Look at the node, and make sure that the job has ended there too before you launch it again."
            )
        failures = {host: info["failure"] for host, info in self._infos.items() if info["failure"]}
        return self._failed(verdict_sentence(self._paths.name, self._states, failures))

    def _stop(self, node: NodeAction) -> None:
        result = node.module("gaudi3.scale.training_job", {"name": self._paths.name, "state": "stopped"})
        if result.get("failed"):
            _show(str(result.get("msg")))

    def _attempt(self, host: str, work: Any) -> None:
        try:
            work(self._nodes[host])
        except UnreachableError as reason:
            _show(f"{host} could not be told to end the job: {reason}")

    def _failed(self, message: str) -> dict[str, Any]:
        result = _result(job_state(self._states), self._states, self._infos.get(self._first, {}))
        return {**result, "followed": True, "failed": True, "msg": message}


def _result(state: str, states: dict[str, str], info: dict[str, Any]) -> dict[str, Any]:
    kept = ("last_metrics", "first_loss", "last_loss", "started", "ended", "log_directory", "job_directory")
    return {"changed": False, "state": state, "nodes": states, **{key: info.get(key) for key in kept}}


def _show(line: str) -> None:
    Display().display(f"  {line}")
