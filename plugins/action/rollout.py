# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decide on a rollout of the driver or of the firmware, from what its nodes have registered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._firmware import node_outcome as firmware
from ansible_collections.gaudi3.scale.plugins.plugin_utils._firmware.rounds import play_of_rounds
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule
from ansible_collections.gaudi3.scale.plugins.plugin_utils._rollout.registered import states
from ansible_collections.gaudi3.scale.plugins.plugin_utils._upgrade import node_outcome as driver
from ansible_collections.gaudi3.scale.plugins.plugin_utils._upgrade.batch import sick, stops

ARGUMENTS: dict[str, dict[str, Any]] = {
    "of": {"type": "str", "required": True, "choices": ["driver", "firmware"]},
    "step": {"type": "str", "required": True, "choices": ["rounds", "outcome", "batch"]},
    "hosts": {"type": "list", "elements": "str"},
    "registered": {"type": "str"},
    "canary": {"type": "str", "default": ""},
    "max_fail_percentage": {"type": "raw", "default": ""},
    "event": {"type": "str", "choices": sorted({*driver.EVENTS, *firmware.EVENTS})},
    "release": {"type": "str", "default": ""},
    "answer": {"type": "dict", "default": {}},
    "before": {"type": "dict", "default": {}},
    "result": {"type": "dict", "default": {}},
    "at_release": {"type": "bool", "default": False},
    "failure": {"type": "dict", "default": {}},
    "so_far": {"type": "dict", "default": {}},
}
REQUIRED_IF = [
    ("step", "rounds", ["hosts", "registered"]),
    ("step", "outcome", ["event"]),
    ("step", "batch", ["hosts", "registered"]),
]


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.rollout``."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Look at what the nodes have registered, and decide; changes nothing."""
        super().run(tmp, task_vars)
        options = self.validate_argument_spec(argument_spec=ARGUMENTS, required_if=REQUIRED_IF)[1]
        try:
            return {"changed": False, **self._decided(options, task_vars)}
        except GaudiError as error:
            return {"failed": True, "msg": str(error)}

    def _decided(self, options: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        if options["step"] == "outcome":
            return _outcome(options, self._task.check_mode)
        hosts, hostvars = options["hosts"], task_vars["hostvars"]
        if options["step"] == "rounds" and options["of"] == "driver":
            raise GaudiError(
                "step is rounds, which is for firmware only; for the driver, set the batches with serial in the play."
            )
        if options["step"] == "rounds":
            shown = {host: hostvars[host].get(options["registered"]) or {} for host in hosts}
            return play_of_rounds(hosts, shown, hostvars, options["canary"])
        known = states(hosts, options["registered"], hostvars)
        if options["of"] == "firmware":
            return {"stop": firmware.stops(known, task_vars["ansible_play_batch"])}
        most = str(options["max_fail_percentage"]).strip()
        stop = stops(hosts, known, options["canary"], float(most) if most else None)
        return {"stop": stop, "sick": sick(hosts, known)}


def _outcome(options: Mapping[str, Any], check_mode: bool) -> dict[str, Any]:
    events = driver.EVENTS if options["of"] == "driver" else firmware.EVENTS
    if options["event"] not in events:
        raise GaudiError(f"event is {options['event']}, not one of {options['of']}; give {', '.join(events)}.")
    return driver.outcome(options, check_mode) if options["of"] == "driver" else firmware.outcome(options, check_mode)
