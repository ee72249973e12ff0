# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the batch size that all nodes of a job can run, and keep the answer on the controller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible import constants as C  # noqa: N812 - as all of Ansible has it
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.gaudi3.scale.plugins.action.hpu_batch_probe import ActionModule as NodeProbe
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.choice import sharing
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._batch.answer_file import checked, written
from ansible_collections.gaudi3.scale.plugins.plugin_utils._batch.probe_report import probe_report
from ansible_collections.gaudi3.scale.plugins.plugin_utils._batch.rounds import probe_all
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_action import NodeAction, UnreachableError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import literals
from ansible_collections.gaudi3.scale.plugins.plugin_utils._on_nodes import differences, given, on_nodes

ANSWER: dict[str, dict[str, Any]] = {
    "batch_size": {"type": "int"},
    "accumulation_steps": {"type": "int"},
    "learning_rate": {"type": "float"},
}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "step": {"type": "str", "choices": ["probe", "check_file", "write_file"], "default": "probe"},
    "hosts": {"type": "list", "elements": "str"},
    "options": {"type": "dict", "default": {}},
    "global_batch": {"type": "int", "default": 0},
    "world_size": {"type": "int", "default": 1},
    "learning_rate": {"type": "float", "default": 0.0},
    "learning_rate_batch": {"type": "int", "default": 0},
    "scaling": {"type": "str", "choices": ["linear", "sqrt", "none"], "default": "linear"},
    "path": {"type": "str"},
    "heading": {"type": "str", "default": ""},
    "found": {"type": "dict", "options": ANSWER},
}
REQUIRED_IF = [
    ("step", "probe", ["hosts"]),
    ("step", "check_file", ["path"]),
    ("step", "write_file", ["path", "found"]),
]
# Of what a node is asked for the first time, since its own answer says what they come to.
OF_GLOBAL_BATCH = ("global_batch", "world_size", "learning_rate", "learning_rate_batch", "scaling")
# The default of the module's own lock_timeout.
LOCK_S = 900
# Seconds for the connection, and for what is done beside a trial and the wait for the end of another one.
BESIDE_S = 600


class ActionModule(NodeProbe):
    """See the documentation of the module ``gaudi3.scale.hpu_batch_probe_nodes``."""

    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Probe, or keep what was found."""
        ActionBase.run(self, tmp, task_vars)
        options = self.validate_argument_spec(argument_spec=ARGUMENTS, required_if=REQUIRED_IF)[1]
        try:
            if options["step"] == "check_file":
                return {"changed": False, "path": checked(options["path"])[0]}
            if options["step"] == "write_file":
                answer = {name: options["found"][name] for name in ANSWER}
                # Without a global batch there is one micro batch, which a launch takes by itself.
                answer["accumulation_steps"] = answer["accumulation_steps"] if options["global_batch"] else None
                return written(options["path"], options["heading"], answer, check_mode=bool(self._task.check_mode))
            return self._probed(options, task_vars)
        except GaudiError as error:
            return {"failed": True, "msg": str(error)}

    def _probed(self, options: Mapping[str, Any], task_vars: Any) -> dict[str, Any]:
        """In rounds; a node that fails is in ``failures`` and fails nothing else."""
        unknown = [host for host in options["hosts"] if host not in task_vars["hostvars"]]
        if unknown:
            return {"failed": True, "msg": f"hosts: {', '.join(unknown)}; name hosts of the inventory."}
        wish = {name: options[name] or None for name in OF_GLOBAL_BATCH} if options["global_batch"] else {}
        check_mode = bool(self._task.check_mode)
        results = probe_all(options["hosts"], self._probe(options, wish, task_vars), _show, check_mode=check_mode)
        multiple = int(options["options"].get("multiple_of") or 1)
        found = probe_report(results, sharing(**{"global_batch": None, **wish}, multiple_of=multiple), check_mode)
        reported = {name: found[name] for name in ("batch_size", "global_batch", "failures", "notes")}
        size = {"batch_size": found["batch_size"], "accumulation_steps": 1, "learning_rate": None}
        made = found["global_batch"] or size
        reported["found"] = {name: made[name] for name in size}
        changed = any(bool(result.get("changed")) for result in results.values())
        return {"changed": changed, "diff": differences(results), **literals({**reported, "results": results})}

    def _probe(self, options: Mapping[str, Any], wish: Mapping[str, Any], task_vars: Any) -> Any:
        """Asks nodes at the same time; see ``Probe``."""
        nodes = {host: NodeAction(self, host, task_vars) for host in options["hosts"]}
        forks = int(task_vars.get("ansible_forks") or C.DEFAULT_FORKS)
        patience = int(options["options"].get("timeout") or 900) + LOCK_S + BESIDE_S

        def probe(hosts: Sequence[str], size: int | None, looks: bool) -> Mapping[str, Mapping[str, Any]]:
            more: dict[str, Any] = given(wish) if looks else {"verify": size} if size else {}
            arguments = {**given(options["options"]), **more}

            def work(host: str) -> dict[str, Any]:
                # In a process of this node's own: in check mode the module makes no trial, and says what is known.
                self._task.check_mode = looks or self._task.check_mode

                def execute(asked: dict[str, Any]) -> dict[str, Any]:
                    return nodes[host].module(self.MODULE, asked, patience)

                try:
                    answer = self.steps_of(host, arguments, execute, check_mode=bool(self._task.check_mode))
                except UnreachableError as reason:
                    return {"unreachable": True, "msg": str(reason)}
                return {**answer, "changed": False, "diff": []} if looks else answer

            return on_nodes(work, hosts, forks)

        return probe


def _show(line: str) -> None:
    Display().display(f"  {line}")
