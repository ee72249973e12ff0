# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""Inventory and variables of ours as the files of a directory; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml
from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.answers import is_template
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report_place import Document

# For all machines; the rest is of the nodes.
_OF_ALL = ("ansible_user", "gaudi_proxy")
_NO_HOSTS = """---
# No host was found: name your servers. Their order is the order of ranks.
gaudi:
  hosts: {}
"""


def documents(hosts: Mapping[str, Mapping[str, Any]], variables: Mapping[str, Any]) -> list[Document]:
    """``hosts.yml`` and the two files of ``group_vars``, which are an inventory together."""
    of_all = {name: value for name, value in variables.items() if name in _OF_ALL}
    of_nodes = {name: value for name, value in variables.items() if name not in _OF_ALL}
    listed = {name: dict(values) or None for name, values in hosts.items()}
    return [
        Document(
            "hosts.yml", _dump("Servers, in the order of ranks.", {"gaudi": {"hosts": listed}}) if hosts else _NO_HOSTS
        ),
        Document("group_vars/all.yml", _dump("For all machines of this inventory.", of_all)),
        Document("group_vars/gaudi.yml", _dump("For the nodes.", {**of_nodes, "ansible_become": True})),
    ]


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, _data: object) -> bool:
        return True


_Dumper.add_representer(type(None), lambda dumper, _none: dumper.represent_scalar("tag:yaml.org,2002:null", ""))


def _dump(heading: str, content: Mapping[str, Any]) -> str:
    if is_template(content):
        raise ValueError("a value of it would be a template")
    body = (
        yaml.dump(content, Dumper=_Dumper, sort_keys=False, default_flow_style=False, width=1000) if content else "{}\n"
    )
    return f"---\n# {heading}\n{body}"
