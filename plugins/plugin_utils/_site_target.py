# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""The place for reports that the site's variables name, and whether a play can write there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.plugins.loader import lookup_loader
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report_place import OPTION, file_place, place

FILE: dict[str, dict[str, Any]] = {
    "path": {"type": "str", "required": True},
    "option": {"type": "str", "required": True},
}
# As `options_check` takes them.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "target": {"type": "str"},
    "writes": {"type": "list", "elements": "dict", "default": [], "options": FILE},
    "reads": {"type": "dict", "options": FILE},
}


def site_target(variables: Mapping[str, Any], templar: Any, loader: Any) -> str:
    """``gaudi_report_target`` of the task's host, else of the first host of ``gaudi_hosts``, else nothing.

    A play on localhost has no variables of the nodes' group, where an inventory may say it.
    """
    if OPTION in variables:
        return str(templar.template(variables[OPTION]))
    pattern = templar.template(variables.get("gaudi_hosts", "gaudi"))
    names = lookup_loader.get("ansible.builtin.inventory_hostnames", loader=loader, templar=templar)
    hosts = names.run([pattern], variables=variables)
    return str(variables["hostvars"][hosts[0]].get(OPTION, "")) if hosts else ""


def check(given: Mapping[str, Any], variables: Mapping[str, Any], templar: Any, loader: Any) -> dict[str, str]:
    """The address of the ``target``, and the ``text`` of what is to be read; makes nothing.

    Raises GaudiError where a report, or one of the files that the play ``writes``, cannot be kept.
    """
    named = given["target"]
    target = place(site_target(variables, templar, loader) if named is None else named)
    target.refuse_unusable()
    for file in given["writes"]:
        place(file_place(file["path"], "")[0], file["option"]).refuse_unusable()
    text = "" if given["reads"] is None else _read(**given["reads"])
    return {"target": target.address("").rstrip("/"), "text": text}


def _read(path: str, option: str) -> str:
    folder, name = file_place(path, "")
    return place(folder, option).read(name)
