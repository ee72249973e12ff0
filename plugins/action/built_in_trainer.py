# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tell how the built-in trainer is started, and what the probe measures in its place."""

from __future__ import annotations

import shlex
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._launch.built_in_trainer import (
    MANIFEST,
    MANIFEST_BYTES,
    BuiltInTrainer,
    batch_refusal,
    bucket_refusal,
    command,
    probe_options,
    refusal,
    typed,
    vocabulary_in,
    without_manifest,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_action import NodeAction, UnreachableError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule

ARGUMENTS: dict[str, dict[str, Any]] = {
    "text": {"type": "list", "elements": "str", "default": []},
    "text_upload": {"type": "str", "default": ""},
    "data": {"type": "str", "default": ""},
    "max_steps": {"type": "int", "default": 200},
    "device": {"type": "str", "default": "hpu"},
    "precision": {"type": "str", "default": "", "choices": ["", "bf16", "fp32"]},
    "model": {"type": "dict", "default": {}},
    "batch_size": {"type": "int", "default": 0},
    "accumulation_steps": {"type": "int", "default": 1},
    "learning_rate": {"type": "float", "default": 0.0},
    "arguments": {"type": "list", "elements": "str", "default": []},
    "is_probed": {"type": "bool", "default": False},
    "processes": {"type": "int", "default": 1},
    "needs_data": {"type": "bool", "default": True},
    "user": {"type": "str", "default": "gaudi"},
    "hosts": {"type": "list", "elements": "str", "default": []},
}
OF_TRAINER = (
    *("text", "text_upload", "data", "max_steps", "device", "precision", "model"),
    *("batch_size", "accumulation_steps", "learning_rate", "arguments"),
)
# Seconds for a storage that hangs, and for the connection beside it.
READ_S, ANSWER_S = 60, 90


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.built_in_trainer``."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Put the words together; reads at most one file of one host, and changes nothing."""
        super().run(tmp, task_vars)
        options = typed(self.validate_argument_spec(argument_spec=ARGUMENTS)[1])
        trainer = BuiltInTrainer(**{name: options[name] for name in OF_TRAINER})
        said = refusal(trainer) if options["needs_data"] else ""
        said = said or (batch_refusal(trainer) if options["is_probed"] else "")
        if said:
            return {"failed": True, "msg": said}
        try:
            vocabulary = self._vocabulary(trainer.data, options, task_vars)
        except GaudiError as error:
            return {"failed": True, "msg": str(error)}
        return {
            "changed": False,
            "command": command(trainer),
            "model": trainer.whole_model,
            "precision": trainer.real_precision,
            "probe_options": probe_options(trainer, options["processes"], vocabulary),
        }

    def _vocabulary(self, data: str, options: dict[str, Any], task_vars: dict[str, Any]) -> int | None:
        """Of the tokens in ``data``, as the first host says: all have the same. Without hosts nobody is asked."""
        reached = [host for host in options["hosts"] if host in task_vars["ansible_play_hosts"]]
        if not data or not options["hosts"]:
            return None
        if said := bucket_refusal(data):
            raise GaudiError(said)
        if not reached:
            raise GaudiError(f"{data} could not be read on any of {', '.join(options['hosts'])}; see above for why.")
        user = options["user"]
        # As the account of the job: whose directory it is, root does not know.
        read = ["runuser", "-u", user, "--", "timeout", str(READ_S), "head", "-c", str(MANIFEST_BYTES)]
        line = shlex.join([*read, data + MANIFEST])
        try:
            text = NodeAction(self, reached[0], task_vars).command(line, ANSWER_S, as_become_user=True)
        except UnreachableError as error:
            raise GaudiError(f"{reached[0]} does not respond ({error}); check the node, and try again.") from error
        found = vocabulary_in(text)
        if found is None:
            raise without_manifest(data, user, reached[0])
        return found
