# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The inventories that come with the collection, read by Ansible itself; that of AWS from moto's EC2."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
import yaml

from tests import netbox_stub
from tests.s3_server import KEY, REGION, SECRET, S3Server

ROOT = Path(__file__).resolve().parents[4]
INVENTORIES = ROOT / "inventories"
SOURCES = ("aws_dl1", "ibm_cloud", "maas", "netbox", "terraform")
RECORDS: dict[str, tuple[str, Any]] = {
    "terraform": (
        "state.txt",
        {
            "values": {
                "root_module": {
                    "resources": [
                        {
                            "type": "aws_instance",
                            "values": {
                                "instance_type": "dl1.24xlarge",
                                "private_ip": f"10.0.0.{number}",
                                "tags": {"Name": f"gaudi-0{number}"},
                            },
                        }
                        for number in (2, 1)
                    ]
                }
            }
        },
    ),
    "ibm_cloud": (
        "instances.txt",
        [
            {
                "name": f"gaudi-0{number}",
                "profile": {"name": "gx3d-160x1792x8gaudi3"},
                "primary_network_interface": {"primary_ip": {"address": f"10.0.0.{number}"}},
            }
            for number in (2, 1)
        ],
    ),
    "maas": (
        "machines.txt",
        [
            {
                "hostname": f"gaudi-0{number}",
                "status_name": "Deployed",
                "tag_names": ["gaudi"],
                "ip_addresses": [f"10.0.0.{number}"],
            }
            for number in (2, 1)
        ],
    ),
}


def listed(inventory: Path, **environment: str) -> dict[str, Any]:
    """What ``ansible-inventory --list`` says of it, with the collection and nothing else of ours on the path."""
    command = [Path(sys.executable).with_name("ansible-inventory"), "-i", inventory, "--list"]
    given = {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
        "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true",
        **environment,
    }
    given.pop("ANSIBLE_CONFIG", None)
    done = subprocess.run(command, env=given, capture_output=True, text=True, check=False, cwd="/")
    # An older ansible-core breaks its lines at 80 characters.
    assert done.returncode == 0, " ".join(done.stderr.split())
    assert "reserved name" not in done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def plain(text: Any) -> str:
    """Without the mark of a text that Ansible does not evaluate."""
    return str(text["__ansible_unsafe"] if isinstance(text, dict) else text)


def is_as_recorded(found: dict[str, Any]) -> None:
    assert found["gaudi"]["hosts"] == ["gaudi-01", "gaudi-02"]
    hosts = found["_meta"]["hostvars"]
    # What a record says is marked: Ansible evaluates nothing of it.
    given = [hosts[f"gaudi-0{number}"]["ansible_host"] for number in (1, 2)]
    assert given == [{"__ansible_unsafe": "10.0.0.1"}, {"__ansible_unsafe": "10.0.0.2"}]
    assert hosts["gaudi-01"]["ansible_user"] == "operator"


@pytest.mark.parametrize("source", RECORDS)
def test_a_record_beside_it_is_an_inventory(tmp_path: Path, source: str) -> None:
    shutil.copytree(INVENTORIES / source, tmp_path / source)
    name, record = RECORDS[source]
    (tmp_path / source / name).write_text(json.dumps(record))
    is_as_recorded(listed(tmp_path / source))


def test_without_its_record_it_says_what_to_write(tmp_path: Path) -> None:
    shutil.copytree(INVENTORIES / "terraform", tmp_path / "terraform")
    with pytest.raises(AssertionError, match=r"state\.txt cannot be read.* See docs/clouds\.md in "):
        listed(tmp_path / "terraform")


@pytest.fixture
def ec2() -> Iterator[dict[str, str]]:
    """Two instances of DL1, whose ids are in another order than their names, and one with other cards."""
    server = S3Server("127.0.0.1")
    credentials = {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET, "region_name": REGION}
    client = boto3.client("ec2", endpoint_url=server.url, **credentials)
    vpc = client.create_vpc(CidrBlock="10.0.0.0/24")["Vpc"]["VpcId"]
    subnet = client.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"]

    def begun(kind: str) -> str:
        made = client.run_instances(ImageId="ami-12c6146b", MinCount=1, MaxCount=1, InstanceType=kind, SubnetId=subnet)
        return str(made["Instances"][0]["InstanceId"])

    # The plugin sorts by the ids, which say nothing: so the first of them is the second node.
    first, second = sorted(begun("dl1.24xlarge") for _each in range(2))
    for instance, name in ((first, "gaudi-02"), (second, "gaudi-01"), (begun("dl2q.24xlarge"), "other")):
        client.create_tags(Resources=[instance], Tags=[{"Key": "Name", "Value": name}])
    yield {**server.environment(), "AWS_REGION": REGION}
    server.close()


def test_instances_of_dl1_are_an_inventory(ec2: dict[str, str]) -> None:
    found = listed(INVENTORIES / "aws_dl1", **ec2)
    assert sorted(found["gaudi"]["hosts"]) == ["gaudi-01", "gaudi-02"]
    host = found["_meta"]["hostvars"]["gaudi-01"]
    assert host["ansible_host"] == host["aws_private_ip_address"]


def test_terraform_s_outputs_give_the_hosts_that_ec2_itself_gives(ec2: dict[str, str], tmp_path: Path) -> None:
    """Made of EC2's answers, as extensions/terraform/aws_dl1 makes them of its instances."""
    client = boto3.client(
        "ec2",
        endpoint_url=ec2["AWS_ENDPOINT_URL"],
        aws_access_key_id=KEY,
        aws_secret_access_key=SECRET,
        region_name=REGION,
    )
    known = client.describe_instances(Filters=[{"Name": "instance-type", "Values": ["dl1.24xlarge"]}])
    instances = [one for reservation in known["Reservations"] for one in reservation["Instances"]]
    endpoints = {one["Tags"][0]["Value"]: one["PrivateIpAddress"] for one in instances}
    shutil.copytree(INVENTORIES / "terraform", tmp_path / "terraform")
    outputs = {"cluster_endpoints": endpoints, "instance_type": "dl1.24xlarge", "cluster_size": len(endpoints)}
    (tmp_path / "terraform" / "state.txt").write_text(
        json.dumps({name: {"sensitive": False, "value": value} for name, value in outputs.items()})
    )
    recorded = listed(tmp_path / "terraform")
    asked = listed(INVENTORIES / "aws_dl1", **ec2)["_meta"]["hostvars"]
    assert recorded["gaudi"]["hosts"] == ["gaudi-01", "gaudi-02"]
    for name, variables in recorded["_meta"]["hostvars"].items():
        assert plain(variables["ansible_host"]) == plain(asked[name]["ansible_host"])
        assert (variables["ansible_user"], variables["ansible_become"]) == ("operator", True)
        assert variables["gaudi_cards_per_node"] == 8
    assert all(hosts == ["gaudi-01", "gaudi-02"] for hosts in of_each_play(tmp_path / "terraform", "site"))


def of_each_play(inventory: Path, playbook: str) -> list[list[str]]:
    """The nodes of each of its plays; those for the control node alone have none."""
    command = [Path(sys.executable).with_name("ansible-playbook"), "-i", inventory, "--list-hosts"]
    given = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"), "ANSIBLE_NOCOLOR": "1"}
    given.pop("ANSIBLE_CONFIG", None)
    done = subprocess.run(
        [*command, ROOT / "playbooks" / f"{playbook}.yml"], env=given, capture_output=True, text=True, check=True
    )
    plays = done.stdout.split("\n  play #")[1:]
    found = [sorted(re.findall(r"^ +(gaudi-\S+)$", play, re.MULTILINE)) for play in plays]
    assert any(found)
    return [hosts for hosts in found if hosts]


def test_ranks_do_not_follow_the_order_in_which_aws_tells_its_instances(ec2: dict[str, str], tmp_path: Path) -> None:
    """With the inventory of ours they are sorted; without its variables the launch is refused."""
    play = tmp_path / "play.yml"
    play.write_text(
        yaml.safe_dump(
            [
                {
                    "hosts": "gaudi",
                    "gather_facts": False,
                    "tasks": [
                        {
                            "gaudi3.scale.options_check": {
                                "job_hosts": {
                                    "hosts": "{{ gaudi_training_hosts | default(groups.gaudi) }}",
                                    "option": "gaudi_training_hosts",
                                }
                            },
                            "run_once": True,
                            "register": "job",
                        },
                        {"ansible.builtin.debug": {"msg": "ranks {{ job.hosts | join(' ') }}"}, "run_once": True},
                    ],
                }
            ]
        )
    )

    def played(inventory: Path) -> str:
        command = [Path(sys.executable).with_name("ansible-playbook"), "-i", inventory, play]
        given = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"), **ec2}
        given.pop("ANSIBLE_CONFIG", None)
        said = subprocess.run(command, env=given, capture_output=True, text=True, check=False, cwd=tmp_path).stdout
        return " ".join(said.split())

    assert "ranks gaudi-01 gaudi-02" in played(INVENTORIES / "aws_dl1")
    shutil.copy(INVENTORIES / "aws_dl1" / "aws_ec2.yml", tmp_path)
    assert "gaudi_training_hosts is in the order in which the cloud returned" in played(tmp_path / "aws_ec2.yml")


def test_netbox_s_active_devices_with_the_tag_are_an_inventory() -> None:
    devices = [
        netbox_stub.record(2, "gaudi-02", "10.0.0.2", "gaudi"),
        netbox_stub.record(1, "gaudi-01", "10.0.0.1", "gaudi"),
        netbox_stub.record(3, "gaudi-03", "10.0.0.3", "gaudi", status="planned"),
        netbox_stub.record(4, "switch-01", "10.0.0.4"),
        netbox_stub.record(5, "gaudi-05", "", "gaudi"),
    ]
    machines = [netbox_stub.record(6, "login", "10.0.0.6", "gaudi"), netbox_stub.record(7, "mail", "10.0.0.7")]
    with netbox_stub.netbox(devices, machines) as address:
        found = listed(INVENTORIES / "netbox", NETBOX_API=address, NETBOX_TOKEN=netbox_stub.TOKEN)
    assert sorted(found["gaudi"]["hosts"]) == ["gaudi-01", "gaudi-02"]
    assert "mail" not in found["_meta"]["hostvars"]
    host = found["_meta"]["hostvars"]["gaudi-01"]
    assert host["ansible_host"] in ("10.0.0.1", {"__ansible_unsafe": "10.0.0.1"})
    # By these a launch knows that the order is the source's.
    assert {"device_types", "is_virtual"} <= {*host}


def test_all_sources_have_the_same_groups_and_variables() -> None:
    variables = {
        source: {*yaml.safe_load((INVENTORIES / source / "group_vars" / "gaudi.yml").read_text())} for source in SOURCES
    }
    assert len({frozenset(names) for names in variables.values()}) == 1
    for source in SOURCES:
        assert sorted(path.name for path in (INVENTORIES / source / "group_vars").iterdir()) == ["all.yml", "gaudi.yml"]


def test_no_inventory_has_a_secret_in_it() -> None:
    for path in INVENTORIES.rglob("*.yml"):
        for name in yaml.safe_load(path.read_text()) or {}:
            assert not re.search("secret|access_key|token|password", str(name)), f"{path}: {name}"
