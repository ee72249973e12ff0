# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The examples for AWS and IBM Cloud: what they make, by their text; and by Terraform itself where that is here.

``GAUDI_TERRAFORM_PLUGINS`` names a directory with the provider of AWS, as ``terraform init -plugin-dir`` takes it.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hcl2
import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._inventory.nodes import TYPES, Node, in_order
from ansible_collections.gaudi3.scale.plugins.plugin_utils._inventory.sources import SOURCES

from tests.s3_server import S3Server
from tests.terraform_on_moto import (
    AWS,
    IBM,
    NODES,
    PLUGINS,
    TERRAFORM,
    applied_to,
    copied,
    ran,
    tried,
    with_provider,
)


def plain(value: Any) -> Any:
    """Without the quotes that the parser leaves on names and texts."""
    if isinstance(value, dict):
        return {plain(key): plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value.strip('"') if isinstance(value, str) else value


def example_of(file: Path) -> dict[str, Any]:
    with file.open() as text:
        found: dict[str, Any] = plain(hcl2.load(text))
    return found


@pytest.fixture(scope="module")
def aws() -> dict[str, Any]:
    return example_of(AWS)


@pytest.fixture(scope="module")
def ibm() -> dict[str, Any]:
    return example_of(IBM)


@pytest.fixture(scope="module", params=[AWS, IBM], ids=lambda file: file.parent.name)
def example(request: pytest.FixtureRequest) -> dict[str, Any]:
    return example_of(request.param)


def resource(example: dict[str, Any], kind: str) -> dict[str, Any]:
    """The first resource of the kind."""
    return next(iter(next(one[kind] for one in example["resource"] if kind in one).values()))


def variable(example: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one[name] for one in example["variable"] if name in one)


def test_the_provider_has_a_version(example: dict[str, Any]) -> None:
    (providers,) = example["terraform"][0]["required_providers"]
    versions = [provider["version"] for name, provider in providers.items() if isinstance(provider, dict)]
    assert len(versions) == 1
    assert versions[0].startswith("~> ")


def test_nodes_lie_together_and_speak_efa(aws: dict[str, Any]) -> None:
    assert resource(aws, "aws_placement_group")["strategy"] == "cluster"
    assert resource(aws, "aws_network_interface")["interface_type"] == "efa"
    assert "aws_placement_group.nodes" in resource(aws, "aws_instance")["placement_group"]


def test_nothing_is_installed_at_boot_and_no_instance_refers_to_itself(example: dict[str, Any]) -> None:
    (kind,) = (kind for one in example["resource"] for kind in one if kind in ("aws_instance", "ibm_is_instance"))
    node = resource(example, kind)
    assert "user_data" not in node
    assert f"{kind}.node" not in str(node)


def test_only_the_type_with_the_cards_is_taken(example: dict[str, Any]) -> None:
    kind = variable(example, "instance_type")
    assert kind["default"] in TYPES
    assert f"instance_type has to be {kind['default']}" in str(kind["validation"])


def test_nobody_but_the_operators_reaches_ssh(example: dict[str, Any], aws: dict[str, Any]) -> None:
    assert "0.0.0.0/0" in str(variable(example_of(NODES), "operators")["validation"])
    (ssh,) = (
        one for kinds in example["resource"] for rule in kinds.values() for name, one in rule.items() if name == "ssh"
    )
    assert ssh["for_each"] == "${module.nodes.operators}"
    assert resource(aws, "aws_instance")["metadata_options"][0]["http_tokens"] == "required"


def test_both_are_given_to_what_checks_them(example: dict[str, Any]) -> None:
    (module,) = (one["nodes"] for one in example["module"])
    given = {name: value for name, value in module.items() if not name.startswith("__")}
    assert given == {"source": "../nodes", "cluster_size": "${var.cluster_size}", "operators": "${var.operators}"}


def test_ibm_s_regions_are_those_that_list_the_profile(ibm: dict[str, Any]) -> None:
    condition = str(variable(ibm, "region")["validation"][0]["condition"])
    assert [region for region in ("us-east", "us-south", "eu-de", "eu-gb") if f'"{region}"' in condition] == [
        "us-east",
        "us-south",
        "eu-de",
    ]


def test_no_example_has_a_secret(example: dict[str, Any]) -> None:
    given = str(example.get("provider", "")) + str([[*one] for one in example["variable"]])
    assert not any(word in given for word in ("api_key", "access_key", "secret", "token"))


def test_the_outputs_are_those_that_the_inventory_reads(example: dict[str, Any]) -> None:
    outputs = {name: one[name] for one in example["output"] for name in one}
    assert {*outputs} == {"cluster_endpoints", "master_ip", "cluster_size", "instance_type"}
    assert outputs["instance_type"]["value"] == "${var.instance_type}"
    assert not any(output.get("sensitive") for output in outputs.values())


@pytest.mark.skipif(not TERRAFORM, reason="no terraform")
@pytest.mark.parametrize("file", [AWS, IBM, NODES], ids=lambda file: file.parent.name)
def test_it_is_written_as_terraform_writes_it(tmp_path: Path, file: Path) -> None:
    shutil.copy(file, tmp_path)
    ran(tmp_path, "fmt", "-check", "-diff")


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shared module alone, which needs no provider."""
    folder = copied(NODES, tmp_path_factory.mktemp("nodes"))
    ran(folder, "init", "-input=false")
    return folder


def planned(cluster_size: float, operators: list[str]) -> list[str]:
    given = {"cluster_size": str(cluster_size), "operators": json.dumps(operators)}
    return ["plan", "-input=false", "-no-color", *(f"-var={name}={value}" for name, value in given.items())]


@pytest.mark.skipif(not TERRAFORM, reason="no terraform")
@pytest.mark.parametrize(
    ("cluster_size", "operators", "said"),
    [
        (0, ["192.0.2.0/24"], "cluster_size has to be a whole number from 1 to 64."),
        (65, ["192.0.2.0/24"], "cluster_size has to be a whole number from 1 to 64."),
        (1.5, ["192.0.2.0/24"], "cluster_size has to be a whole number from 1 to 64."),
        (2, [], "operators has to name networks, and not all of them."),
        (2, ["192.0.2.0/24", "0.0.0.0/0"], "operators has to name networks, and not all of them."),
    ],
)
def test_terraform_refuses_what_cannot_be_meant(
    nodes: Path, cluster_size: float, operators: list[str], said: str
) -> None:
    done = tried(nodes, *planned(cluster_size, operators))
    assert done.returncode == 1
    assert said in done.stderr


@pytest.mark.skipif(not TERRAFORM, reason="no terraform")
def test_nodes_are_named_in_the_order_of_their_ranks(nodes: Path) -> None:
    said = ran(nodes, *planned(12, ["192.0.2.0/24"]))
    assert re.findall(r"gaudi-\d\d", said) == [f"gaudi-{number:02d}" for number in range(1, 13)]


@with_provider
def test_terraform_takes_it(tmp_path: Path) -> None:
    folder = copied(AWS, tmp_path)
    ran(folder, "init", "-input=false", f"-plugin-dir={PLUGINS}")
    ran(folder, "validate")


@pytest.fixture
def ec2() -> Iterator[S3Server]:
    server = S3Server("127.0.0.1")
    yield server
    server.close()


@with_provider
def test_applied_to_moto_s_ec2_its_state_and_its_outputs_are_one_inventory(tmp_path: Path, ec2: S3Server) -> None:
    folder, client = applied_to(ec2, copied(AWS, tmp_path), "10.0.0.0/24", "10.0.0.0/24", 2)

    outputs, state = (json.loads(ran(folder, *command, "-json")) for command in (["output"], ["show"]))
    by_outputs, by_state = (
        in_order(SOURCES["terraform"](document, "state.txt", "private", "gaudi"), "state.txt")
        for document in (outputs, state)
    )
    known = client.describe_instances()["Reservations"]
    addresses = {
        tag["Value"]: one["PrivateIpAddress"]
        for reservation in known
        for one in reservation["Instances"]
        for tag in one["Tags"]
        if tag["Key"] == "Name"
    }
    assert by_outputs == by_state == [Node(name, addresses[name], "gaudi") for name in ("gaudi-01", "gaudi-02")]
    assert outputs["master_ip"]["value"] == addresses["gaudi-01"]
    assert outputs["cluster_size"]["value"] == 2
