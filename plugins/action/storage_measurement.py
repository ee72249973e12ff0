# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure what a directory gives all nodes together, and whether that feeds a training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ansible.errors import AnsibleError
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._storage.sizes import bytes_of
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import literals
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_questions import ANSWER_SECONDS, questions
from ansible_collections.gaudi3.scale.plugins.plugin_utils._storage.job_rate import tokens_per_second
from ansible_collections.gaudi3.scale.plugins.plugin_utils._storage.needs import Needs, answer
from ansible_collections.gaudi3.scale.plugins.plugin_utils._storage.phases import Rates, Settings, measured
from ansible_collections.gaudi3.scale.plugins.plugin_utils._task_answer import failed, show

ARGUMENTS: dict[str, dict[str, Any]] = {
    "hosts": {"type": "list", "elements": "str", "required": True},
    "directory": {"type": "str", "required": True},
    "files": {"type": "int", "default": 8},
    "size": {"type": "str", "default": "1G"},
    "block": {"type": "str", "default": "1M"},
    "read_bytes": {"type": "str", "default": "128K"},
    "seconds": {"type": "int", "default": 15},
    "user": {"type": "str", "default": "gaudi"},
    "install": {"type": "bool", "default": True},
    "tokens_per_second": {"type": "float", "default": 0.0},
    "bytes_per_token": {"type": "float", "default": 4.0},
    "job": {"type": "str", "default": ""},
    "parameters": {"type": "float", "default": 0.0},
    "bytes_per_parameter": {"type": "float", "default": 12.0},
    "checkpoint_interval": {"type": "float", "default": 0.0},
}
# Processes of the controller, a node each. Beyond it not all nodes would measure at the same time.
MOST_AT_ONCE = 128
# A phase's end, and that of a unit that systemd had to end.
_LATE_S = 240


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.storage_measurement``."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Measure, and compare with what is needed."""
        super().run(tmp, task_vars)
        options = self.validate_argument_spec(argument_spec=ARGUMENTS)[1]
        try:
            settings = _settings(options)
            if self._task.check_mode:
                return {"changed": False, "rates": {}, "failed_nodes": {}, "figures": {}, "says": [], "missed": []}
            return self._measured(options, settings, task_vars)
        except AnsibleError:
            raise
        except Exception as error:
            return failed(error)

    def _measured(self, options: Mapping[str, Any], settings: Settings, task_vars: dict[str, Any]) -> dict[str, Any]:
        hosts = options["hosts"]
        timeout = settings.seconds + ANSWER_SECONDS + _LATE_S
        ask = questions(self, hosts, task_vars, timeout, at_once=MOST_AT_ONCE)
        needs = _needs(options, ask if options["job"] else None)
        found = measured(hosts, settings, ask, show)
        said = answer(found, needs)
        return {"changed": False, **literals(_result(found, asdict(needs), asdict(said)))}


def _settings(options: Mapping[str, Any]) -> Settings:
    sizes = {name: bytes_of(options[name], name) for name in ("size", "block", "read_bytes")}
    for name, value in {"files": options["files"], "seconds": options["seconds"], **sizes}.items():
        if value < 1:
            raise GaudiError(f"{name} is {value}; give a number above 0.")
    if len(options["hosts"]) > MOST_AT_ONCE:
        raise GaudiError(
            f"hosts has {len(options['hosts'])} nodes, but at most {MOST_AT_ONCE} are measured at the same time; "
            "give fewer."
        )
    names = ("directory", "files", "seconds", "user", "install")
    values: dict[str, Any] = {name: options[name] for name in names}
    return Settings(**{**values, **sizes})


def _needs(options: Mapping[str, Any], ask: Any) -> Needs:
    names = ("tokens_per_second", "bytes_per_token", "parameters", "bytes_per_parameter", "checkpoint_interval")
    wanted = {name: options[name] for name in names}
    for name, value in wanted.items():
        least = 0 if name in ("tokens_per_second", "parameters", "checkpoint_interval") else 1e-9
        if not least <= value < 1e18:
            raise GaudiError(f"{name} is {value:g}; give a number above 0, or leave it out.")
    if ask and not wanted["tokens_per_second"]:
        wanted["tokens_per_second"] = tokens_per_second(options["job"], options["hosts"], ask)
    return Needs(**wanted)


def _result(found: Rates, needs: dict[str, Any], said: dict[str, Any]) -> dict[str, Any]:
    return {
        "rates": {phase: dict(answers) for phase, answers in found.phases.items()},
        "failed_nodes": dict(found.failed),
        "needs": needs,
        "figures": said["figures"],
        "says": list(said["sentences"]),
        "missed": list(said["missed"]),
    }
