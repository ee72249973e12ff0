# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""The place for reports that the site's variables name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.plugins.loader import lookup_loader
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report_place import OPTION


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
