# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's half of the module: it has the node library's wheel, and brings it to a node that lacks it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from ansible import constants
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._venv.node_library import (
    BUNDLED,
    bundled,
    refuse_extras,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._brought_file import bring
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_library import BuiltWheel, build
from ansible_collections.gaudi3.scale.plugins.plugin_utils._once_a_run import once_a_run
from ansible_collections.gaudi3.scale.plugins.plugin_utils._role_action import PlainArguments

MODULE = "gaudi3.scale.training_venv"
ARGUMENT = "node_library"


class ActionModule(PlainArguments):
    """See the documentation of the module ``gaudi3.scale.training_venv``."""

    # A node that has everything gets no file, and no directory for one.
    TRANSFERS_FILES = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Run the module; a second time with the wheel where it says that the wheel is missing."""
        result = super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        if arguments.get(ARGUMENT) != BUNDLED:
            return {**result, **self._execute_module(MODULE, arguments, task_vars=task_vars)}
        extras = arguments.get("extras") or []
        try:
            wheel = once_a_run(Path(constants.DEFAULT_LOCAL_TMP), MODULE, _described)
            refuse_extras(extras.split(",") if isinstance(extras, str) else extras, wheel["extras"], wheel["version"])
        except GaudiError as error:
            return {**result, "failed": True, "msg": str(error), **error.facts}
        arguments[ARGUMENT] = bundled(wheel["file"], wheel["sha256"])
        done = self._execute_module(MODULE, arguments, task_vars=task_vars)
        if "missing_wheel" in done:
            arguments["node_library_file"] = self._brought(build())
            done = self._execute_module(MODULE, arguments, task_vars=task_vars)
        return {**result, **done}

    def _brought(self, wheel: BuiltWheel) -> str:
        """Where the wheel is on the node."""
        descriptor, local = tempfile.mkstemp(prefix="gaudi3-scale-wheel-")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(wheel.content)
            return bring(self, local, wheel.file)
        finally:
            Path(local).unlink()


def _described() -> dict[str, Any]:
    """What the wheel is, without its bytes: most nodes have it."""
    wheel = build()
    return {"file": wheel.file, "sha256": wheel.sha256, "version": wheel.version, "extras": wheel.extras}
