# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A routed network between the cards of a sandbox: each external port is a real cable to a switch.

The switch is a container that forwards, with a real lldpd that announces each port's address in its description. A
cable is a veth pair: a bridge in between would swallow the frames of LLDP. What is not as in a rack: the traffic is the
kernel's, no RDMA, and priority flow control is a setting without effect. A node that boots loses its cables: do it
again.
"""

from __future__ import annotations

import ipaddress
import json
from dataclasses import dataclass

from .commands import run, step
from .distribution import host_distribution
from .image import ensure_image
from .nodes import CAPABILITIES, in_node, wait_for_ssh
from .packages_in_nodes import install, write_files
from .plan import ClusterPlan, NodePlan
from .podman import containers, labels, limits, podman

DEFAULT_POOL = "10.200.0.0/16"
# Of a server full of cards: one node's ports take so many /30, whatever it has.
PORTS = 24
MTU = 9000
SWITCH_PACKAGES = ("lldpd",)
LLDP_FILE = "/etc/lldpd.d/ports.conf"


@dataclass(frozen=True)
class Cable:
    """From a card's port to a port of the switch, with the addresses that are meant for both ends."""

    node: str
    interface: str
    mac: str
    switch_port: str
    address: str
    gateway: str


def ensure_fabric(cluster: ClusterPlan, pool: str = DEFAULT_POOL) -> list[Cable]:
    """Cable all nodes; returns the cables. The addresses of the nodes' ends are left to who configures them."""
    with step(f"Cables from {len(cluster.nodes)} nodes to {cluster.switch.container}"):
        _ensure_switch(cluster)
        cables = []
        for number, node in enumerate(cluster.nodes):
            mine = _cables(number, node, pool)
            cables += mine
            _plug(node, cluster.switch, mine)
            in_node(node, "gaudi-simulator", "render")
        _configure(cluster.switch, cables)
    return cables


def remove_fabric(cluster: ClusterPlan) -> None:
    """Take the switch away, and with it the other ends of all cables: its namespace's end is theirs."""
    podman("rm", "--force", "--ignore", "--time", "0", cluster.switch.container)
    for node in cluster.nodes:
        in_node(node, "gaudi-simulator", "render")


def _cables(number: int, node: NodePlan, pool: str) -> list[Cable]:
    ports = json.loads(in_node(node, "gaudi-simulator", "external-ports"))
    first = int(ipaddress.ip_network(pool).network_address) + number * PORTS * 4
    return [
        Cable(
            node.name,
            port["interface"],
            port["mac"],
            f"{node.name}p{place}",
            str(ipaddress.ip_address(first + place * 4 + 1)),
            str(ipaddress.ip_address(first + place * 4 + 2)),
        )
        for place, port in enumerate(ports)
    ]


def _ensure_switch(cluster: ClusterPlan) -> None:
    switch = cluster.switch
    there = {container.name: container.state for container in containers(cluster.name)}
    if there.get(switch.container) == "running":
        return
    if switch.container in there:
        podman("rm", "--force", "--time", "0", switch.container)
    podman(
        "run", "--detach",
        "--name", switch.container,
        "--hostname", switch.name,
        "--network", cluster.network,
        "--ip", switch.address,
        "--systemd", "always",
        f"--cap-add={CAPABILITIES}",
        "--sysctl", "net.ipv4.ip_forward=1",
        *limits(),
        *labels(cluster.name),
        ensure_image(host_distribution()), "/sbin/init",
        # It has no cards.
        "systemd.mask=gaudi-simulated-kernel.service", "systemd.mask=gaudi-simulated-state.path",
    )  # fmt: skip
    wait_for_ssh((switch,))
    install(switch, *SWITCH_PACKAGES)


def _plug(node: NodePlan, switch: NodePlan, cables: list[Cable]) -> None:
    """Make those veth pairs that are not there; both of a pair go with either container."""
    there = {link["ifname"] for link in json.loads(in_node(node, "ip", "-json", "link"))}
    here, other = _process(node), _process(switch)
    lines = [
        f"link add {one.interface} address {one.mac} netns {here} type veth peer name {one.switch_port} netns {other}\n"
        for one in cables
        if one.interface not in there
    ]
    if lines:
        run(["ip", "-batch", "-"], text_in="".join(lines))


def _process(node: NodePlan) -> str:
    return podman("inspect", "--format", "{{.State.Pid}}", node.container).strip()


def _configure(switch: NodePlan, cables: list[Cable]) -> None:
    lines = [
        f"address replace {one.gateway}/30 dev {one.switch_port}\nlink set {one.switch_port} mtu {MTU} up\n"
        for one in cables
    ]
    in_node(switch, "ip", "-batch", "-", text_in="".join(lines))
    announced = ["configure lldp portidsubtype ifname", "configure lldp tx-interval 2"]
    announced += [
        f'configure ports {one.switch_port} lldp portdescription "no-alert {one.gateway}/30"' for one in cables
    ]
    write_files(switch, {LLDP_FILE: "\n".join(announced) + "\n"})
    # It reads its file at the start, and then knows the ports that were there.
    in_node(switch, "systemctl", "restart", "lldpd")
