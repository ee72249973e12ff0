# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Showing and writing with tools that answer as the real ones do, on a kernel tree in a temporary directory."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._firmware.plan import FirmwareOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._firmware.state import converge
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import ADDRESSES, MODULES, write_kernel

OLD, NEW = "1.22.0-fw-61.3.2-sec-3", "1.24.0-fw-62.6.2-sec-3"
RECORD = "var/lib/gaudi3_scale/firmware.json"
OK = CommandResult(0, "", "")


@dataclass
class Node:
    """Cards whose flash ``hl-fw-loader`` writes; what was written shows once the driver is loaded again."""

    root: Path
    shown: dict[str, str] = field(default_factory=lambda: dict.fromkeys(ADDRESSES, OLD))
    flash: dict[str, str] = field(default_factory=dict)
    broken: tuple[str, ...] = ()
    slow: bool = False
    sticky: bool = False
    held: bool = False
    protection: int = 0
    writing: bool = False
    ports: bool = False
    mute: tuple[str, ...] = ()
    calls: list[list[str]] = field(default_factory=list)

    @property
    def kernel(self) -> Path:
        return self.root / "kernel"

    def __call__(
        self, argv: Sequence[str], *, timeout: float | None = None, env: Mapping[str, str] | None = None
    ) -> CommandResult:
        self.calls.append(list(argv))
        answer = getattr(self, f"_{argv[0].replace('-', '_')}", None)
        return answer(list(argv)) if answer else CommandResult(127, "", f"{argv[0]}: not installed")

    def _hl_smi(self, argv: list[str]) -> CommandResult:
        blocks = [
            f"[{number}] AIP (accel{number}) {address}\n        Serial Number : S{number}\n"
            f"        Firmware [SPI] Version : Preboot version hl-gaudi3-{self.shown[address]} (Jul 01 2025)\n"
            for number, address in enumerate(ADDRESSES)
        ]
        return CommandResult(0, "\n".join(blocks), "")

    def _hl_fw_loader(self, argv: list[str]) -> CommandResult:
        address = argv[argv.index("-d") + 1]
        if address in self.mute:
            return CommandResult(1, "", f"no device {address}")
        version = self.shown[address]
        return CommandResult(
            0, f"Current SPI version: Preboot version hl-gaudi3-{version} (Jul 01 2025 - 10:00:00)\n", ""
        )

    def _systemd_run(self, argv: list[str]) -> CommandResult:
        address = argv[argv.index("-d") + 1]
        log = Path(next(word for word in argv if "append:" in word).partition("append:")[2])
        if self.slow:
            return CommandResult(124, "", "no end")
        if address in self.broken:
            log.write_text("sector 7: erase failed\n")
            return CommandResult(1, "", "")
        self.flash[address] = NEW
        log.write_text("Finished sending firmware: OK\n")
        return OK

    def _rmmod(self, argv: list[str]) -> CommandResult:
        if self.held and argv[1] == "habanalabs":
            return CommandResult(1, "", "rmmod: ERROR: Module habanalabs is in use")
        self._modules([name for name in self._loaded() if name != argv[1]])
        self._devices(argv[1], "class/accel", "unloaded")
        return OK

    def _modprobe(self, argv: list[str]) -> CommandResult:
        self._modules([*self._loaded(), argv[1]])
        self._devices(argv[1], "unloaded", "class/accel")
        if not self.sticky:
            self.shown.update(self.flash)
        return OK

    def _ask(self, argv: list[str]) -> CommandResult:
        return CommandResult(self.protection, "", "")

    def _systemctl(self, argv: list[str]) -> CommandResult:
        good = self.writing if argv[-1] == "gaudi3-scale-firmware.service" else self.ports
        return OK if good else CommandResult(3, "", "")

    def _loaded(self) -> list[str]:
        lines = (self.kernel / "proc/modules").read_text().splitlines()
        return [line.split()[0] for line in lines if line.startswith("habanalabs")]

    def _devices(self, module: str, source: str, target: str) -> None:
        """Without the driver sysfs has no accel devices."""
        if module == "habanalabs" and (self.kernel / "sys" / source).exists():
            (self.kernel / "sys" / source).rename(self.kernel / "sys" / target)

    def _modules(self, names: Sequence[str]) -> None:
        (self.kernel / "proc/modules").write_text("".join(f"{name} 1 0 - Live 0x0\n" for name in dict.fromkeys(names)))

    def wrote(self) -> list[str]:
        return [argv[argv.index("-d") + 1] for argv in self.calls if argv[0] == "systemd-run"]


@pytest.fixture
def node(tmp_path: Path) -> Node:
    write_kernel(tmp_path / "kernel")
    (tmp_path / "image").write_bytes(b"\xd0\x0d\xfe\xed hl-gaudi3-" + NEW.encode() + b"\x00")
    return Node(tmp_path)


def run(node: Node, check_mode: bool = False, **options: object) -> dict[str, object]:
    values = {
        "state": "flashed",
        "release": "1.24.1",
        "accept": {"gaudi3": NEW},
        "image": str(node.root / "image"),
        "cards": 8,
        "kernel_root": str(node.kernel),
        "settle_timeout": 0,
        **options,
    }
    return converge(FirmwareOptions(**values), node, check_mode, str(node.root), lambda _program: True)


def record(node: Node) -> dict[str, dict[str, dict[str, str]]]:
    return json.loads((node.root / RECORD).read_text())


def test_showing_changes_nothing(node: Node) -> None:
    result = run(node, state="shown", accept={})
    assert not result["changed"]
    assert [card["before"] for card in result["cards"]] == [OLD] * 8
    assert result["equal"] is True
    assert {argv[0] for argv in node.calls} <= {"hl-smi", "systemctl"}
    assert not (node.root / RECORD).exists()


def test_check_mode_tells_the_steps_and_takes_none(node: Node) -> None:
    result = run(node, check_mode=True)
    assert result["changed"]
    assert [step.split()[0] for step in result["steps"]] == ["unload", "compare", "flash", "check", "load", "verify"]
    assert NEW in result["diff"][0]["after"]
    assert node.wrote() == []
    assert not (node.root / RECORD).exists()


def test_all_cards_are_written_once(node: Node) -> None:
    result = run(node)
    assert result["changed"]
    assert {card["verdict"] for card in result["cards"]} == {"current"}
    assert sorted(node.wrote()) == sorted(ADDRESSES)
    unloaded = [argv[1] for argv in node.calls if argv[0] == "rmmod"]
    assert unloaded == list(reversed(MODULES))
    assert [argv[1] for argv in node.calls if argv[0] == "modprobe"] == list(MODULES)
    assert {entry["state"] for entry in record(node)["cards"].values()} == {"written"}
    assert record(node)["modules"] == []
    node.calls.clear()
    assert not run(node)["changed"]
    assert node.wrote() == []


def test_the_tool_runs_where_nothing_ends_it(node: Node) -> None:
    run(node)
    command = next(argv for argv in node.calls if argv[0] == "systemd-run")
    assert "--unit=gaudi3-scale-firmware.service" in command
    assert {"--property=SendSIGKILL=no", "--property=TimeoutStopSec=infinity"} <= set(command)
    assert command[-5:] == ["-y", "-d", command[-3], "-f", str(node.root / "image")]


def test_a_card_that_waits_for_its_power_cycle_is_not_written_again(node: Node) -> None:
    node.sticky = True
    result = run(node)
    assert sorted(result["power_cycle_needed"]) == sorted(ADDRESSES)
    node.calls.clear()
    again = run(node)
    assert not again["changed"]
    assert sorted(again["power_cycle_needed"]) == sorted(ADDRESSES)
    assert node.wrote() == []


def test_after_a_card_that_fails_no_other_is_touched(node: Node) -> None:
    node.broken = (ADDRESSES[2],)
    with pytest.raises(GaudiError, match=r"card 2 .*sector 7: erase failed.*modules stay unloaded"):
        run(node)
    assert node.wrote() == list(ADDRESSES[:3])
    assert not any(argv[0] == "modprobe" for argv in node.calls)
    states = {entry["pci_address"]: entry["state"] for entry in record(node)["cards"].values()}
    assert states == {ADDRESSES[0]: "written", ADDRESSES[1]: "written", ADDRESSES[2]: "failed"}


def test_the_next_run_goes_on_with_the_cards_that_are_left(node: Node) -> None:
    node.broken = (ADDRESSES[2],)
    with pytest.raises(GaudiError):
        run(node)
    node.broken = ()
    node.calls.clear()
    result = run(node)
    assert node.wrote() == list(ADDRESSES[2:])
    assert [argv[1] for argv in node.calls if argv[0] == "modprobe"] == list(MODULES)
    assert result["interrupted"]


def test_a_time_limit_ends_the_waiting_and_not_the_tool(node: Node) -> None:
    node.slow = True
    with pytest.raises(GaudiError, match=r"still being written .* continues"):
        run(node)
    assert record(node)["cards"]["S0"]["state"] == "writing"
    assert not any(argv[:2] == ["systemctl", "stop"] for argv in node.calls)
    node.writing = True
    with pytest.raises(GaudiError, match="still writing"):
        run(node)
    assert len(node.wrote()) == 1


def test_a_log_that_ended_well_after_the_cut_counts(node: Node) -> None:
    node.slow = True
    with pytest.raises(GaudiError):
        run(node)
    Path(record(node)["cards"]["S0"]["log"]).write_text("Finished sending firmware: OK\n")
    node.slow = False
    node.calls.clear()
    run(node)
    assert node.wrote() == list(ADDRESSES[1:])


def test_a_module_that_is_held_leaves_the_driver_as_it_was(node: Node) -> None:
    node.held = True
    with pytest.raises(GaudiError, match=r"habanalabs cannot be unloaded .* No card was written"):
        run(node)
    assert node.wrote() == []
    assert set(node._loaded()) == set(MODULES)
    assert record(node)["modules"] == []


def test_the_ports_are_brought_up_again_where_nothing_was_written(node: Node) -> None:
    node.held = node.ports = True
    with pytest.raises(GaudiError):
        run(node)
    assert node.calls[-1] == ["systemctl", "restart", "gaudi3-scale-ports.service"]


def test_a_tool_that_does_not_find_a_card_writes_none(node: Node) -> None:
    node.mute = (ADDRESSES[5],)
    with pytest.raises(GaudiError, match=r"hl-fw-loader -s -d .* shows nothing for card 5 .* No card was written"):
        run(node)
    assert node.wrote() == []
    assert set(node._loaded()) == set(MODULES)
    assert record(node)["modules"] == []


def test_what_a_run_that_was_cut_has_unloaded_is_loaded_with_the_rest(node: Node) -> None:
    path = node.root / RECORD
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"modules": list(MODULES), "cards": {}}))
    node._modules(MODULES[:2])
    run(node)
    assert [argv[1] for argv in node.calls if argv[0] == "modprobe"] == list(MODULES)


def test_a_card_that_was_written_without_a_driver_is_known_again_with_it(node: Node) -> None:
    # Nobody tells the serial numbers without a driver: the record knows the cards by their places.
    node.sticky = True
    for module in reversed(MODULES):
        node._rmmod(["rmmod", module])
    run(node)
    assert set(record(node)["cards"]) == set(ADDRESSES)
    for module in MODULES:
        node._modprobe(["modprobe", module])
    node.calls.clear()
    again = run(node)
    assert sorted(again["power_cycle_needed"]) == sorted(ADDRESSES)
    assert node.wrote() == []


@pytest.mark.parametrize(("code", "word"), [(1, "write protection"), (2, "does not report"), (127, "does not report")])
def test_write_protection_is_asked_before_anything_is_touched(node: Node, code: int, word: str) -> None:
    node.protection = code
    with pytest.raises(GaudiError, match=word):
        run(node, write_protection_command=["ask", "bmc"])
    assert not any(argv[0] in ("rmmod", "systemd-run") for argv in node.calls)


@pytest.mark.parametrize(("state", "refused"), [("changing", True), ("failed", True), ("done", False)])
def test_a_driver_that_is_half_changed_comes_first(state: str, refused: bool, node: Node) -> None:
    marker = node.root / "var/lib/gaudi3_scale/driver.json"
    marker.parent.mkdir(parents=True)
    marker.write_text(json.dumps({"state": state, "previous": "1.23.0-695", "wanted": "1.24.1-482"}))
    if refused:
        with pytest.raises(GaudiError, match="a change of its driver"):
            run(node)
    else:
        run(node)
    assert bool(node.wrote()) is not refused


def test_a_record_that_is_not_ours_is_not_overwritten(node: Node) -> None:
    path = node.root / RECORD
    path.parent.mkdir(parents=True)
    path.write_text('{"cards": {"S0": {"state": "boiling"}}}')
    with pytest.raises(GaudiError, match=r"firmware\.json.*cannot be read.*remove the file"):
        run(node)
    assert "boiling" in path.read_text()
    assert "cannot be read" in run(node, state="shown")["warnings"][0]


def test_the_order_of_a_wrong_target_is_a_sentence(node: Node) -> None:
    with pytest.raises(GaudiError, match="not an SPI version"):
        run(node, accept={"gaudi3": "1.1.22.0-fw-61.3.2-sec-3"})
    assert node.calls == []
