# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""Servers in records of Terraform, IBM Cloud and MAAS; pure. A record is untrusted: it may contain anything."""

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
ENDPOINTS = "cluster_endpoints"


def terraform(document: Any, path: str, address: str, _tag: str) -> Iterator[Node]:
    """Of ``terraform output -json``: the nodes that the outputs of extensions/terraform name. Of ``terraform show
    -json``: the instances of AWS and of IBM Cloud that have the cards. OpenTofu prints the same.
    """
    if isinstance(document, dict) and ENDPOINTS in document:
        yield from _of_outputs(document, path, address)
    else:
        yield from _of_state(document, path, address)


def _of_outputs(document: Mapping[str, Any], path: str, address: str) -> Iterator[Node]:
    """By ``cluster_endpoints``, addresses by names; ``instance_type`` is not in everybody's configuration."""
    endpoints = document[ENDPOINTS].get("value") if isinstance(document[ENDPOINTS], dict) else None
    if not isinstance(endpoints, dict):
        raise GaudiError(f"{path}: the output {ENDPOINTS} is not a map of addresses by names; define it as one.")
    if address != PRIVATE:
        raise GaudiError(
            f"{path} has the addresses of the output {ENDPOINTS} alone, so address: {address} selects nothing; put "
            "other addresses into this output, or write the file with terraform show -json."
        )
    instance_type = text_at(document, "instance_type", "value")
    for name in endpoints:
        generation = generation_of(instance_type, name)
        if generation or not instance_type:
            yield Node(name, text_at(endpoints, name), generation)


def _of_state(document: Any, path: str, address: str) -> Iterator[Node]:
    if isinstance(document, dict) and "terraform_version" in document and "serial" in document:
        raise GaudiError(f"{path} is Terraform's own state file; write to it what terraform show -json prints instead.")
    values = document.get("values") if isinstance(document, dict) else None
    root = values.get("root_module") if isinstance(values, dict) else None
    if not isinstance(root, dict):
        raise GaudiError(
            f"{path} is not a Terraform state; create it with terraform show -json after terraform apply, or with "
            f"terraform output -json if your configuration has the output {ENDPOINTS}."
        )
    for resource in _resources(root):
        if resource.get("type") in _OF_TERRAFORM and isinstance(resource.get("values"), dict):
            node = _OF_TERRAFORM[resource["type"]](resource["values"], address)
            if node is not None:
                yield node


def _resources(module: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from _objects(module.get("resources"))
    for child in _objects(module.get("child_modules")):
        yield from _resources(child)


def _objects(found: Any) -> Iterator[Mapping[str, Any]]:
    yield from (one for one in found if isinstance(one, dict)) if isinstance(found, list) else ()


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
