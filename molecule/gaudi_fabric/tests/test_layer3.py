# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Layer 3 over real cables: veth pairs into a switch with a real lldpd, by what the kernels of both ends then have.

What is expected comes from the sandbox's own list of cables and from the switch, never from the role.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ansible_runner
import pytest
from testinfra.host import Host

from sandbox.cluster import load
from sandbox.fabric import Cable, ensure_fabric
from sandbox.nodes import in_node
from tests.sandbox_nodes import SANDBOX, bytes_sent, hosts, run, sandbox

LAYER3 = {
    "gaudi_fabric_layer": 3,
    "gaudi_fabric_pools": ["10.200.0.0/16"],
    "gaudi_fabric_hosts": ["node1", "node2"],
}
GAUDINET = "/etc/habanalabs/gaudinet.json"
PACKAGES = "lldpd lldpad"
CONFIGURED = f"cat {GAUDINET} /etc/systemd/network/50-gaudi3-scale-* | sha256sum"
# One end of a stream between two addresses of the fabric; the other reads it to its end.
SERVE = (
    "import socket, sys; s = socket.create_server((sys.argv[1], 7777)); c = s.accept()[0]; c.sendall(bytes(8 << 20))"
)
READ = (
    "import socket, sys; s = socket.create_connection((sys.argv[2], 7777), 10, (sys.argv[1], 0));"
    " print(sum(map(len, iter(lambda: s.recv(1 << 16), bytes()))))"
)


def on_switch(*command: str) -> str:
    return in_node(load(SANDBOX).switch, *command)


def announce(port: str, text: str) -> None:
    on_switch("lldpcli", "configure", "ports", port, "lldp", "portdescription", text)
    on_switch("lldpcli", "update")


def wait_until(what: Callable[[], bool], seconds: float = 40) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.5)


def hears(host: Host, interface: str, text: str) -> None:
    wait_until(lambda: text in host.check_output("lldpctl -f keyvalue %s", interface))


@pytest.fixture(scope="module")
def nodes() -> dict[str, Host]:
    return {name: host for name, host in hosts().items() if name in ("node1", "node2")}


@pytest.fixture(scope="module", autouse=True)
def cables(nodes: dict[str, Host], tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Cable]]:
    """Cabled, and set up by the first run; layer 2 without a trace afterwards."""
    found = ensure_fabric(load(SANDBOX))
    fabric(tmp_path_factory.mktemp("first"))
    yield found
    fabric(tmp_path_factory.mktemp("back"), gaudi_fabric_layer=2)
    for host in nodes.values():
        assert not host.file(GAUDINET).exists
        assert host.run("ls /etc/systemd/network/50-gaudi3-scale-*").rc != 0
        assert "10.200." not in host.check_output("ip -4 address")
        host.check_output(f"systemctl disable --now systemd-networkd && apt-get purge -qy {PACKAGES}")
        host.check_output("rm -rf /etc/habanalabs/gaudinet.json* /var/lib/lldpad")
    sandbox("fabric", "--remove")


def fabric(directory: Path, **options: object) -> ansible_runner.Runner:
    done = run(directory, "fabric", **{**LAYER3, **options})
    assert done.status == "successful", done.stdout.read()[-4000:]
    return done


def refused(directory: Path, **options: object) -> dict[str, str]:
    """What each host that the run refused said."""
    done = run(directory, "fabric", **{**LAYER3, **options})
    said = {}
    for event in done.events:
        if event["event"] == "runner_on_failed":
            said[event["event_data"]["host"]] = str(event["event_data"]["res"]["msg"])
    assert done.rc != 0
    return said


def findings(directory: Path) -> list[str]:
    """What the plan says of the cables."""
    target = directory / "reports"
    done = run(directory, "plan_fabric", gaudi_report_target=str(target), **LAYER3)
    assert done.status == "successful", done.stdout.read()[-4000:]
    data: dict[str, Any] = json.loads((target / "plan_fabric.json").read_text())
    return list(data["data"]["findings"])


def first_of(cables: list[Cable], node: str, count: int) -> list[Cable]:
    return [one for one in cables if one.node == node][:count]


def test_each_port_has_the_address_of_its_cable(cables: list[Cable], nodes: dict[str, Host]) -> None:
    for name, host in nodes.items():
        shown = json.loads(host.check_output("ip -json -4 address"))
        found = {
            (link["ifname"], f"{one['local']}/{one['prefixlen']}", link["mtu"])
            for link in shown
            for one in link["addr_info"]
            if link["ifname"].startswith("enp")
        }
        assert found == {(one.interface, f"{one.address}/30", 8000) for one in cables if one.node == name}


def test_gaudinet_has_who_is_really_at_the_other_end(cables: list[Cable], nodes: dict[str, Host]) -> None:
    macs = {link["ifname"]: link["address"] for link in json.loads(on_switch("ip", "-json", "link"))}
    for name, host in nodes.items():
        written = json.loads(host.file(GAUDINET).content_string)
        assert written == {
            "NIC_NET_CONFIG": [
                {
                    "NIC_MAC": one.mac,
                    "NIC_IP": one.address,
                    "SUBNET_MASK": "255.255.255.252",
                    "GATEWAY_MAC": macs[one.switch_port],
                }
                for one in cables
                if one.node == name
            ]
        }


def test_every_port_reaches_its_fellow_on_the_other_node_by_its_own_cable(
    cables: list[Cable], nodes: dict[str, Host]
) -> None:
    pairs = list(zip(*(first_of(cables, name, 24) for name in ("node1", "node2"))))
    before = bytes_sent(nodes["node1"])
    # As large as the MTU allows, and not to be cut up on the way. All at once: each is a cable of its own.
    pings = [f"ping -c 3 -i 0.2 -W 2 -M do -s 7972 -I {mine.address} {theirs.address} &" for mine, theirs in pairs]
    nodes["node1"].check_output("\n".join([*pings, "for ping in $(jobs -p); do wait $ping || exit 1; done"]))
    after = bytes_sent(nodes["node1"])
    short = [mine.interface for mine, _ in pairs if after[mine.interface] - before[mine.interface] < 3 * 7972]
    assert (len(pairs), short) == (24, [])


def test_a_stream_crosses_the_switch(cables: list[Cable], nodes: dict[str, Host]) -> None:
    mine, theirs = first_of(cables, "node1", 1)[0], first_of(cables, "node2", 1)[0]
    nodes["node2"].check_output(f"systemd-run --quiet --collect python3 -c '{SERVE}' {theirs.address}")
    wait_until(lambda: ":7777" in nodes["node2"].check_output("ss -Hltn"))
    assert nodes["node1"].check_output(f"python3 -c '{READ}' {mine.address} {theirs.address}") == str(8 << 20)


def test_the_second_run_changes_nothing_and_is_one_call_of_the_module(tmp_path: Path) -> None:
    done = fabric(tmp_path)
    assert {host: done.stats["changed"].get(host, 0) for host in ("node1", "node2")} == {"node1": 0, "node2": 0}
    actions = [
        event["event_data"]["resolved_action"]
        for event in done.events
        if event["event"] == "runner_on_ok" and event["event_data"]["host"] == "node1"
    ]
    assert actions.count("gaudi3.scale.hpu_fabric") == 1
    assert not {"ansible.builtin.apt", "ansible.builtin.systemd_service"} & set(actions)


def test_the_switch_s_announcements_give_the_same_addresses(tmp_path: Path) -> None:
    done = fabric(tmp_path, gaudi_fabric_addresses="lldp", gaudi_fabric_pools=[], gaudi_fabric_hosts=[])
    assert not any(done.stats["changed"].values())


def test_the_plan_finds_nothing_wrong(tmp_path: Path) -> None:
    assert findings(tmp_path) == []


def test_swapped_cables_are_named_and_nothing_is_written(
    cables: list[Cable], nodes: dict[str, Host], tmp_path: Path
) -> None:
    one, other = first_of(cables, "node1", 2)
    before = nodes["node1"].check_output(CONFIGURED)
    give(one.switch_port, other.gateway)
    give(other.switch_port, one.gateway)
    try:
        hears(nodes["node1"], one.interface, other.gateway)
        hears(nodes["node1"], other.interface, one.gateway)
        pair = f"node1 {one.interface} and node1 {other.interface}"
        assert findings(tmp_path) == [f"The cables of {pair} are swapped; exchange them."]
        said = refused(tmp_path)
        assert said == {"node1": f"The cables of {one.interface} and {other.interface} are swapped; exchange them."}
        assert nodes["node1"].check_output(CONFIGURED) == before
    finally:
        give(one.switch_port, one.gateway)
        give(other.switch_port, other.gateway)
        hears(nodes["node1"], one.interface, one.gateway)
        hears(nodes["node1"], other.interface, other.gateway)


def give(port: str, gateway: str) -> None:
    """What is at the end of a cable: its address, and what it says."""
    on_switch("ip", "address", "flush", "dev", port, "scope", "global")
    on_switch("ip", "address", "add", f"{gateway}/30", "dev", port)
    announce(port, f"no-alert {gateway}/30")


@pytest.mark.long
def test_a_wrong_mask_is_named(cables: list[Cable], nodes: dict[str, Host], tmp_path: Path) -> None:
    (one,) = first_of(cables, "node2", 1)
    text = f"no-alert {one.gateway}/24"
    announce(one.switch_port, text)
    try:
        hears(nodes["node2"], one.interface, text)
        wrong = f"description {text!r} has the mask /24 where a cable has /30 or /31."
        assert refused(tmp_path) == {"node2": f"{one.interface}: the switch's {wrong}"}
        (found,) = findings(tmp_path)
        assert found == f"node2 {one.interface} on switch1 {one.switch_port}: the {wrong}"
    finally:
        announce(one.switch_port, f"no-alert {one.gateway}/30")
        hears(nodes["node2"], one.interface, f"{one.gateway}/30")


@pytest.mark.long
def test_a_port_without_a_cable_is_named_and_no_half_file_is_written(
    cables: list[Cable], nodes: dict[str, Host], tmp_path: Path
) -> None:
    one = first_of(cables, "node1", 6)[5]
    before = nodes["node1"].check_output(CONFIGURED)
    on_switch("ip", "link", "set", one.switch_port, "down")
    try:
        said = refused(tmp_path, gaudi_fabric_link_timeout=1)["node1"]
        assert f"{GAUDINET} is not written: {one.interface} (port 9 of card 1) has no link" in said
        assert nodes["node1"].check_output(CONFIGURED) == before
        assert findings(tmp_path) == [f"node1 {one.interface} has no link; check cable and switch."]
    finally:
        on_switch("ip", "link", "set", one.switch_port, "up")
        hears(nodes["node1"], one.interface, one.gateway)


def test_a_switch_that_does_not_answer_is_named(cables: list[Cable], tmp_path: Path) -> None:
    (one,) = first_of(cables, "node2", 1)
    on_switch("ip", "address", "del", f"{one.gateway}/30", "dev", one.switch_port)
    try:
        said = refused(tmp_path)["node2"]
        assert f"no answer for {one.gateway} on {one.interface} (port 17 of card 0)" in said
    finally:
        on_switch("ip", "address", "add", f"{one.gateway}/30", "dev", one.switch_port)


@pytest.mark.long
def test_two_nodes_with_one_address_are_named(cables: list[Cable], nodes: dict[str, Host], tmp_path: Path) -> None:
    mine, theirs = first_of(cables, "node1", 1)[0], first_of(cables, "node2", 1)[0]
    nodes["node2"].check_output(f"ip address add {mine.address}/30 dev {theirs.interface}")
    try:
        both = [(f"node1 {mine.interface}", f"node2 {theirs.interface}")]
        both += [both[0][::-1]]
        assert findings(tmp_path) == [
            f"{this} has the address {mine.address}/30, as {that} has; give each port its own." for this, that in both
        ]
    finally:
        nodes["node2"].check_output(f"ip address del {mine.address}/30 dev {theirs.interface}")


@pytest.mark.long
def test_a_card_that_was_replaced_is_named_and_set_up_anew(
    cables: list[Cable], nodes: dict[str, Host], tmp_path: Path
) -> None:
    (one,) = first_of(cables, "node1", 1)
    node, new = nodes["node1"], "02:5a:00:00:00:77"
    node.check_output(f"ip link set {one.interface} address {new}")
    try:
        said = fabric(tmp_path).stdout.read()
        assert f"was for {one.mac}, which this node no longer has" in " ".join(said.split())
        assert new in node.file(GAUDINET).content_string
        assert one.mac not in node.file(GAUDINET).content_string
        node.check_output(f"ping -c 1 -W 2 -I {one.interface} {one.gateway}")
    finally:
        node.check_output(f"ip link set {one.interface} address {one.mac}")
        fabric(tmp_path)


@pytest.mark.long
def test_what_a_person_wrote_is_kept_beside(nodes: dict[str, Host], tmp_path: Path) -> None:
    node, listed = nodes["node1"], f"ls {GAUDINET}.*.bak"
    before = set(node.run(listed).stdout.split())
    node.check_output(f"sed -i s/10.200.0.1/10.9.9.9/ {GAUDINET}")
    fabric(tmp_path)
    assert "10.9.9.9" not in node.file(GAUDINET).content_string
    (kept,) = set(node.check_output(listed).split()) - before
    assert "10.9.9.9" in node.file(kept).content_string
