# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""From Terraform to the end of ``site.yml``: the example for AWS is applied to moto, whose addresses the nodes get.

No instance boots in moto; what Terraform's outputs name are the scenario's nodes.
"""

from __future__ import annotations

import ipaddress
import json
import re
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import yaml

from sandbox import cluster
from tests.s3_server import S3Server
from tests.sandbox_nodes import SANDBOX, hosts
from tests.terraform_on_moto import AWS, applied_to, copied, ran, with_provider

from .conftest import NAMES, ROOT, Operator, put_hosts_in


@pytest.fixture
def applied(tmp_path: Path) -> Iterator[Path]:
    """The directory where Terraform has run; the nodes have the addresses that its outputs name."""
    network = ipaddress.ip_network(f"{cluster.load(SANDBOX).nodes[0].address}/24", strict=False)
    with closing(S3Server("127.0.0.1")) as server:
        upper = list(network.subnets())[1]
        folder, _client = applied_to(server, copied(AWS, tmp_path), str(network), str(upper), len(NAMES))
        named = json.loads(ran(folder, "output", "-json"))["cluster_endpoints"]["value"]
        assert {*named} == {*NAMES.values()}
        nodes = hosts()
        added = {node: f"{named[name]}/{network.prefixlen} dev eth0" for node, name in NAMES.items()}
        for node, address in added.items():
            nodes[node].check_output(f"ip address add {address}")
        try:
            yield folder
        finally:
            for node, address in added.items():
                nodes[node].check_output(f"ip address del {address}")


def login(connections: dict[str, dict[str, str]], addresses: dict[str, str], known: Path) -> dict[str, str]:
    """How all nodes are logged in to, with their keys known at the new addresses too."""
    common = {key: value for key, value in next(iter(connections.values())).items() if key != "ansible_host"}
    found = re.search(r"UserKnownHostsFile=(\S+)", common["ansible_ssh_common_args"])
    assert found
    keys = Path(found[1]).read_text(encoding="utf-8")
    for name, variables in connections.items():
        keys += re.sub(rf"^{re.escape(variables['ansible_host'])} ", f"{addresses[name]} ", keys, flags=re.MULTILINE)
    known.write_text(keys, encoding="utf-8")
    return {**common, "ansible_ssh_common_args": common["ansible_ssh_common_args"].replace(found[1], str(known))}


@pytest.mark.in_turn
@with_provider
def test_site_ends_on_what_terraform_s_outputs_name(applied: Path, operator: Operator) -> None:
    inventory = operator.home / "terraform"
    shutil.copytree(ROOT / "inventories" / "terraform", inventory)
    (inventory / "state.txt").write_text(ran(applied, "output", "-json"), encoding="utf-8")
    # What the sandbox differs in from servers; the nodes' names and addresses are Terraform's alone.
    put_hosts_in(inventory)
    hosts_file = inventory / "hosts.yml"
    written = yaml.safe_load(hosts_file.read_text(encoding="utf-8"))
    connections = written["gaudi"].pop("hosts")
    named = json.loads((inventory / "state.txt").read_text(encoding="utf-8"))["cluster_endpoints"]["value"]
    written["gaudi"]["vars"].update(login(connections, named, operator.home / "known_hosts"))
    hosts_file.write_text(yaml.safe_dump(written, sort_keys=False), encoding="utf-8")

    shown = operator.types("ansible-playbook -i terraform gaudi3.scale.site")
    assert shown.code == 0, shown.screen[-4000:]
    for name in NAMES.values():
        assert re.search(rf"^\s*{name}\s+ok\b", shown.screen, re.MULTILINE), shown.screen[-4000:]
    again = operator.types("ansible-playbook -i terraform gaudi3.scale.site")
    assert again.code == 0, again.screen[-4000:]
    assert set(re.findall(r"changed=(\d+)", again.screen)) == {"0"}, again.screen[-4000:]
