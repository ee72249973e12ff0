# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's half of the module: it reads the files of rules, in which braces are Prometheus' own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._role_action import RoleStep

RULES = "gaudi_*.yml"


class ActionModule(RoleStep):
    """See the documentation of the module ``gaudi3.scale.monitoring_server``."""

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Add the files to the rules that were given, and run the module."""
        directory = self._task.args.pop("rules_from", None)
        if directory:
            place = Path(str(directory))
            files = sorted(place.glob(RULES)) if place.is_dir() else []
            if not files:
                return {
                    "failed": True,
                    "msg": f"rules_from has no file {RULES} in {directory!r}; set the directory that contains it.",
                }
            read = {file.name: file.read_text(encoding="utf-8") for file in files}
            self._task.args["rules"] = {**(self._task.args.get("rules") or {}), **read}
        done: dict[str, Any] = super().run(tmp, task_vars)
        return done
