# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Install a program's own requirements on all of its nodes, from a file of the controller."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._venv.program import lines_of
from ansible_collections.gaudi3.scale.plugins.plugin_utils._launch.program_packages import (
    environment_of,
    requirements_text,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import literals
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_questions import questions
from ansible_collections.gaudi3.scale.plugins.plugin_utils._on_nodes import differences
from ansible_collections.gaudi3.scale.plugins.plugin_utils._role_check import in_words_of, specified_here
from ansible_collections.gaudi3.scale.plugins.plugin_utils._task_answer import failed, show

MODULE = "gaudi3.scale.program_packages"
ARGUMENTS: dict[str, dict[str, Any]] = {
    "hosts": {"type": "list", "elements": "str", "required": True},
    "file": {"type": "path", "required": True},
    "venv": {"type": "path", "default": "/opt/gaudi3_scale/venv"},
    "user": {"type": "str", "default": "gaudi"},
    "timeout": {"type": "int", "default": 3600},
}
# Seconds for the connection and a look at what is there, beside two runs of pip and a wait for another one.
BESIDE_S = 300


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.program_packages``."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Refuse the file on the controller, then have each node install it; fails where one cannot."""
        super().run(tmp, task_vars)
        options = self.validate_argument_spec(argument_spec=ARGUMENTS)[1]
        roles = specified_here(self)
        try:
            # Relative to where ansible-playbook was started, as the operator means it, not to the playbook's folder.
            here = Path(options["file"])
            text = requirements_text(here if here.is_file() else Path(self._find_needle("files", options["file"])))
            lines = lines_of(text)
            given = {"text": text, **{name: options[name] for name in ("venv", "user", "timeout")}}
            show(f"Looking for {len(lines)} requirement(s) of {options['file']} on {len(options['hosts'])} node(s).")
            ask = questions(self, options["hosts"], task_vars, 3 * options["timeout"] + BESIDE_S)
            answers = ask(MODULE, dict.fromkeys(options["hosts"], given))
            venv = environment_of(answers, options["user"])
        except AnsibleError:
            missing = f"{_option(roles)} {options['file']} is not on the controller; give its absolute path."
            return {"failed": True, "msg": missing}
        except GaudiError as error:
            return {"failed": True, "msg": in_words_of(roles, str(error))}
        except Exception as error:
            return failed(error)
        changed = any(bool(answer.get("changed")) for answer in answers.values())
        return {"changed": changed, "diff": differences(answers), **literals({"venv": venv, "requirements": lines})}


def _option(roles: Any) -> str:
    return f"{roles[0].prefix}requirements" if roles else "file"
