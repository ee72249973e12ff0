# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import socket

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._job.network import (
    address_towards,
    interface_with,
    port_is_free,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult

# `ip -json address show` of iproute2 6.1, shortened.
SHOWN = [
    {"ifname": "lo", "addr_info": [{"family": "inet", "local": "127.0.0.1", "prefixlen": 8}]},
    {"ifname": "ens1", "addr_info": []},
    {"ifname": "ens2", "addr_info": [{"local": "192.0.2.9", "prefixlen": 24}, {"local": "2001:db8::9"}]},
]


@pytest.mark.parametrize(
    ("address", "interface"),
    [("192.0.2.9", "ens2"), ("2001:db8::9", "ens2"), ("127.0.0.1", "lo"), ("192.0.2.1", None)],
)
def test_the_interface_of_an_address(address, interface):
    assert interface_with(address, lambda _argv, **_kw: CommandResult(0, json.dumps(SHOWN), "")) == interface


@pytest.mark.parametrize("answer", [CommandResult(127, "", "ip: not installed"), CommandResult(0, "", "")])
def test_a_node_that_cannot_tell(answer):
    assert interface_with("192.0.2.9", lambda _argv, **_kw: answer) is None


def test_the_own_address_on_the_way():
    assert address_towards("127.0.0.1", 29500) == "127.0.0.1"


def test_an_address_that_does_not_resolve_is_named():
    with pytest.raises(GaudiError, match=r"rendezvous_address no-such-host\.invalid cannot be reached from this node"):
        address_towards("no-such-host.invalid", 29500)


def test_a_port_in_use_is_not_free():
    with socket.socket() as server:
        server.bind(("", 0))
        server.listen()
        assert not port_is_free(server.getsockname()[1])
    assert port_is_free(server_port())


def server_port():
    with socket.socket() as server:
        server.bind(("", 0))
        return server.getsockname()[1]
