# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a switch announces: read as the words of somebody who may write anything."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.layer3.address_plan import PortAddress, Slot
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.layer3.lldp import (
    Announced,
    Neighbor,
    address_of,
    announced,
    parse_neighbors,
    read_neighbors,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult

# The shape of lldpd 1.0.16.
INTERFACE: dict[str, Any] = {
    "name": "enp52s0d17",
    "via": "LLDP",
    "rid": "1",
    "age": "0 day, 00:00:07",
    "chassis": [{"id": [{"type": "mac", "value": "3a:fe:80:9d:c2:28"}], "name": [{"value": "leaf1"}]}],
    "port": [
        {
            "id": [{"type": "ifname", "value": "Ethernet1/1"}],
            "descr": [{"value": "no-alert 10.200.0.2/30"}],
            "ttl": [{"value": "120"}],
        }
    ],
}


def said(*interfaces: Any) -> str:
    return json.dumps({"lldp": [{"interface": list(interfaces)}]})


def test_a_neighbor_is_its_switch_its_port_and_its_description() -> None:
    nameless = {**INTERFACE, "chassis": [{"id": [{"type": "mac", "value": "3a:fe:80:9d:c2:28"}]}], "port": []}
    assert parse_neighbors(said(INTERFACE, {**INTERFACE, "via": "CDPv2"}, nameless)) == (
        Neighbor("enp52s0d17", "leaf1", "Ethernet1/1", "no-alert 10.200.0.2/30"),
        Neighbor("enp52s0d17", "3a:fe:80:9d:c2:28", "", ""),
    )


@pytest.mark.parametrize(
    "text",
    [
        '{"lldp": [{}]}',
        '{"lldp": []}',
        "{}",
        '{"lldp": {"interface": {"enp52s0d17": {}}}}',
        said(7, None, [], {"name": ["x"], "via": "LLDP"}),
    ],
)
def test_who_says_nothing_is_no_neighbor(text: str) -> None:
    assert parse_neighbors(text) == ()


def test_words_are_bounded_and_obeyed_by_no_terminal() -> None:
    port = {"id": [{"value": "\x1b[2J" + "x" * 1000}], "descr": [{"value": "{{ lookup('pipe', 'id') }}\n"}]}
    (found,) = parse_neighbors(said({**INTERFACE, "port": [port]}))
    assert len(found.port) <= 255
    assert "\x1b" not in found.port
    assert found.description == "{{ lookup('pipe', 'id') }}"


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        (CommandResult(1, "", "unable to connect to socket"), "lldpctl failed: unable to connect to socket; check"),
        (CommandResult(0, "[" * 100, ""), "lldpctl's output cannot be read: it nests deeper than 64 levels"),
        (CommandResult(0, "[]", ""), "lldpctl's output cannot be read: it is not a JSON object"),
    ],
)
def test_a_daemon_that_does_not_answer(result: CommandResult, sentence: str) -> None:
    def run(argv: Sequence[str], **_: Any) -> CommandResult:
        assert argv == ["lldpctl", "-f", "json0"]
        return result

    with pytest.raises(GaudiError) as refused:
        read_neighbors(run)
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("description", "found"),
    [
        ("no-alert 10.200.10.2/30", Announced("10.200.10.2", "10.200.10.1", 30)),
        ("10.200.10.1/30", Announced("10.200.10.1", "10.200.10.2", 30)),
        ("gaudi-01 card 3 (10.200.10.7/31)", Announced("10.200.10.7", "10.200.10.6", 31)),
        ("Ethernet1/1", None),
        ("", None),
        ("10.200.10.2", None),
        ("v1.10.200.10.2/30", None),
    ],
)
def test_addresses_in_descriptions(description: str, found: Announced | None) -> None:
    assert announced(description) == found


@pytest.mark.parametrize(
    ("description", "clause"),
    [
        ("no-alert 10.200.10.2/24", "has the mask /24 where a cable has /30 or /31"),
        ("no-alert 10.200.10.2/32", "has the mask /32 where a cable has /30 or /31"),
        ("no-alert 10.200.10.3/30", "announces the network's own address"),
        ("no-alert 10.200.10.0/30", "announces the network's own address"),
        ("no-alert 10.200.300.2/30", "announces something that is not an address"),
        ("10.0.0.2/30 10.0.0.6/30", "announces more than one address"),
        ("uplink to core", "has no address; set one as 'no-alert 10.200.10.2/30'"),
    ],
)
def test_descriptions_that_are_refused_with_port_and_text(description: str, clause: str) -> None:
    with pytest.raises(GaudiError) as refused:
        address_of(Slot(0, 17), "enp52s0d17", Neighbor("enp52s0d17", "leaf1", "Ethernet1/1", description))
    assert str(refused.value).startswith(f"enp52s0d17: the switch's description {description!r} {clause}")


def test_the_port_has_the_other_address() -> None:
    neighbor = Neighbor("enp52s0d17", "leaf1", "Ethernet1/1", "no-alert 10.200.10.2/30")
    assert address_of(Slot(0, 17), "enp52s0d17", neighbor) == PortAddress(0, 17, "10.200.10.1", "10.200.10.2", 30)
