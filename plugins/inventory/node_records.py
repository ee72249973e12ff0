# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inventory of servers with Gaudi cards that Terraform, IBM Cloud or MAAS has recorded."""

from __future__ import annotations

DOCUMENTATION = r"""
name: node_records
short_description: Build an inventory from records of Terraform, OpenTofu, IBM Cloud or MAAS
version_added: "1.0.0"
description:
  - Reads a file with the output of C(terraform output -json) or C(terraform show -json), of the same with C(tofu), of
    C(ibmcloud is instances --output json), or of C(maas PROFILE machines read). Queries no cloud, so it needs no
    credentials.
  - All nodes are in the group C(gaudi), sorted by name, since ranks follow the order of the inventory and a cloud lists
    its servers in a different order each time. Sets C(ansible_host) of each node.
  - Skips instances without Gaudi cards, and refuses C(dl2q), whose cards are Qualcomm's.
options:
  plugin:
    description: The name of this plugin.
    type: str
    required: true
    choices: [gaudi3.scale.node_records]
  source:
    description:
      - The program that wrote the file.
      - Of the outputs of Terraform, V(terraform) reads C(cluster_endpoints), which maps names to addresses, and
        C(instance_type) if it exists. The examples in C(extensions/terraform) have both.
    type: str
    required: true
    choices: [terraform, ibm_cloud, maas]
  path:
    description:
      - The file. A relative path starts at the directory of this configuration.
      - In a directory of several inventories, use an ending that Ansible does not read as an inventory, such as
        C(.txt).
    type: str
    required: true
  address:
    description: Which address of an AWS instance in a Terraform state Ansible connects to.
    type: str
    choices: [private, public]
    default: private
  tag:
    description: The tag of machines with Gaudi cards in MAAS.
    type: str
    default: gaudi
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
# inventory/nodes.node_records.yml, beside the output of: terraform output -json > state.txt
plugin: gaudi3.scale.node_records
source: terraform
path: state.txt
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.json_file import parse_json
from ansible_collections.gaudi3.scale.plugins.module_utils._node.pages import page_about, see_also
from ansible_collections.gaudi3.scale.plugins.plugin_utils._inventory.as_data import as_data
from ansible_collections.gaudi3.scale.plugins.plugin_utils._inventory.nodes import Node, in_order
from ansible_collections.gaudi3.scale.plugins.plugin_utils._inventory.sources import SOURCES

GROUP = "gaudi"
ENDINGS = ("node_records.yml", "node_records.yaml")
# Of thousands of servers.
_LARGEST = 1 << 28


class InventoryModule(BaseInventoryPlugin):
    """See the documentation above."""

    NAME = "gaudi3.scale.node_records"

    def verify_file(self, path: str) -> bool:
        """Whether the file is a configuration of this plugin, by its name."""
        return path.endswith(ENDINGS) and Path(path).is_file()

    def parse(self, inventory: Any, loader: Any, path: str, cache: bool = True) -> None:
        """Add the recorded nodes."""
        plain: Any = super()
        plain.parse(inventory, loader, path, cache)
        plain._read_config_data(path)
        names = ("source", "path", "address", "tag")
        options = {name: str(plain.get_option(name)) for name in names}
        try:
            nodes = _nodes(Path(path).parent / options["path"], options)
        except GaudiError as error:
            raise AnsibleParserError(f"{error} See {see_also(page_about('', self.NAME))}.") from error
        inventory.add_group(GROUP)
        for node in nodes:
            inventory.add_host(node.name, group=GROUP)
            inventory.set_variable(node.name, "ansible_host", as_data(node.address))


def _nodes(file: Path, options: Mapping[str, str]) -> list[Node]:
    try:
        document = parse_json(file.read_bytes(), _LARGEST)
    except OSError as error:
        what = f"{file} cannot be read ({error.strerror})"
        raise GaudiError(f"{what}; create it with the command of its cloud.") from error
    except ValueError as error:
        raise GaudiError(f"{file} is not valid JSON: {error}; create it again.") from error
    read = SOURCES[options["source"]]
    return in_order(read(document, str(file), options["address"], options["tag"]), str(file))
