# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The firewall as a setting of a node: loaded, found, swept away by others, taken away, and refused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._host.firewall import UNIT, parse_ports, rules_text
from ansible_collections.gaudi3.scale.plugins.module_utils._host.node import Node
from ansible_collections.gaudi3.scale.plugins.module_utils._host.state import HostOptions, converge
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.tests.unit.unit_runner import OK, UnitRunner

RULES = "gaudi3_scale/firewall.nft"
NODES = ("10.0.0.1", "10.0.0.2")


class Kernel(UnitRunner):
    """Systemd and a kernel with room for our table; ``table`` is what was last loaded."""

    def __init__(self, etc: Path) -> None:
        super().__init__(etc, {"/usr/sbin/nft": self.nft})
        self.table = ""

    def nft(self, argv: Sequence[str]) -> CommandResult:
        return CommandResult(0, self.table, "") if self.table else CommandResult(1, "", "No such file or directory")

    def _start(self, unit: str) -> CommandResult:
        started = re.search(r"^ExecStart=/usr/sbin/nft -f (.+)$", (self.units / unit).read_text(), re.MULTILINE)
        assert started
        self.table = Path(started[1]).read_text(encoding="utf-8")
        return OK

    def _systemctl(self, verb: str, unit: str) -> CommandResult:
        if verb == "disable":
            self.table = ""
        return super()._systemctl(verb, unit)


class Machine:
    def __init__(self, root: Path) -> None:
        self.etc, self.root = root / "etc", root
        self.run = Kernel(self.etc)
        self.programs = {"nft"}
        (root / "proc").mkdir()
        (root / "proc/cmdline").write_text("quiet\n", encoding="ascii")

    def converge(self, check_mode: bool = False, **options: Any) -> dict[str, Any]:
        node = Node(
            kernel_root=str(self.root), etc=str(self.etc), boot=str(self.root), installed=self.programs.__contains__
        )
        only = {"hugepages": "unmanaged", "kernel_arguments": (), "memlock": False, "cpu_governor": ""}
        given = {"firewall": True, "firewall_nodes": NODES, **options}
        return converge(HostOptions(**only, **given), self.run, check_mode, node)

    def changes(self) -> list[str]:
        return [call for call in self.run.calls if not call.startswith(("systemctl is-", "/usr/sbin/nft list"))]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_rules_are_loaded_now_and_at_every_boot(machine: Machine) -> None:
    result = machine.converge()
    assert result["changed"]
    assert result["settings"]["firewall"] == {"nodes": list(NODES), "ports": ["29500-29515", "29520", "29530", "29540"]}
    assert machine.run.enabled == {UNIT}
    assert machine.run.table == (machine.etc / RULES).read_text(encoding="utf-8")


def test_a_second_run_asks_and_changes_nothing(machine: Machine) -> None:
    machine.converge()
    machine.run.calls.clear()
    assert not machine.converge()["changed"]
    assert machine.changes() == []


def test_check_mode_shows_the_same_and_touches_nothing(machine: Machine) -> None:
    shown = machine.converge(check_mode=True)
    assert machine.changes() == []
    assert not (machine.etc / RULES).exists()
    assert machine.converge()["diff"] == shown["diff"]


def test_rules_that_another_firewall_swept_away_come_back(machine: Machine) -> None:
    machine.converge()
    machine.run.table = ""
    assert machine.converge(check_mode=True)["changed"]
    assert machine.run.table == ""
    assert machine.converge()["changed"]
    assert machine.run.table


def test_another_node_makes_other_rules(machine: Machine) -> None:
    machine.converge()
    before = machine.run.table
    assert machine.converge(firewall_nodes=(*NODES, "10.0.0.3"))["changed"]
    assert machine.run.table != before


def test_the_order_in_which_nodes_are_named_makes_no_change(machine: Machine) -> None:
    machine.converge()
    assert not machine.converge(firewall_nodes=NODES[::-1])["changed"]


def test_off_takes_all_of_it_away(machine: Machine) -> None:
    machine.converge()
    assert machine.converge(firewall=False)["changed"]
    assert machine.run.table == ""
    assert machine.run.enabled == set()
    assert not (machine.etc / RULES).exists()
    assert not (machine.etc / "systemd/system" / UNIT).exists()


def test_a_node_that_never_had_it_is_asked_nothing(machine: Machine) -> None:
    machine.programs.clear()
    assert not machine.converge(firewall=False)["changed"]
    assert machine.run.calls == []


def test_a_node_without_nft_is_told_the_package(machine: Machine) -> None:
    machine.programs.clear()
    with pytest.raises(GaudiError, match="nft is not on this node; install its package nftables"):
        machine.converge()
    assert machine.converge(check_mode=True)["changed"]


def test_rules_that_do_not_load_are_told(machine: Machine) -> None:
    machine.run._start = lambda unit: OK  # type: ignore[method-assign]
    with pytest.raises(GaudiError, match="table inet gaudi3_scale is not there"):
        machine.converge()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"firewall_nodes": ()}, "firewall_nodes is empty"),
        ({"firewall_ports": ()}, "firewall_ports is empty"),
        ({"firewall_nodes": ("gaudi-01",)}, "firewall_nodes: 'gaudi-01' is neither an address nor a network"),
        ({"firewall_nodes": ("10.0.0.1 }\n flush ruleset",)}, "neither an address"),
        ({"firewall_ports": ("22",)}, "firewall_ports: '22' is not a port or range from 1024"),
        ({"firewall_ports": ("1-65535",)}, "is not a port or range from 1024"),
        ({"firewall_ports": ("29511-29500",)}, "is not a port or range"),
        ({"firewall_ports": ("29500\n",)}, "is not a port or range"),
        ({"firewall_ports": ("٢٩٥٠٠",)}, "is not a port or range"),
        ({"firewall_ports": ("70000",)}, "is not a port or range"),
        ({"firewall_ports": ("29500 }",)}, "is not a port or range"),
    ],
)
def test_bad_options_are_refused_before_anything_is_touched(
    machine: Machine, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(GaudiError, match=message):
        machine.converge(**options)
    assert machine.run.calls == []
    assert not machine.etc.exists()


def test_ports_that_meet_or_touch_are_one_range() -> None:
    assert parse_ports(["29502", "29500-29501", "32768-60999", "40000"]) == ("29500-29502", "32768-60999")


def test_a_family_without_nodes_has_no_set_and_is_dropped() -> None:
    text = rules_text(("10.0.0.1",), ("29500",))
    assert "ip6" not in text
    assert text.index("ip saddr @nodes4 accept") < text.index("drop")


def test_no_other_traffic_is_judged() -> None:
    """What is no port of ours leaves the chain before anything is asked of it."""
    rules = rules_text(NODES, ("29500",)).split("policy accept;\n")[1].splitlines()
    assert [rule.strip() for rule in rules[:2]] == ["meta l4proto != { tcp, udp } accept", "th dport != @ports accept"]
