# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Learn from the roles what a node installs, for a bundle."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._bundle.contents import contents
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule

ROLES = Path(__file__).parents[2] / "roles"
ARGUMENTS: dict[str, dict[str, Any]] = {
    "distribution": {"type": "str", "required": True},
    "os_family": {"type": "str", "required": True},
}


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.bundle_contents``."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Read files of this collection; changes nothing."""
        super().run(tmp, task_vars)
        options = self.validate_argument_spec(argument_spec=ARGUMENTS)[1]
        try:
            return {"changed": False, **contents(self._read, options["distribution"], options["os_family"])}
        except FileNotFoundError as error:
            named = f"{options['distribution']!a} ({options['os_family']!a})"
            remedy = "build the bundle on a host with the distribution of the nodes."
            return {"failed": True, "msg": f"{error} has no packages for {named}; {remedy}"}

    def _read(self, path: PurePosixPath) -> Mapping[str, Any] | None:
        file = ROLES / path
        return self._loader.load_from_file(str(file), unsafe=True) if file.is_file() else None
