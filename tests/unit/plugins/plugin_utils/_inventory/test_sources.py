# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import time
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._inventory.nodes import Node, in_order
from ansible_collections.gaudi3.scale.plugins.plugin_utils._inventory.sources import SOURCES

DL1, GX3 = "dl1.24xlarge", "gx3d-160x1792x8gaudi3"


def aws(name: str, instance_type: str = DL1, **values: Any) -> dict[str, Any]:
    said = {"id": "i-0", "instance_type": instance_type, "tags": {"Name": name}, "private_ip": "10.0.0.1", **values}
    return {"type": "aws_instance", "name": "node", "values": said}


def state(*resources: dict[str, Any], child: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    root = {"resources": list(resources), "child_modules": [{"resources": list(child)}]}
    return {"format_version": "1.0", "values": {"root_module": root}}


def outputs(endpoints: Any, **others: Any) -> dict[str, Any]:
    """As ``terraform output -json`` prints them."""
    named = {"cluster_endpoints": endpoints, **others}
    return {name: {"sensitive": False, "type": "dynamic", "value": value} for name, value in named.items()}


def read(source: str, document: Any, address: str = "private") -> list[Node]:
    return in_order(SOURCES[source](document, "file", address, "gaudi"), "file")


def test_terraform_s_servers_are_found_in_every_module_and_sorted() -> None:
    ibm = {
        "type": "ibm_is_instance",
        "values": {
            "name": "gaudi-2",
            "profile": GX3,
            "primary_network_interface": [{"primary_ip": [{"address": "10.0.0.2"}]}],
        },
    }
    found = read("terraform", state(aws("gaudi-10"), {"type": "aws_vpc", "values": {}}, child=(ibm,)))
    assert found == [Node("gaudi-2", "10.0.0.2", "gaudi3"), Node("gaudi-10", "10.0.0.1", "gaudi")]


def test_terraform_s_outputs_name_the_servers() -> None:
    endpoints = {"gaudi-10": "10.0.0.10", "gaudi-2": "10.0.0.2"}
    found = read("terraform", outputs(endpoints, instance_type=GX3, master_ip="10.0.0.2", cluster_size=2))
    assert found == [Node("gaudi-2", "10.0.0.2", "gaudi3"), Node("gaudi-10", "10.0.0.10", "gaudi3")]


def test_a_configuration_without_the_output_instance_type_is_read_too() -> None:
    assert read("terraform", outputs({"gaudi-1": "10.0.0.1"})) == [Node("gaudi-1", "10.0.0.1")]


def test_an_address_is_chosen() -> None:
    (node,) = read("terraform", state(aws("n1", public_ip="192.0.2.7")), "public")
    assert node.address == "192.0.2.7"
    assert read("terraform", state(aws("", tags=None, id="i-0abc")))[0].name == "i-0abc"


def test_ibm_cloud_s_servers_are_those_with_the_profile() -> None:
    def record(name: str, profile: str, kind: str) -> dict[str, Any]:
        return {"name": name, "profile": {"name": profile}, kind: {"primary_ip": {"address": f"10.0.0.{name[-1]}"}}}

    document = [
        record("gaudi-2", GX3, "primary_network_attachment"),
        record("login-3", "bx2-2x8", "primary_network_interface"),
        record("gaudi-1", GX3, "primary_network_interface"),
    ]
    assert read("ibm_cloud", document) == [Node("gaudi-1", "10.0.0.1", "gaudi3"), Node("gaudi-2", "10.0.0.2", "gaudi3")]


def test_maas_s_machines_are_those_that_are_deployed_and_have_the_tag() -> None:
    def machine(name: str, status: str, *tags: str) -> dict[str, Any]:
        return {"hostname": name, "status_name": status, "tag_names": list(tags), "ip_addresses": ["10.0.0.9"]}

    document = [
        machine("gaudi-01", "Deployed", "gaudi"),
        machine("gaudi-02", "Ready", "gaudi"),
        machine("login", "Deployed"),
    ]
    assert read("maas", document) == [Node("gaudi-01", "10.0.0.9")]


@pytest.mark.parametrize(
    ("source", "document", "sentence"),
    [
        (
            "terraform",
            state(aws("n1", "dl2q.24xlarge")),
            "n1 is a dl2q.24xlarge, which has Qualcomm cards and no Gaudi",
        ),
        ("terraform", state(aws("n1", "p4d.24xlarge")), "file has no server with Gaudi cards; known are dl1.24xlarge"),
        ("terraform", [], "file is not a Terraform state; create it with terraform show -json"),
        ("terraform", {"values": {}}, "file is not a Terraform state"),
        ("terraform", state(aws("n1"), aws("n1")), "two servers are called n1; give each a unique name"),
        ("terraform", state(aws("n1", private_ip=None)), "n1 has no address; start it"),
        ("terraform", state(aws("{{ lookup('pipe', 'id') }}")), "is not a valid host name"),
        ("terraform", {"values": None}, "file is not a Terraform state"),
        (
            "terraform",
            {"version": 4, "terraform_version": "1.11.4", "serial": 3},
            "is Terraform's own state file; write",
        ),
        (
            "terraform",
            outputs({"n1": "10.0.0.1"}, instance_type="dl2q.24xlarge"),
            "n1 is a dl2q.24xlarge, which has Qualcomm cards and no Gaudi",
        ),
        ("terraform", outputs({"n1": "10.0.0.1"}, instance_type="p4d.24xlarge"), "file has no server with Gaudi cards"),
        ("terraform", outputs({}), "file has no server with Gaudi cards"),
        ("terraform", outputs(["10.0.0.1"]), "the output cluster_endpoints is not a map of addresses by names"),
        ("terraform", {"cluster_endpoints": 7}, "the output cluster_endpoints is not a map of addresses by names"),
        ("terraform", outputs({"n1": None}), "n1 has no address; start it"),
        ("terraform", outputs({"-oProxyCommand=x": "10.0.0.1"}), "is not a valid host name"),
        ("ibm_cloud", {"instances": []}, "file is not a list of records"),
        ("maas", [7], "file is not a list of records"),
        ("maas", [], "file has no server with Gaudi cards"),
    ],
)
def test_what_cannot_be_an_inventory_is_refused_in_one_sentence(source: str, document: Any, sentence: str) -> None:
    with pytest.raises(GaudiError) as refused:
        read(source, document)
    assert sentence in str(refused.value)
    assert str(refused.value).count(". ") == 0


def test_outputs_have_no_other_address_to_choose() -> None:
    with pytest.raises(GaudiError, match=r"so address: public selects nothing; put other addresses into this output"):
        read("terraform", outputs({"n1": "10.0.0.1"}), "public")


@pytest.mark.parametrize(
    "hostile",
    [
        {"values": {"root_module": {"resources": [7, None, {"type": "aws_instance"}]}}},
        {"values": {"root_module": {"resources": 7, "child_modules": {"a": 1}}}},
    ],
)
def test_a_record_that_is_none_breaks_nothing(hostile: Any) -> None:
    with pytest.raises(GaudiError, match="has no server"):
        read("terraform", json.loads(json.dumps(hostile)))


def test_five_hundred_nodes_are_read_at_once() -> None:
    """Not a measurement: a minute would mean that each is compared with all."""
    document = state(*(aws(f"gaudi-{number}") for number in range(512)))
    begun = time.monotonic()
    assert len(read("terraform", document)) == 512
    assert time.monotonic() - begun < 30


@pytest.mark.parametrize(
    "address",
    [
        *(
            "-oProxyCommand=touch /tmp/x",
            "-oProxyCommand",
            "a b",
            "010.0.0.1",
            "167772161",
            "0x0a000001",
            "fe80::1%eth0",
        ),
        *("{{ lookup('pipe', 'id') }}", "a;id", "a\nb", "user@host", "ssh://host", "n1.", "1.2.3"),
    ],
)
def test_an_address_is_no_word_that_ssh_takes_for_another_one(address: str) -> None:
    with pytest.raises(
        GaudiError, match=r"^file: n1 has the address .*which is neither a host name nor an address; correct"
    ):
        read("terraform", state(aws("n1", private_ip=address)))


@pytest.mark.parametrize("address", ["10.0.0.1", "fd00::1", "n1.example.org", "n1", "1a.example.org"])
def test_addresses_and_names_are_taken(address: str) -> None:
    assert read("terraform", state(aws("n1", private_ip=address)))[0].address == address
