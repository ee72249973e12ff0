# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a node tells of its cables: the cards' ports, and nothing of other interfaces."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.info import fabric_info
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult

ADDRESS = "0000:19:00.0"


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    values = {
        f"bus/pci/devices/{ADDRESS}": {"vendor": "0x1da3", "device": "0x1060", "class": "0x120000"},
        "class/net/e0d17": {"operstate": "up", "flags": "0x1003", "dev_port": "17", "address": "02:00:00:00:00:11"},
        "class/net/eth0": {"operstate": "up", "flags": "0x1003"},
    }
    for path, files in values.items():
        directory = tmp_path / "sys" / path
        directory.mkdir(parents=True)
        for name, value in files.items():
            (directory / name).write_text(f"{value}\n")
    (tmp_path / "sys/class/net/e0d17/device").symlink_to(tmp_path / "sys/bus/pci/devices" / ADDRESS)
    return tmp_path


def answers(lldp: CommandResult, addresses: str) -> Any:
    def run(argv: Sequence[str], **_: Any) -> CommandResult:
        return lldp if argv[0] == "lldpctl" else CommandResult(0, addresses, "")

    return run


def test_ports_with_their_addresses_and_neighbors(kernel: Path) -> None:
    heard = [{"name": name, "via": "LLDP", "port": [{"descr": [{"value": "x"}]}]} for name in ("e0d17", "eth0")]
    addresses = [{"ifname": "e0d17", "addr_info": [{"local": "10.200.0.1", "prefixlen": 30}]}, 7]
    run = answers(CommandResult(0, json.dumps({"lldp": [{"interface": heard}]}), ""), json.dumps(addresses))
    found = fabric_info(run, str(kernel))
    assert found["boards"] == ["0x1060"]
    (port,) = found["ports"]
    assert (port["interface"], port["number"], port["addresses"]) == ("e0d17", 17, ["10.200.0.1/30"])
    assert found["neighbors"] == [{"interface": "e0d17", "switch": "", "port": "", "description": "x"}]
    assert found["lldp_error"] == ""


@pytest.mark.parametrize("addresses", ["", "no", "{}", '[{"ifname": "e0d17", "addr_info": 3}]'])
def test_a_node_without_lldpd_says_so_and_tells_its_ports(kernel: Path, addresses: str) -> None:
    found = fabric_info(answers(CommandResult(127, "", "lldpctl: not installed"), addresses), str(kernel))
    assert found["lldp_error"].startswith(
        "the package lldpd, which hears the switches, is not installed on this node; install it (`apt-get install "
    )
    assert found["neighbors"] == []
    assert found["ports"][0]["addresses"] == []
