# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which cable is wrong: a table of clusters with one fault each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hardware import board_of
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.layer3.address_plan import make_plan, slots_of
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.layer3.cabling import HeardPort, judge

BOARD = board_of("0x1060")
assert BOARD is not None
SLOTS = slots_of(BOARD)
HOSTS = ["n1", "n2", "n3"]
PLAN = make_plan(HOSTS, SLOTS, ["10.200.0.0/16"]).all()
Ports = dict[tuple[str, int], HeardPort]


def cluster(hosts: Sequence[str] = HOSTS, rack: str = "", described: bool = True) -> Ports:
    """Three planes, as the n-th port of each card hangs on switch n."""
    found = {}
    for host in hosts:
        for number, slot in enumerate(SLOTS):
            description = f"no-alert {PLAN[host][number].announced}" if described and host in PLAN else ""
            found[host, number] = HeardPort(
                host,
                slot,
                f"e{slot.module_id}d{slot.port}",
                True,
                1,
                f"{rack}leaf{number % 3}",
                f"{host}/{number}",
                description,
                (f"{PLAN[host][number].address}/30",) if host in PLAN else (),
            )
    return found


def change(ports: Ports, place: tuple[str, int], **values: object) -> None:
    ports[place] = replace(ports[place], **values)  # type: ignore[arg-type]


def swap(ports: Ports, one: tuple[str, int], other: tuple[str, int]) -> None:
    """What the two hear is exchanged."""
    names = ("switch", "switch_port", "description")
    first, second = ({name: getattr(ports[place], name) for name in names} for place in (one, other))
    change(ports, one, **second)
    change(ports, other, **first)


def wrong(ports: Ports, planned: bool = True) -> dict[str, str]:
    """Sentence -> verdict of all that is not well."""
    cables = judge(list(ports.values()), PLAN if planned else {})
    assert [cable.port for cable in cables] == list(ports.values())
    return {cable.why: cable.verdict for cable in cables if cable.verdict != "ok"}


def test_a_cluster_as_planned_is_well() -> None:
    assert wrong(cluster()) == {}
    assert wrong(cluster(described=False)) == {}
    assert wrong(cluster(), planned=False) == {}
    assert judge([], PLAN) == []


FAULTS: list[tuple[Callable[[Ports], object], dict[str, str]]] = [
    (lambda ports: change(ports, ("n1", 0), link=False), {"n1 e0d17 has no link; check cable and switch.": "no link"}),
    (
        lambda ports: change(ports, ("n2", 23), heard=0, switch="", switch_port="", description=""),
        {"n2 e7d19 has a link and no LLDP neighbor; switch LLDP on at its other end.": "no neighbor"},
    ),
    (
        lambda ports: change(ports, ("n2", 23), heard=2),
        {"n2 e7d19 hears 2 LLDP neighbors; look for a hub or a bridge in between.": "several neighbors"},
    ),
    (
        lambda ports: swap(ports, ("n1", 0), ("n1", 3)),
        {"The cables of n1 e0d17 and n1 e1d5 are swapped; exchange them.": "swapped"},
    ),
    (
        lambda ports: swap(ports, ("n1", 0), ("n2", 0)),
        {"The cables of n1 e0d17 and n2 e0d17 are swapped; exchange them.": "swapped"},
    ),
    (
        lambda ports: change(ports, ("n1", 1), description="no-alert 10.200.0.6/24"),
        {
            "n1 e0d20 on leaf1 n1/1: the description 'no-alert 10.200.0.6/24' has the mask /24 where a cable has /30 "
            "or /31.": "wrong mask"
        },
    ),
    (
        lambda ports: change(ports, ("n3", 0), description="no-alert 10.200.0.195/31"),
        {
            "n3 e0d17 on leaf0 n3/0 hears 10.200.0.195/31; 10.200.0.194/30 was planned.": "wrong address",
        },
    ),
    (
        lambda ports: change(ports, ("n3", 0), description="no-alert 10.200.0.194/31"),
        {
            "n3 e0d17 on leaf0 n3/0: the mask is /31 where /30 was planned; correct it there.": "wrong mask",
        },
    ),
    (
        lambda ports: change(ports, ("n1", 1), description="no-alert 10.200.9.2/30"),
        {
            "n1 e0d20 on leaf1 n1/1 hears 10.200.9.2/30; 10.200.0.6/30 was planned.": "wrong address",
        },
    ),
    (
        lambda ports: change(ports, ("n1", 0), switch="leaf9"),
        {
            "n1 e0d17 is on leaf9 n1/0; the same port (port 17 of card 0) of most nodes is on leaf0.": "wrong switch",
        },
    ),
    (
        lambda ports: change(ports, ("n2", 0), addresses=("10.200.0.1/30",)),
        {
            "n1 e0d17 has the address 10.200.0.1/30, as n2 e0d17 has; give each port its own.": "address twice",
            "n2 e0d17 has the address 10.200.0.1/30, as n1 e0d17 has; give each port its own.": "address twice",
        },
    ),
    (
        lambda ports: change(ports, ("n2", 0), description="no-alert 10.200.0.2/30"),
        {
            "n1 e0d17 hears 'no-alert 10.200.0.2/30' from leaf0 n1/0, as n2 e0d17 does; correct one.": "address twice",
            "n2 e0d17 hears 'no-alert 10.200.0.2/30' from leaf0 n2/0, as n1 e0d17 does; correct one.": "address twice",
        },
    ),
]


@pytest.mark.parametrize(("fault", "sentences"), FAULTS)
def test_each_fault_is_named_and_nothing_else(fault: Callable[[Ports], object], sentences: dict[str, str]) -> None:
    ports = cluster()
    fault(ports)
    assert wrong(ports) == sentences


def test_a_swap_shows_by_the_switches_where_nothing_is_described() -> None:
    ports = cluster(described=False)
    swap(ports, ("n2", 4), ("n2", 5))
    assert wrong(ports, planned=False) == {"The cables of n2 e1d8 and n2 e1d9 are swapped; exchange them.": "swapped"}


def test_two_nodes_alone_cannot_say_who_is_wrong() -> None:
    ports = cluster(["n1", "n2"], described=False)
    change(ports, ("n1", 0), switch="leaf9")
    assert set(wrong(ports).values()) == {"rail on two switches"}
    assert len(wrong(ports)) == 2


def test_racks_with_switches_of_their_own_are_not_held_against_each_other() -> None:
    ports = {**cluster(rack="a-"), **cluster(["m1", "m2", "m3"], rack="b-")}
    assert wrong(ports) == {}
    change(ports, ("m2", 7), switch="a-leaf1")
    change(ports, ("m2", 8), switch="a-leaf2")
    assert list(wrong(ports).values()) == ["wrong switch", "wrong switch"]
