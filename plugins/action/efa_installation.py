# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's half of the module: it has the site's archives, and brings them to a node that is to install it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.efa.archive import wrong_checksum
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.ofi_wrapper import ARCHIVE as WRAPPER_OPTION
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.source_build import wrong_source
from ansible_collections.gaudi3.scale.plugins.module_utils._node.digests import file_digest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._brought_file import bring
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule

MODULE = "gaudi3.scale.efa_installation"
WRAPPER = "ofi_wrapper_archive"
# What the node may ask for, and the file's name there.
BROUGHT = {"archive": "aws-efa-installer.tar.gz", WRAPPER: "hccl_ofi_wrapper.tar.gz"}


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.efa_installation``."""

    # A node that has the version gets no file, and no directory for one.
    TRANSFERS_FILES = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Run the module; a second time with each archive that it says is missing."""
        result = super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        # Other values than a path of the controller's are the module's business.
        here = {name: path for name in BROUGHT if (path := str(arguments.get(name) or "")).startswith("/")}
        try:
            for name, archive in here.items():
                _check_there(name, archive)
            done = self._execute_module(MODULE, arguments, task_vars=task_vars)
            if self._task.check_mode and done.get("changed"):
                for name in here:
                    _check(name, arguments)
            while name := _asked_for(done, here, arguments):
                _check(name, arguments)
                arguments[f"{name}_file"] = bring(self, here[name], BROUGHT[name])
                done = self._execute_module(MODULE, arguments, task_vars=task_vars)
        except GaudiError as error:
            return {**result, "failed": True, "msg": str(error), **error.facts}
        except OSError as error:
            return {**result, "failed": True, "msg": f"{error.filename} cannot be read: {error.strerror}."}
        return {**result, **done}


def _asked_for(done: Mapping[str, Any], here: Mapping[str, str], arguments: Mapping[str, Any]) -> str:
    """The archive that the node has asked for and has not been sent yet; empty where it asks for none."""
    asked = (name for name in here if f"missing_{name}" in done and f"{name}_file" not in arguments)
    return next(asked, "")


def _check_there(name: str, archive: str) -> None:
    if Path(archive).is_file():
        return
    what = "the sources of hccl_ofi_wrapper" if name == WRAPPER else "Amazon's aws-efa-installer-VERSION.tar.gz"
    option = WRAPPER_OPTION if name == WRAPPER else "gaudi_fabric_efa_archive"
    raise GaudiError(
        f"{name} {archive} is not a file on the controller; put {what} there, or correct {name} ({option})."
    )


def _check(name: str, arguments: Mapping[str, Any]) -> None:
    """Before it is sent to a node that would refuse it."""
    archive, wanted = str(arguments[name]), str(arguments[name.replace("archive", "checksum")])
    digest = file_digest(Path(archive), "sha256")
    if f"sha256:{digest}" == wanted:
        return
    if name == WRAPPER:
        raise wrong_source(archive, digest, WRAPPER_OPTION)
    raise wrong_checksum(archive, digest, wanted.partition(":")[2])
