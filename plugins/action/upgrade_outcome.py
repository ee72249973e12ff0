# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What became of a node in an upgrade, and what follows from it."""

from __future__ import annotations

from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule
from ansible_collections.gaudi3.scale.plugins.plugin_utils._upgrade.node_outcome import (
    Way,
    arrived,
    failed,
    not_resumed,
    not_rolled_back,
    rolled_back,
)

ARGUMENTS: dict[str, dict[str, Any]] = {
    "event": {
        "type": "str",
        "required": True,
        "choices": ["arrived", "failed", "rolled_back", "not_rolled_back", "not_resumed"],
    },
    "release": {"type": "str", "default": ""},
    "answer": {"type": "dict", "default": {}},
    "before": {"type": "dict", "default": {}},
    "driver": {"type": "dict", "default": {}},
    "at_release": {"type": "bool", "default": False},
    "failure": {"type": "dict", "default": {}},
    "so_far": {"type": "dict", "default": {}},
}


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.upgrade_outcome``."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Decide; changes nothing."""
        super().run(tmp, task_vars)
        options = self.validate_argument_spec(argument_spec=ARGUMENTS)[1]
        return {"changed": False, **_outcome(options, self._task.check_mode)}


def _outcome(options: dict[str, Any], check_mode: bool) -> dict[str, Any]:
    event, so_far, failure = options["event"], options["so_far"], options["failure"]
    if event == "rolled_back":
        return _only_state(rolled_back(so_far))
    if event == "not_rolled_back":
        return _only_state(not_rolled_back(so_far, failure))
    if event == "not_resumed":
        return _only_state(not_resumed(so_far, failure))
    way = Way(**{name: options[name] for name in ("release", "answer", "before", "driver", "at_release", "failure")})
    return arrived(way) if event == "arrived" else failed(way, check_mode)


def _only_state(outcome: dict[str, Any]) -> dict[str, Any]:
    """Without what Ansible has added to the registered result."""
    return {name: outcome[name] for name in ("state", "release", "from", "to", "reason", "roll_back", "resume")}
