# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's half of the module: libfabric is built on one node of each kind, and brought to the others."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from ansible.utils.display import Display
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._brought_file import bring, task_directory
from ansible_collections.gaudi3.scale.plugins.plugin_utils._built_libraries import BuiltLibraries, BuiltLibrary
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule

MODULE = "gaudi3.scale.hpu_host_nics"
DIRECTORY, DEFAULT_DIRECTORY = "libfabric_directory", "~/.cache/gaudi3_scale/libfabric"
ARCHIVES = ("libfabric_archive", "ofi_wrapper_archive")


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.hpu_host_nics``."""

    # A node that has everything gets no file, and no directory for one.
    TRANSFERS_FILES = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Run the module; where the node lacks the library, once more with what was built for its kind."""
        result = super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        first: dict[str, Any] = self._execute_module(MODULE, arguments, task_vars=task_vars)
        library = first.get("libfabric") or {}
        lacks = library.get("key") and not library.get("installed")
        if first.get("failed") or self._task.check_mode or not lacks:
            return {**result, **first}
        host = str((task_vars or {}).get("inventory_hostname", "this node"))
        try:
            built = self._built(str(library["key"]), arguments, host, task_vars)
        except GaudiError as error:
            return {**result, **first, "failed": True, "msg": str(error), **error.facts}
        brought = {"built_archive": self._brought("built", built.path), "built_checksum": built.sha256}
        second = self._execute_module(MODULE, {**arguments, **brought}, task_vars=task_vars)
        return {**result, **_together(first, second)}

    def _built(self, key: str, arguments: dict[str, Any], host: str, task_vars: Any) -> BuiltLibrary:
        directory = Path(str(arguments.get(DIRECTORY) or DEFAULT_DIRECTORY)).expanduser().absolute()
        libraries = BuiltLibraries(directory)
        # Of one task of one run, on whatever host.
        run = str(self._task._uuid)
        try:
            with libraries.alone(key):
                found = libraries.find(key)
                if found:
                    return found
                failure = libraries.failure(key, run)
                if failure:
                    raise GaudiError(f"libfabric was not copied here because its build failed on {failure}")
                return self._build(libraries, key, run, arguments, host, task_vars)
        except OSError as error:
            raise GaudiError(
                f"{error.filename or directory}: {error.strerror}; set {DIRECTORY} to a writable one."
            ) from error

    def _build(
        self, libraries: BuiltLibraries, key: str, run: str, arguments: dict[str, Any], host: str, task_vars: Any
    ) -> BuiltLibrary:
        Display().display(f"  {host}: builds libfabric for all nodes of its kind ({key})")
        files = {
            f"{name}_file": self._brought(name, Path(arguments[name])) for name in ARCHIVES if _is_here(arguments, name)
        }
        built: dict[str, Any] = self._execute_module(
            MODULE, {**arguments, **files, "build_into": task_directory(self)}, task_vars=task_vars
        )
        if built.get("failed") or "built" not in built:
            message = str(built.get("msg") or "the module returned no result")
            libraries.fail(key, run, host, message)
            raise GaudiError(message, **{name: built[name] for name in ("log", "exception") if name in built})
        with tempfile.TemporaryDirectory(dir=libraries.directory, prefix=".fetched-") as scratch:
            fetched = Path(scratch, "built.tar.gz")
            self._connection.fetch_file(self._connection._shell.join_path(built["built"]["path"]), str(fetched))
            return libraries.keep(key, fetched, str(built["built"]["sha256"]), host)

    def _brought(self, name: str, local: Path) -> str:
        """Where a file of the controller is on the node."""
        if not local.is_file():
            raise GaudiError(f"{local} is not a file on the controller; correct the option of the archive.")
        return bring(self, str(local), f"{name}-{local.name}")


def _is_here(arguments: dict[str, Any], name: str) -> bool:
    """Whether an archive is a file of the controller, and no URL."""
    return str(arguments.get(name) or "").startswith("/")


def _together(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """What both calls did."""
    both = dict(second)
    both["changed"] = bool(first.get("changed") or second.get("changed"))
    both["diff"] = [*(first.get("diff") or []), *(second.get("diff") or [])]
    if "stack" in first:
        both["stack"] = first["stack"]
    return both
