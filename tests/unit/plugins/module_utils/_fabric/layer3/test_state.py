# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Layer 3 on a node with two cards: files, who is asked, what is refused, and that a second run changes nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hardware import external_ports
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.layer3 import state as layer3
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.layer3.port_addresses import RoutedOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.layer3.state import Outcome
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult

CARDS = ("0000:19:00.0", "0000:3b:00.0")
PORTS = [f"e{card}d{port}" for card in (0, 1) for port in external_ports("0x1060", card)]
GATEWAYS = {name: f"10.200.0.{4 * number + 2}" for number, name in enumerate(PORTS)}
SWITCH = {name: f"0a:00:00:00:00:{number:02x}" for number, name in enumerate(PORTS)}
OK = CommandResult(0, "", "")
OPTIONS = RoutedOptions(3, pools=["10.200.0.0/16"], hosts=["n1", "n2"], host="n1")
NETWORKD, WAIT_ONLINE = "systemd-networkd.service", "systemd-networkd-wait-online.service"


@dataclass
class Node:
    """The node as far as layer 3 asks it; ``answers`` has who answers on which port, ``said`` the switch's words."""

    root: Path
    answers: dict[str, str] = field(default_factory=lambda: dict(SWITCH))
    said: dict[str, str] = field(default_factory=dict)
    deaf: set[str] = field(default_factory=set)
    stale: dict[str, str] = field(default_factory=dict)
    enabled: set[str] = field(default_factory=set)
    active: set[str] = field(default_factory=set)
    programs: set[str] = field(default_factory=lambda: {"networkctl", "lldpctl", "ping", "lldptool", "ethtool"})
    calls: list[str] = field(default_factory=list)
    flow_control: bool = False
    slept: float = 0.0

    def __post_init__(self) -> None:
        for card, address in enumerate(CARDS):
            pci = {"vendor": "0x1da3", "device": "0x1060", "class": "0x120000"}
            device = self.values(f"sys/bus/pci/devices/{address}", **pci, module_id=str(card), pci_addr=address)
            accel = self.values(f"sys/class/accel/accel{card}")
            (accel / "device").symlink_to(device)
            for port in external_ports("0x1060", card):
                self.port(f"e{card}d{port}", device, port, f"02:00:00:00:{card:02x}:{port:02x}")

    def port(self, name: str, device: Path, number: int, mac: str) -> None:
        shown = {"operstate": "up", "flags": "0x1003", "dev_port": str(number), "address": mac}
        (self.values(f"sys/class/net/{name}", **shown) / "device").symlink_to(device)

    def values(self, path: str, **values: str) -> Path:
        directory = self.root / "kernel" / path
        directory.mkdir(parents=True, exist_ok=True)
        for name, value in values.items():
            (directory / name).write_text(f"{value}\n", encoding="utf-8")
        return directory

    # What RoutedPlace wants.
    @property
    def kernel_root(self) -> str:
        return str(self.root / "kernel")

    @property
    def etc(self) -> str:
        return str(self.root / "etc")

    @property
    def networkd_run(self) -> str:
        return str(self.root / "run")

    def sleep(self, seconds: float) -> None:
        self.slept += seconds

    def installed(self, program: str) -> bool:
        return program in self.programs

    def run(self, argv: Sequence[str], **_: Any) -> CommandResult:
        self.calls.append(" ".join(argv))
        return getattr(self, argv[0].strip("/"))(list(argv))  # type: ignore[no-any-return]

    def systemctl(self, argv: list[str]) -> CommandResult:
        verb, unit = argv[1], argv[-1]
        if verb in ("is-enabled", "is-active"):
            return CommandResult(int(unit not in (self.enabled if verb == "is-enabled" else self.active)), "", "")
        if verb == "enable":
            self.enabled |= {unit, WAIT_ONLINE}  # as its Also= does
        if verb == "disable":
            self.enabled.discard(unit)
        if verb == "restart":
            self.active.add(unit)
        return OK

    def networkctl(self, argv: list[str]) -> CommandResult:
        assert argv == ["networkctl", "reload"]
        return OK

    def nmcli(self, argv: list[str]) -> CommandResult:
        return OK

    def lldpctl(self, argv: list[str]) -> CommandResult:
        heard = [
            {"name": name, "via": "LLDP", "port": [{"descr": [{"value": text}]}]} for name, text in self.said.items()
        ]
        return CommandResult(0, json.dumps({"lldp": [{"interface": heard}]}), "")

    def ping(self, argv: list[str]) -> CommandResult:
        name, gateway = argv[-2], argv[-1]
        return CommandResult(int(name in self.deaf or GATEWAYS[name] != gateway or name not in self.answers), "", "")

    def ip(self, argv: list[str]) -> CommandResult:
        if argv[-2:] == ["address", "show"]:
            return CommandResult(0, json.dumps([self.link(name) for name in PORTS]), "")
        if "flush" in argv:
            self.stale.pop(argv[-1], None)
            return OK
        name = argv[-1]
        if name in self.stale:
            return CommandResult(0, json.dumps([{"lladdr": self.stale[name], "state": ["REACHABLE"]}]), "")
        known = [{"lladdr": self.answers[name].upper(), "state": ["REACHABLE"]}] if name in self.answers else [{}]
        return CommandResult(0, json.dumps(known), "")

    def link(self, name: str) -> dict[str, Any]:
        files = Path(self.etc, "systemd/network").glob("*.network")
        here = {path.name.partition("-card")[2].partition(".")[0].replace("-port", "d"): path for path in files}
        text = here[name[1:]].read_text() if name[1:] in here else "\nAddress=/"
        return {"ifname": name, "addr_info": [{"local": text.partition("\nAddress=")[2].partition("/")[0]}]}

    def tool(self, argv: list[str]) -> CommandResult:
        if argv[1] == "--set-pfc":
            self.flow_control = True
        on = "0,1,2,3" if self.flow_control else "none"
        return CommandResult(0, "".join(f"check_pfc '{name}'\nenabled={on}\n" for name in PORTS), "")

    def converge(self, check_mode: bool = False, options: RoutedOptions = OPTIONS) -> Outcome:
        return layer3.converge(options, "/tool", 5.0, self.run, check_mode, self)

    def files(self) -> set[str]:
        return {str(path.relative_to(self.etc)) for path in Path(self.etc).rglob("*") if path.is_file()}

    def gaudinet(self) -> Any:
        return json.loads(Path(self.etc, "habanalabs/gaudinet.json").read_text())


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_the_first_run_sets_all_up_and_the_second_changes_nothing(node: Node) -> None:
    shown = node.converge(check_mode=True)
    assert node.files() == set()
    assert not any(call.startswith(("systemctl enable", "/tool --set")) for call in node.calls)
    first = node.converge()
    # Who answers is asked once the addresses are there; all else was foretold.
    assert [one["after_header"] for one in shown.diff] == [one["after_header"] for one in first.diff]
    assert shown.diff[0] == first.diff[0]
    ports = {f"systemd/network/50-gaudi3-scale-card{name[1]}-port{name[3:]}.network" for name in PORTS}
    records = {"habanalabs/gaudinet.json", "habanalabs/.gaudinet.json.written"}
    assert node.files() == ports | records | {"systemd/networkd.conf.d/50-gaudi3-scale.conf"}
    assert (node.enabled, node.active, node.flow_control) == ({NETWORKD}, {NETWORKD}, True)
    assert node.gaudinet()["NIC_NET_CONFIG"][1] == {
        "NIC_MAC": "02:00:00:00:00:14",
        "NIC_IP": "10.200.0.5",
        "SUBNET_MASK": "255.255.255.252",
        "GATEWAY_MAC": "0a:00:00:00:00:01",
    }
    assert first.addresses[0] == {
        "interface": "e0d17",
        "module_id": 0,
        "port": 17,
        "mac": "02:00:00:00:00:11",
        "address": "10.200.0.1",
        "prefix": 30,
        "gateway": "10.200.0.2",
        "gateway_mac": "0a:00:00:00:00:00",
    }
    node.calls.clear()
    second = node.converge()
    assert (second.diff, second.warnings) == ([], [])
    assert not any(call.startswith(("systemctl restart", "systemctl enable", "networkctl")) for call in node.calls)


def test_a_port_file_says_what_systemd_needs(node: Node) -> None:
    node.converge()
    text = Path(node.etc, "systemd/network/50-gaudi3-scale-card1-port8.network").read_text().splitlines()
    for line in ("MACAddress=02:00:00:00:01:08", "MTUBytes=8000", "RequiredForOnline=no", "Address=10.200.0.17/30"):
        assert line in text
    assert {"Gateway=10.200.0.18", "Table=31108", "From=10.200.0.17/32"} <= set(text)


@pytest.mark.parametrize("who", ["deaf", "gone"])
def test_who_does_not_answer_is_named_and_no_half_file_is_written(node: Node, who: str) -> None:
    if who == "gone":
        del node.answers["e1d8"]
    else:
        node.values("sys/class/net/e1d8", operstate="down")
    with pytest.raises(GaudiError) as refused:
        node.converge()
    assert "gaudinet.json is not written: " in str(refused.value)
    wanted = {
        "gone": "on e1d8 (port 8 of card 1); check that the switch's port has 10.200.0.18/30.",
        "deaf": "e1d8 (port 8 of card 1) has no link; check cable and switch.",
    }
    assert str(refused.value).endswith(wanted[who])
    assert "habanalabs/gaudinet.json" not in node.files()


def test_a_switch_that_answers_no_ping_still_says_who_it_is(node: Node) -> None:
    node.deaf = set(PORTS)
    node.converge()
    assert len(node.gaudinet()["NIC_NET_CONFIG"]) == 6


def test_a_table_from_before_is_asked_again(node: Node) -> None:
    node.converge()
    node.stale, node.deaf = {"e0d17": "0a:ff:ff:ff:ff:ff"}, {"e0d17"}
    node.answers["e0d17"] = "0a:00:00:00:00:99"
    outcome = node.converge()
    assert node.gaudinet()["NIC_NET_CONFIG"][0]["GATEWAY_MAC"] == "0a:00:00:00:00:99"
    assert [one["after_header"].partition(" ")[0] for one in outcome.diff] == [f"{node.etc}/habanalabs/gaudinet.json"]


def test_what_a_person_wrote_is_kept_beside(node: Node) -> None:
    path = Path(node.etc, "habanalabs/gaudinet.json")
    path.parent.mkdir(parents=True)
    path.write_text('{"NIC_NET_CONFIG": []}')
    outcome = node.converge()
    assert Path(outcome.backup).read_text() == '{"NIC_NET_CONFIG": []}'
    (warning,) = outcome.warnings
    assert "was written by hand" in warning
    assert node.converge().backup == ""


def test_what_is_stale_is_named(node: Node) -> None:
    node.converge()
    node.values("sys/class/net/e0d17", address="02:00:00:00:00:77")
    Path(node.etc, "gaudinet.json").write_text("{}")
    old = "50-gaudi3-scale-card7-port19.network"
    Path(node.etc, "systemd/network", old).write_text("[Match]\nMACAddress=02:00:00:00:07:13\n")
    outcome = node.converge()
    said = "\n".join(outcome.warnings)
    assert "card0-port17.network was for 02:00:00:00:00:11, which this node no longer has" in said
    assert f"{old} was for 02:00:00:00:07:13" in said
    assert "gaudinet.json has entries for 02:00:00:00:00:11, which this node no longer has" in said
    assert f"{node.etc}/gaudinet.json is of an older release" in said
    assert f"systemd/network/{old}" not in node.files()
    assert len(node.converge().warnings) == 1  # the legacy file is a person's to remove


def test_cables_that_are_swapped_are_refused_before_anything_is_written(node: Node) -> None:
    node.said = {name: f"no-alert {gateway}/30" for name, gateway in GATEWAYS.items()}
    node.said["e0d17"], node.said["e1d9"] = node.said["e1d9"], node.said["e0d17"]
    for check_mode in (True, False):
        with pytest.raises(GaudiError, match="The cables of e0d17 and e1d9 are swapped; exchange them"):
            node.converge(check_mode)
    assert node.files() == set()
    assert node.slept == 0


def test_a_switch_that_says_nothing_is_waited_for_once(node: Node) -> None:
    node.converge()
    assert node.slept == OPTIONS.lldp_timeout
    node.converge()
    assert node.slept == OPTIONS.lldp_timeout


def test_addresses_from_the_switch(node: Node) -> None:
    node.said = {name: f"no-alert {gateway}/30" for name, gateway in GATEWAYS.items()}
    node.said["eth0"] = "office"
    options = RoutedOptions(3, "lldp", pfc_priorities=())
    outcome = node.converge(options=options)
    assert [one["gateway"] for one in outcome.addresses] == list(GATEWAYS.values())
    assert node.converge(options=options).diff == []
    assert not any(call.startswith("/tool") for call in node.calls)


def test_network_manager_is_kept_away_only_where_it_is(node: Node) -> None:
    Path(node.etc, "NetworkManager").mkdir(parents=True)
    node.programs.add("NetworkManager")
    node.active.add("NetworkManager.service")
    node.converge()
    text = Path(node.etc, "NetworkManager/conf.d/90-gaudi3-scale.conf").read_text()
    assert "match-device=mac:02:00:00:00:00:11;mac:02:00:00:00:00:14;" in text
    assert "nmcli general reload conf" in node.calls
    node.calls.clear()
    node.converge()
    assert "nmcli general reload conf" not in node.calls


def test_a_site_that_uses_networkd_keeps_its_settings(node: Node) -> None:
    Path(node.networkd_run).mkdir()
    Path(node.networkd_run, "10-netplan-eno1.network").write_text("[Match]\nName=eno1\n")
    node.enabled, node.active = {NETWORKD, WAIT_ONLINE}, {NETWORKD}
    node.converge()
    assert not [name for name in node.files() if "networkd.conf.d" in name]
    assert node.enabled == {NETWORKD, WAIT_ONLINE}
    assert "networkctl reload" in node.calls


def test_missing_programs_are_returned_or_refused(node: Node) -> None:
    node.programs = {"networkctl", "ping"}
    reported = node.converge(options=RoutedOptions(**{**vars(OPTIONS), "require_programs": False}))
    assert (reported.missing_programs, reported.diff) == (["lldpctl", "lldptool", "ethtool"], [])
    with pytest.raises(GaudiError, match="Layer 3 needs lldpctl, lldptool, ethtool, which this node lacks"):
        node.converge()
    assert len(node.converge(check_mode=True).diff) == 8
    assert node.files() == set()


def test_before_the_driver_check_mode_says_nothing_and_a_run_is_refused(node: Node) -> None:
    for path in Path(node.kernel_root, "sys/class/net").glob("*/device"):
        path.unlink()
    assert node.converge(check_mode=True).diff == []
    with pytest.raises(GaudiError, match="The cards have no external port yet; the driver is loaded, so see"):
        node.converge()
    shutil.rmtree(Path(node.kernel_root, "sys/class/accel"))
    with pytest.raises(GaudiError, match="The cards have no external port yet; load the driver"):
        node.converge()
    Path(node.kernel_root, "proc").mkdir(exist_ok=True)
    Path(node.kernel_root, "proc/cmdline").write_text("root=/dev/sda2 ro quiet\n")
    with pytest.raises(
        GaudiError, match="external port yet; restart the node with iommu=pt, for which the driver waits"
    ):
        node.converge()


def test_back_to_layer_2_nothing_of_it_is_left(node: Node) -> None:
    node.converge()
    assert len(layer3.remove(node.run, True, node).diff) == 8
    assert len(layer3.remove(node.run, False, node).diff) == 8
    assert node.files() == set()
    assert "ip -4 address flush dev e0d17 scope global" in node.calls
    node.calls.clear()
    assert layer3.remove(node.run, False, node).diff == []
    assert node.calls == []


def test_a_file_of_a_person_stays_in_layer_2(node: Node) -> None:
    path = Path(node.etc, "habanalabs/gaudinet.json")
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    assert layer3.remove(node.run, False, node) == Outcome()
    path.unlink()
    node.converge()
    path.write_text("{}")
    (warning,) = layer3.remove(node.run, False, node).warnings
    assert "was edited by hand and is kept" in warning
    assert path.read_text() == "{}"
