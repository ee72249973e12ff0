# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuse variables that begin as a role's options do and are none of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.gaudi3.scale.plugins.plugin_utils._role_options import SpecifiedRole, refusal, specified

COLLECTION = "gaudi3.scale"
ROLES = Path(__file__).parents[2] / "roles"
SPECIFICATION = Path("meta", "argument_specs.yml")
ARGUMENTS = {"all_roles": {"type": "bool", "default": False}}


class ActionModule(ActionBase):
    """See the documentation of the module ``gaudi3.scale.role_options``."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Look at the names of the host's variables; changes nothing."""
        super().run(tmp, task_vars)
        options = self.validate_argument_spec(argument_spec=ARGUMENTS)[1]
        folders = self._folders(options["all_roles"])
        host = task_vars["inventory_hostname"]
        refused = [self._refusal(*folder, host, task_vars) for folder in folders]
        if any(refused):
            return {"failed": True, "msg": " ".join(filter(None, refused))}
        return {"changed": False, "roles": [folder.name for folder, _collection in folders]}

    def _folders(self, all_roles: bool) -> list[tuple[Path, str]]:
        """Of the role whose task this is, or else of all roles here; each with its collection's name, if it has one."""
        role = None if all_roles else self._task._role
        if role is None:
            return [(path.parents[1], COLLECTION) for path in sorted(ROLES.glob(f"*/{SPECIFICATION}"))]
        # Not its real path, under which Ansible's loader would have to read again what it has read for the play.
        return [(Path(role._role_path).absolute(), role._role_collection or "")]

    def _refusal(self, folder: Path, collection: str, host: str, task_vars: Any) -> str:
        longer = [one for one in folder.parent.glob(f"{folder.name}_*") if (one / SPECIFICATION).is_file()]
        return refusal(
            self._specified(folder, collection), host, task_vars, [self._specified(one, collection) for one in longer]
        )

    def _specified(self, folder: Path, collection: str) -> SpecifiedRole:
        # Once a play and role: the loader keeps it, and every fork has what was read before it began.
        document = self._loader.load_from_file(str(folder / SPECIFICATION), unsafe=True)
        return specified(folder.name, f"{collection}.{folder.name}".lstrip("."), document)
