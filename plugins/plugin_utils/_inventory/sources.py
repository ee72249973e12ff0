# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""What Terraform, IBM Cloud and MAAS record of servers; pure. Read as data of somebody who may write anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._inventory.nodes import (
    Node,
    generation_of,
    records,
    text_at,
)

PRIVATE, PUBLIC = "private", "public"


def terraform(document: Any, path: str, address: str, _tag: str) -> Iterator[Node]:
    """Of ``terraform show -json`` or ``tofu show -json``: the instances of AWS and of IBM Cloud that have the cards."""
    root = document.get("values", {}).get("root_module") if isinstance(document, dict) else None
    if not isinstance(root, dict):
        raise GaudiError(
            f"{path} is not a Terraform state; create it with terraform show -json, after terraform apply."
        )
    for resource in _resources(root):
        if resource.get("type") in _OF_TERRAFORM and isinstance(resource.get("values"), dict):
            node = _OF_TERRAFORM[resource["type"]](resource["values"], address)
            if node is not None:
                yield node


def _resources(module: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from (one for one in module.get("resources", []) if isinstance(one, dict))
    for child in module.get("child_modules", []):
        if isinstance(child, dict):
            yield from _resources(child)


def _aws(values: Mapping[str, Any], address: str) -> Node | None:
    name = text_at(values, "tags", "Name") or text_at(values, "id")
    generation = generation_of(text_at(values, "instance_type"), name)
    return Node(name, text_at(values, f"{address}_ip"), generation) if generation else None


def _ibm(values: Mapping[str, Any], _address: str) -> Node | None:
    name = text_at(values, "name")
    generation = generation_of(text_at(values, "profile"), name)
    kinds = ("primary_network_attachment", "primary_network_interface")
    ways: list[tuple[str | int, ...]] = [(kind, 0, "primary_ip", 0, "address") for kind in kinds]
    ways.append((kinds[1], 0, "primary_ipv4_address"))
    return Node(name, _first(values, ways), generation) if generation else None


_OF_TERRAFORM: Mapping[str, Callable[[Mapping[str, Any], str], Node | None]] = {
    "aws_instance": _aws,
    "ibm_is_instance": _ibm,
}


def ibm_cloud(document: Any, path: str, _address: str, _tag: str) -> Iterator[Node]:
    """Of ``ibmcloud is instances --output json``: those whose profile has the cards."""
    for record in records(document, path):
        name = text_at(record, "name")
        generation = generation_of(text_at(record, "profile", "name"), name)
        kinds = ("primary_network_attachment", "primary_network_interface")
        if generation:
            yield Node(name, _first(record, [(kind, "primary_ip", "address") for kind in kinds]), generation)


def maas(document: Any, path: str, _address: str, tag: str) -> Iterator[Node]:
    """Of ``maas PROFILE machines read``: the machines that are deployed and have the tag."""
    for record in records(document, path):
        tags = record.get("tag_names")
        if isinstance(tags, list) and tag in tags and text_at(record, "status_name") == "Deployed":
            yield Node(text_at(record, "hostname"), text_at(record, "ip_addresses", 0))


def _first(record: Any, ways: Sequence[tuple[str | int, ...]]) -> str:
    return next(filter(None, (text_at(record, *way) for way in ways)), "")


SOURCES: Mapping[str, Callable[[Any, str, str, str], Iterator[Node]]] = {
    "terraform": terraform,
    "ibm_cloud": ibm_cloud,
    "maas": maas,
}
