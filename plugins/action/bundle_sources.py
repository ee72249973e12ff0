# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a bundle has to hold, and what of it the controller has: this collection and the operator's files."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.plugin_utils._bundle.collection_archive import archive
from ansible_collections.gaudi3.scale.plugins.plugin_utils._bundle.contents import contents
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule
from ansible_collections.gaudi3.scale.plugins.plugin_utils._other_action import other_action

COLLECTION = Path(__file__).parents[2]
ARGUMENTS: dict[str, dict[str, Any]] = {
    "distribution": {"type": "str", "required": True},
    "os_family": {"type": "str", "required": True},
    "path": {"type": "path"},
    "files": {"type": "list", "elements": "path", "default": []},
}


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.bundle_sources``."""

    # What is refused is refused before the host is asked for anything.
    TRANSFERS_FILES = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Read files of this collection; with a path, copy its archive and the operator's files there."""
        super().run(tmp, task_vars)
        options = self.validate_argument_spec(argument_spec=ARGUMENTS)[1]
        twice = [name for name, times in Counter(Path(file).name for file in options["files"]).items() if times > 1]
        if twice and options["path"] is not None:
            return {"failed": True, "msg": f"files has {twice[0]!a} twice; give each file a unique name."}
        try:
            found = contents(self._read, options["distribution"], options["os_family"])
        except FileNotFoundError as error:
            named = f"{options['distribution']!a} ({options['os_family']!a})"
            remedy = "build the bundle on a host with the distribution of the nodes."
            return {"failed": True, "msg": f"{error} has no packages for {named}; {remedy}"}
        copied = {"changed": False, "files": []} if options["path"] is None else self._brought(options, task_vars)
        return copied if copied.get("failed") else {**copied, **found}

    def _read(self, path: PurePosixPath) -> Mapping[str, Any] | None:
        file = COLLECTION / "roles" / path
        return self._loader.load_from_file(str(file), unsafe=True) if file.is_file() else None

    def _brought(self, options: Mapping[str, Any], task_vars: Any) -> dict[str, Any]:
        """Make the archive in a directory of its own, and let Ansible copy all of them."""
        results = [self._directory(options["path"], task_vars)]
        with tempfile.TemporaryDirectory() as scratch:
            try:
                files = [archive(str(COLLECTION), scratch, run_process), *options["files"]]
            except GaudiError as error:
                return {"failed": True, "msg": str(error)}
            results += [self._copied(file, options["path"], task_vars) for file in files]
        failure = next((result for result in results if result.get("failed")), None)
        if failure is not None:
            return failure
        return {
            "changed": any(result.get("changed") for result in results),
            "files": [f"{options['path']}/{Path(file).name}" for file in files],
        }

    def _directory(self, path: str, task_vars: Any) -> dict[str, Any]:
        arguments: dict[str, Any] = {"path": path, "state": "directory", "mode": "0755"}
        return dict(self._execute_module("ansible.legacy.file", arguments, task_vars=task_vars))

    def _copied(self, file: str, directory: str, task_vars: Any) -> dict[str, Any]:
        """The result of Ansible's own copy, as its ``template`` has it made: a file that is the same stays."""
        arguments = {"src": file, "dest": f"{directory}/", "mode": "0644"}
        return other_action(self, "ansible.legacy.copy", arguments, task_vars)
