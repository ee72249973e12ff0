# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's half of the module: it has the site's archive, and brings it to a node that is to install it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.efa.archive import wrong_checksum
from ansible_collections.gaudi3.scale.plugins.module_utils._node.digests import file_digest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._brought_file import bring
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule

MODULE = "gaudi3.scale.efa_installation"


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.efa_installation``."""

    # A node that has the version gets no file, and no directory for one.
    TRANSFERS_FILES = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Run the module; a second time with the archive where it says that the archive is missing."""
        result = super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        # Other values than a path of the controller's are the module's business.
        archive = str(arguments.get("archive") or "")
        here = archive.startswith("/")
        try:
            if here and not Path(archive).is_file():
                raise GaudiError(
                    f"archive {archive} is not a file on the controller; put Amazon's aws-efa-installer-VERSION.tar.gz "
                    "there, or correct archive (gaudi_fabric_efa_archive)."
                )
            done = self._execute_module(MODULE, arguments, task_vars=task_vars)
            missing = "missing_archive" in done
            if here and (missing or (self._task.check_mode and done.get("changed"))):
                _check(archive, arguments["checksum"])
            if missing:
                arguments["archive_file"] = bring(self, archive, "aws-efa-installer.tar.gz")
                done = self._execute_module(MODULE, arguments, task_vars=task_vars)
        except GaudiError as error:
            return {**result, "failed": True, "msg": str(error), **error.facts}
        except OSError as error:
            return {**result, "failed": True, "msg": f"archive {archive} cannot be read: {error.strerror}."}
        return {**result, **done}


def _check(archive: str, checksum: str) -> None:
    """Before it is sent to a node that would refuse it."""
    digest = file_digest(Path(archive), "sha256")
    if f"sha256:{digest}" != checksum:
        raise wrong_checksum(archive, digest, checksum.partition(":")[2])
