# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Show, and on request write, what another tool has set as an inventory of ours."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleError
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.plan import Plan, plan
from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.screen import screen
from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.sources import read_sources
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report_place import Directory, place
from ansible_collections.gaudi3.scale.plugins.plugin_utils._task_answer import failed, show

OPTION = "gaudi_migration_directory"
ARGUMENTS: dict[str, dict[str, Any]] = {
    "sources": {"type": "list", "elements": "str", "required": True},
    "directory": {"type": "str", "default": ""},
}


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.migration_plan``."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Read, answer, show; write where a directory is named that has none of the files yet."""
        super().run(tmp, task_vars)
        options = self.validate_argument_spec(argument_spec=ARGUMENTS)[1]
        try:
            found = plan(read_sources(options["sources"]))
            kept = _free_directory(options["directory"], found) if options["directory"] else None
            for line in screen(found):
                show(line)
            return self._written(found, kept)
        except AnsibleError:
            raise
        except Exception as error:
            return failed(error)

    def _written(self, found: Plan, kept: Directory | None) -> dict[str, Any]:
        """Without a directory nothing is changed: the files are on the screen and in the result."""
        if kept is not None:
            for document in found.documents:
                if not self._task.check_mode:
                    kept.write(document)
            verb = "would be written" if self._task.check_mode else "written"
            show(f"{kept.path}: {verb}. Preview: ansible-playbook -i {kept.path} gaudi3.scale.site --check --diff")
        files = {document.name: document.content for document in found.documents}
        shown = kept.path if kept is not None else ""
        heads = [{"before_header": f"{shown}/{name}", "after_header": f"{shown}/{name}"} for name in files]
        diffs = [{**head, "before": "", "after": text} for head, text in zip(heads, files.values())]
        return {
            "changed": kept is not None,
            "diff": diffs if kept is not None else [],
            "files": files,
            "answers": [vars(answer) for answer in found.answers],
        }


def _free_directory(text: str, found: Plan) -> Directory:
    """That of the option; raises GaudiError where one of the files is there already."""
    kept = place(text, OPTION)
    if not isinstance(kept, Directory):
        raise GaudiError(f"{OPTION} {text} is a bucket, and Ansible reads an inventory from a directory; name one.")
    kept.refuse_unusable()
    there = [document.name for document in found.documents if (kept.path / document.name).exists()]
    if there:
        raise GaudiError(f"{OPTION}: {kept.path} has {there[0]} already, which stays as it is; name another directory.")
    return kept
