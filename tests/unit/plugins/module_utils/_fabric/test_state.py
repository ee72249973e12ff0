# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A node's network from its sysfs: what is found, which one is chosen, and how the cards' ports come up."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hardware import external_ports
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.ip_addresses import management_interface
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.layer3.port_addresses import RoutedOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.ports import UNIT, rule_text, tool
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.state import (
    FabricOptions,
    Place,
    converge,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.sysfs import CardPort, HostNic, read_network
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.tests.unit.unit_runner import UnitRunner

CARDS = ("0000:19:00.0", "0000:3b:00.0")
ON, OFF = "0x1003", "0x1002"
# The vendor's tool as far as it matters: every netdev whose parent is a card is switched on; `cable` names those that
# then have a link.
TOOL = """\
#!/bin/sh
[ "$1" = --up ] || exit 2
for device in {net}/*/device; do
  [ "$(cat "$device/vendor")" = 0x1da3 ] || continue
  port=${{device%/device}}
  echo 0x1003 > "$port/flags"
  [ ! -e "$port/cable" ] || echo up > "$port/operstate"
done
"""


class Node:
    """Two cards (Gaudi 3, module ids 0 and 1), a management interface; ``load`` makes the cards' ports appear."""

    def __init__(self, root: Path, pci_id: str = "0x1060", cards: Sequence[str] = CARDS) -> None:
        self.root, self.etc, self.kernel = root, root / "etc", root / "kernel"
        self.pci_id = pci_id
        for address in cards:
            self.pci(address, vendor="0x1da3", device=pci_id, **{"class": "0x120000"})
        self.pci("0000:22:00.0", vendor="0x15b3", device="0x101b", **{"class": "0x020000"})
        self.netdev("ens1", "0000:22:00.0", operstate="up", flags=ON)
        self.values("sys/class/net/lo", operstate="unknown", flags="0x9")
        self.tool = root / "manage_network_ifs.sh"
        self.tool.write_text(TOOL.format(net=self.kernel / "sys/class/net"), encoding="utf-8")
        self.tool.chmod(0o755)
        self.run = UnitRunner(self.etc, {"ip": self.ip})
        self.slept = 0.0

    def ip(self, argv: Sequence[str]) -> CommandResult:
        routes = [{"dst": "default", "dev": "wlan0", "metric": 600}, {"dst": "default", "dev": "ens1", "metric": 100}]
        return CommandResult(0, json.dumps(routes) if argv[2] == "-4" else "[]", "")

    def values(self, path: str, **values: str) -> Path:
        directory = self.kernel / path
        directory.mkdir(parents=True, exist_ok=True)
        for name, value in values.items():
            (directory / name).write_text(f"{value}\n", encoding="utf-8")
        return directory

    def pci(self, address: str, **values: str) -> Path:
        return self.values(f"sys/bus/pci/devices/{address}", **values)

    def netdev(self, name: str, address: str, **values: str) -> None:
        directory = self.values(f"sys/class/net/{name}", **values)
        (directory / "device").symlink_to(self.kernel / "sys/bus/pci/devices" / address)

    def load(self, cabled: bool = True) -> None:
        for module_id, address in enumerate(CARDS):
            self.pci(address, module_id=str(module_id), pci_addr=address)
            accel = self.values(f"sys/class/accel/accel{module_id}")
            (accel / "device").symlink_to(self.kernel / "sys/bus/pci/devices" / address)
            for port in external_ports(self.pci_id, module_id):
                extra = {"cable": "yes"} if cabled else {}
                self.netdev(f"ens{module_id}d{port}", address, operstate="down", flags=OFF, dev_port=str(port), **extra)

    def rdma(self, name: str, address: str, layer: str, state: str, **pci: str) -> None:
        self.pci(address, **pci)
        directory = self.values(f"sys/class/infiniband/{name}/ports/1", link_layer=layer, state=state).parents[1]
        (directory / "device").symlink_to(self.kernel / "sys/bus/pci/devices" / address)

    def sleep(self, seconds: float) -> None:
        self.slept += seconds

    def converge(self, check_mode: bool = False, **options: Any) -> dict[str, Any]:
        place = Place(str(self.kernel), str(self.etc), tool=lambda generation: str(self.tool), sleep=self.sleep)
        return converge(FabricOptions(**options), self.run, check_mode, place)

    def files(self) -> set[str]:
        return {str(path.relative_to(self.etc)) for path in self.etc.rglob("*") if path.is_file()}


MELLANOX = {"vendor": "0x15b3", "device": "0x1021"}


def test_what_sysfs_shows(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.load()
    node.rdma("hbl_0", CARDS[0], "Ethernet", "4: ACTIVE", vendor="0x1da3")
    node.rdma("mlx5_0", "0000:5a:00.0", "InfiniBand", "4: ACTIVE", **MELLANOX)
    network = read_network(str(node.kernel))
    assert network.generation == "gaudi3"
    assert network.expected_ports == 6
    assert [port.number for port in network.ports] == [17, 20, 21, 5, 8, 9]
    assert network.ports[0] == CardPort("ens0d17", CARDS[0], 17, enabled=False, link=False, module_id=0)
    assert network.nics == (HostNic("mlx5_0", "infiniband", True, ()),)


def test_the_first_run_brings_the_ports_up_and_the_second_changes_nothing(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.load()
    shown = node.converge(check_mode=True)
    assert node.files() == set()
    result = node.converge()
    assert result["changed"]
    assert [entry["after_header"].split("/")[-1] for entry in result["diff"]] == [
        f"{UNIT} (mode 0644)",
        "90-gaudi3-scale-ports.rules (mode 0644)",
        "external ports of the cards",
        UNIT,
    ]
    names = [f"ens{card}d{port}" for card, ports in ((0, (17, 20, 21)), (1, (5, 8, 9))) for port in ports]
    assert result["diff"][2]["before"].splitlines() == [f"{name} down" for name in names]
    assert result["diff"][2]["after"].splitlines() == [f"{name} up" for name in names]
    assert shown["diff"] == result["diff"]
    assert result["warnings"] == []
    assert result["ansible_facts"] == {"gaudi_fabric": result["fabric"]}
    fabric = result["fabric"]
    assert fabric["provider"] == "gaudi_ethernet"
    assert fabric["reason"] == "6 of 6 external ports of the cards have a link"
    assert fabric["interface"] == "ens1"
    assert (fabric["ports_expected"], fabric["ports_with_link"]) == (6, 6)
    assert node.run.enabled == {UNIT}
    node.run.calls.clear()
    second = node.converge()
    assert not second["changed"]
    assert second["diff"] == []
    assert not any("restart" in call or "enable --" in call for call in node.run.calls)


def test_a_reload_of_the_driver_is_made_up_for(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.load()
    node.converge()
    node.values("sys/class/net/ens1d8", flags=OFF, operstate="down")
    result = node.converge()
    assert [entry["after"] for entry in result["diff"]] == ["ens1d8 up\n"]
    assert result["fabric"]["ports_with_link"] == 6


def test_a_port_without_cable_is_named_and_not_waited_for_again(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.load()
    (node.kernel / "sys/class/net/ens1d8/cable").unlink()
    first = node.converge(link_timeout=5)
    assert node.slept == 5
    second = node.converge()
    assert node.slept == 5
    assert not second["changed"]
    for result in (first, second):
        (warning,) = result["warnings"]
        assert warning.endswith(
            "gaudi_ethernet: no link on ens1d8 (card 0000:3b:00.0 port 8); check cables and switch."
        )
        assert result["fabric"]["reason"] == "5 of 6 external ports of the cards have a link"


def test_before_the_driver_the_provider_is_what_the_cards_will_have(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.rdma("mlx5_0", "0000:5a:00.0", "InfiniBand", "4: ACTIVE", **MELLANOX)
    node.tool.unlink()
    result = node.converge(check_mode=True)
    assert result["changed"]
    assert result["fabric"]["provider"] == "gaudi_ethernet"
    with pytest.raises(
        GaudiError, match=r"manage_network_ifs\.sh is not on this node; install the package habanalabs-qual"
    ):
        node.converge()
    assert node.files() == set()


def test_the_tool_of_each_generation_is_the_vendors() -> None:
    assert tool("gaudi2") == "/opt/habanalabs/qual/gaudi2/bin/manage_network_ifs.sh"
    assert 'ATTRS{vendor}=="0x1da3"' in rule_text()
    assert f'ENV{{SYSTEMD_WANTS}}+="{UNIT}"' in rule_text()


def test_without_links_the_hosts_rdma_card_is_chosen(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.load(cabled=False)
    node.rdma("mlx5_0", "0000:5a:00.0", "InfiniBand", "4: ACTIVE", **MELLANOX)
    result = node.converge(link_timeout=0)
    assert result["fabric"]["provider"] == "infiniband"
    assert result["warnings"] == []


@pytest.mark.parametrize(
    ("layer", "state", "interface", "provider"),
    [
        ("InfiniBand", "4: ACTIVE", "ens1", "infiniband"),
        ("InfiniBand", "1: DOWN", "ens1", "ethernet"),
        ("Ethernet", "4: ACTIVE", "ens1", "roce"),
        # The RoCE card carries the management traffic.
        ("Ethernet", "4: ACTIVE", "ens9", "ethernet"),
    ],
)
def test_hosts_without_card_ports(tmp_path: Path, layer: str, state: str, interface: str, provider: str) -> None:
    node = Node(tmp_path, cards=())
    node.rdma("mlx5_0", "0000:5a:00.0", layer, state, **MELLANOX)
    node.values("sys/bus/pci/devices/0000:5a:00.0/net/ens9", flags=ON)
    result = node.converge(interface=interface)
    assert result["fabric"]["provider"] == provider
    assert not result["changed"]
    assert node.files() == set()


@pytest.mark.parametrize("driver", [True, False])
def test_an_elastic_fabric_adapter_is_found_with_and_without_its_driver(tmp_path: Path, driver: bool) -> None:
    node = Node(tmp_path, cards=())
    ids = {"vendor": "0x1d0f", "device": "0xefa1"}
    if driver:
        node.rdma("efa_0", "0000:7c:00.0", "Unspecified", "4: ACTIVE", **ids)
    else:
        node.pci("0000:7c:00.0", **ids)
    result = node.converge()
    assert result["fabric"]["provider"] == "efa"
    assert len(result["host_nics"]) == 1
    assert ["gaudi_fabric_efa_version" in warning for warning in result["warnings"]] == ([] if driver else [True])


def test_an_elastic_fabric_adapter_beside_gaudi_3_is_only_taken_when_it_is_asked_for(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.load(cabled=False)
    node.rdma("efa_0", "0000:7c:00.0", "Unspecified", "4: ACTIVE", vendor="0x1d0f", device="0xefa1")
    assert node.converge()["fabric"]["provider"] == "gaudi_ethernet"
    assert node.converge(provider="efa")["fabric"]["provider"] == "efa"


def test_a_node_with_nothing_has_plain_ethernet(tmp_path: Path) -> None:
    result = Node(tmp_path, cards=()).converge()
    assert result["fabric"] == {
        "provider": "ethernet",
        "reason": "the cards have no external ports and the host has no RDMA card",
        "interface": "ens1",
        "ports_expected": 0,
        "ports_with_link": 0,
        "layer": None,
    }
    assert (result["ports"], result["host_nics"]) == ([], [])
    assert result["warnings"] == []


def test_a_card_that_only_bridges_to_its_neighbors_needs_no_unit(tmp_path: Path) -> None:
    node = Node(tmp_path, pci_id="0x1021")
    assert node.converge()["fabric"]["provider"] == "ethernet"
    assert node.files() == set()


def test_another_provider_takes_the_unit_away(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.load()
    node.converge()
    result = node.converge(provider="ethernet", interface="bond0")
    assert result["changed"]
    assert node.files() == set()
    assert node.run.enabled == set()
    assert (result["fabric"]["provider"], result["fabric"]["interface"]) == ("ethernet", "bond0")
    assert not node.converge(provider="ethernet")["changed"]


@pytest.mark.parametrize(
    ("provider", "layer", "remedy"),
    [("infiniband", "Ethernet", "cable and subnet manager"), ("roce", "InfiniBand", "cable and switch")],
)
def test_a_provider_by_name_without_a_link_is_warned_of(tmp_path: Path, provider: str, layer: str, remedy: str) -> None:
    node = Node(tmp_path)
    # A card of the other kind is none of this one.
    node.rdma("mlx5_0", "0000:5a:00.0", layer, "4: ACTIVE", **MELLANOX)
    (warning,) = node.converge(provider=provider)["warnings"]
    assert f"{provider}: no such card of this host has a link; check its driver, {remedy}." in warning


def test_missing_ports_are_counted(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.load()
    for path in (node.kernel / "sys/class/net").glob("ens0d*"):
        (path / "device").unlink()
    (warning,) = node.converge()["warnings"]
    assert "3 of 6 external ports are there" in warning


def test_a_tool_that_fails_brings_its_own_words(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.load()
    node.tool.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    node.run.programs["journalctl"] = lambda argv: CommandResult(0, "ethtool: command not found\n", "")
    with pytest.raises(GaudiError, match=f"{UNIT} failed: ethtool: command not found") as caught:
        node.converge()
    assert caught.value.facts["log"] == ["ethtool: command not found"]


def test_a_tool_that_leaves_a_port_off_is_an_error(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.load()
    node.tool.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    with pytest.raises(GaudiError, match=r"ran and left ens0d17, .* off"):
        node.converge(link_timeout=0)


def test_an_unknown_provider_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        GaudiError, match="provider='tcp' is not known; use auto, gaudi_ethernet, infiniband, roce, efa, ethernet"
    ):
        Node(tmp_path).converge(provider="tcp")


@pytest.mark.parametrize(
    ("routed", "sentence"),
    [
        ({"pools": ["10.200.0.0/26"], "hosts": ["n1"], "host": "n1"}, "give a /25 or larger"),
        ({"pools": ["10.200.0.0/16"], "hosts": ["n1"], "host": "n2"}, "gaudi_fabric_hosts does not name 'n2'"),
        ({"pools": ["10.200.0.1/16"]}, "is an address within a network"),
        ({"hosts": ["n1; reboot"]}, "has 'n1; reboot', which is not a host name"),
        ({"mtu": 9216}, "gaudi_fabric_mtu is 9216"),
    ],
)
def test_what_makes_no_layer_3_is_refused_before_anything_is_touched(
    tmp_path: Path, routed: dict[str, Any], sentence: str
) -> None:
    node = Node(tmp_path)
    node.load()
    with pytest.raises(GaudiError, match=sentence):
        node.converge(routed=RoutedOptions(3, **routed))
    assert node.files() == set()
    assert node.run.calls == []


@pytest.mark.parametrize(
    ("answers", "interface"),
    [
        ({"-4": (0, '[{"dst":"default","dev":"eth0"}]')}, "eth0"),
        ({"-4": (0, "[]"), "-6": (0, '[{"dst":"default","dev":"eth1","metric":1024}]')}, "eth1"),
        ({"-4": (0, ""), "-6": (0, "")}, None),
        ({"-4": (127, ""), "-6": (127, "")}, None),
    ],
)
def test_the_interface_of_the_default_route(answers: dict[str, tuple[int, str]], interface: str | None) -> None:
    def run(argv: Sequence[str], **_: Any) -> CommandResult:
        rc, stdout = answers[argv[2]]
        return CommandResult(rc, stdout, "")

    assert management_interface(run) == interface


@pytest.mark.parametrize(("layer", "kind"), [("Ethernet", "roce"), ("InfiniBand", "infiniband")])
def test_boards_whose_loaded_driver_shows_no_port_take_the_hosts_network_card(
    tmp_path: Path, layer: str, kind: str
) -> None:
    """HL-338, driver loaded, hl-smi lists all, and manage_network_ifs.sh: no interfaces were detected."""
    node = Node(tmp_path, pci_id="0x1063")
    node.rdma("mlx5_0", "0000:5a:00.0", layer, "4: ACTIVE", **MELLANOX)
    waiting = node.converge(check_mode=True)["fabric"]
    assert (waiting["provider"], waiting["ports_expected"]) == ("gaudi_ethernet", 8)
    take(node)
    for _again in range(2):
        result = node.converge()
        fabric = result["fabric"]
        assert (fabric["provider"], fabric["ports_expected"], fabric["ports_with_link"]) == (kind, 0, 0)
        assert "these HL-338 cards show no external port" in result["warnings"][0]
        assert UNIT not in str(node.files())
    assert not result["changed"]
    assert node.slept == 0


def take(node: Node) -> None:
    """The driver takes the cards and shows no interface of them."""
    for number, address in enumerate(CARDS):
        node.pci(address, module_id=str(number), pci_addr=address)
        accel = node.values(f"sys/class/accel/accel{number}")
        (accel / "device").symlink_to(node.kernel / "sys/bus/pci/devices" / address)


def test_layer_3_says_that_these_boards_show_no_port(tmp_path: Path) -> None:
    node = Node(tmp_path, pci_id="0x1063")
    take(node)
    routed = RoutedOptions(layer=3, pools=("10.200.0.0/24",), hosts=("node1", "node2"), host="node1")
    result = node.converge(routed=routed)
    assert result["fabric"]["provider"] == "ethernet"
    assert result["addresses"] == []
    (warning,) = [one for one in result["warnings"] if "layer 3:" in one]
    assert "these HL-338 cards show no external port" in warning
    assert "set gaudi_fabric_layer to 2 for this host" in warning
    assert not node.converge(routed=routed)["changed"]


def test_ports_that_a_loaded_driver_should_show_are_missed_and_not_waited_for(tmp_path: Path) -> None:
    """OAM cards whose habanalabs_en is not there."""
    node = Node(tmp_path)
    node.rdma("mlx5_0", "0000:5a:00.0", "Ethernet", "4: ACTIVE", **MELLANOX)
    take(node)
    result = node.converge()
    assert result["fabric"]["provider"] == "roce"
    assert (
        "shows none of the 6 external ports that HL-325L cards have; see whether habanalabs_en" in result["warnings"][0]
    )
    assert node.slept == 0
    asked = node.converge(provider="gaudi_ethernet")
    assert "shows none of the 6 external ports" in asked["warnings"][0]
    assert not any("external ports" in one for one in node.converge(provider="ethernet")["warnings"])


def test_a_virtual_machine_with_one_of_eight_cards_has_three_ports(tmp_path: Path) -> None:
    node = Node(tmp_path, cards=CARDS[:1])
    assert read_network(str(node.kernel)).expected_ports == 3


def test_a_unit_of_somebody_else_at_our_path_is_kept_aside_and_named(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.load()
    unit = node.etc / f"systemd/system/{UNIT}"
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\nExecStart=/usr/local/bin/ports\n", encoding="utf-8")
    result = node.converge()
    assert f"{unit} was not written by gaudi3.scale" in result["warnings"][0]
    (copy,) = unit.parent.glob(f"{UNIT}.*.bak")
    assert "/usr/local/bin/ports" in copy.read_text(encoding="utf-8")
    again = node.converge()
    assert (again["changed"], again["warnings"]) == (False, [])


def test_a_unit_of_somebody_else_stays_where_we_want_none(tmp_path: Path) -> None:
    node = Node(tmp_path)
    unit = node.etc / f"systemd/system/{UNIT}"
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\nExecStart=/usr/local/bin/ports\n", encoding="utf-8")
    assert not node.converge(provider="ethernet")["changed"]
    assert unit.exists()
