# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Registers of simulated CPUs: which CPUs may have them, written and read back, and as they were afterwards."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._host.latency_msrs import UNIT, cpu_name
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.tests.unit.host_machine import Machine

CPUINFO = """\
processor\t: 0
vendor_id\t: {vendor}
cpu family\t: {family}
model\t\t: {model}
model name\t: A processor: of some kind
stepping\t: 8

processor\t: 1
vendor_id\t: {vendor}
cpu family\t: {family}
model\t\t: {model}
"""
BIAS, HWP = "0x1b0", "0x774"


class Registers(Machine):
    """Granite Rapids with two CPUs; ``locked`` registers keep their values, and nothing can be read before modprobe."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.write("kernel/proc/cpuinfo", CPUINFO.format(vendor="GenuineIntel", family=6, model=173))
        self.values = {BIAS: [6, 7], HWP: [0x80002708, 0x80002708]}
        self.locked: tuple[str, ...] = ()
        self.loaded = True
        self.programs.add("wrmsr")
        self.run.programs.update({"/usr/sbin/rdmsr": self.rdmsr, "/usr/sbin/wrmsr": self.wrmsr, "modprobe": self.load})
        self.run._start = self.start  # type: ignore[method-assign]

    def rdmsr(self, argv: Sequence[str]) -> CommandResult:
        if not self.loaded:
            return CommandResult(2, "", "rdmsr: open: No such file or directory\n")
        return CommandResult(0, "".join(f"{value:x}\n" for value in self.values[argv[2]]), "")

    def wrmsr(self, argv: Sequence[str]) -> CommandResult:
        where, register, value = (argv[1:3] if argv[1] == "-a" else argv[2:4]), argv[-2], int(argv[-1], 16)
        if register in self.locked:
            return CommandResult(0, "", "")
        for cpu in range(2):
            if where[0] == "-a" or str(cpu) == where[0]:
                self.values[register][cpu] = value
        return CommandResult(0, "", "")

    def load(self, argv: Sequence[str]) -> CommandResult:
        self.loaded = True
        return CommandResult(0, "", "")

    def start(self, unit: str) -> CommandResult:
        text = self.read(f"etc/systemd/system/{unit}")
        if unit == UNIT:
            for line in text.splitlines():
                if line.startswith("ExecStart="):
                    self.wrmsr(shlex.split(line.partition("=")[2]))
        return CommandResult(0, "", "")


@pytest.fixture
def machine(tmp_path: Path) -> Registers:
    machine = Registers(tmp_path)
    for policy in (0, 1):
        (machine.root / machine.cpufreq(policy, "scaling_governor")).unlink()
    return machine


@pytest.mark.parametrize(
    ("model", "name"),
    [(143, "Sapphire Rapids"), (207, "Emerald Rapids"), (173, "Granite Rapids"), (174, "Granite Rapids-D")],
)
def test_cpus_that_may_have_them(model: int, name: str) -> None:
    assert cpu_name(CPUINFO.format(vendor="GenuineIntel", family=6, model=model)) == name


@pytest.mark.parametrize(
    ("vendor", "family", "model"),
    [("GenuineIntel", 6, 106), ("GenuineIntel", 6, 85), ("GenuineIntel", 19, 173), ("AuthenticAMD", 25, 143)],
)
def test_another_cpu_is_refused_before_anything_is_touched(
    machine: Registers, vendor: str, family: int, model: int
) -> None:
    machine.write("kernel/proc/cpuinfo", CPUINFO.format(vendor=vendor, family=family, model=model))
    before = machine.files()
    with pytest.raises(GaudiError) as caught:
        machine.converge(latency_msrs=True)
    assert str(caught.value) == (
        f"latency_msrs: this node's CPU ({vendor}, family {family}, model {model}) is not one of Sapphire Rapids, "
        "Emerald Rapids, Granite Rapids, Granite Rapids-D, and these registers have another meaning there; set "
        "latency_msrs to false."
    )
    assert machine.files() == before
    assert machine.run.calls == []


def test_a_file_without_a_cpu_is_refused() -> None:
    with pytest.raises(GaudiError, match=r"\(no vendor, family \?, model \?\)"):
        cpu_name("processor : 0\n")


def test_they_are_written_now_and_at_each_boot_and_read_back(machine: Registers) -> None:
    result = machine.converge(latency_msrs=True)
    assert machine.values == {BIAS: [0, 0], HWP: [0x2708, 0x2708]}
    assert UNIT in machine.run.enabled
    assert result["settings"]["latency_msrs"]["cpu"] == "Granite Rapids"
    steps = {step["after_header"]: (step["before"], step["after"]) for step in result["diff"]}
    assert steps["MSR 0x1b0"] == ("0x6 0x7\n", "0x0\n")
    assert steps["MSR 0x774"] == ("0x80002708\n", "0x2708\n")
    machine.run.calls.clear()
    assert not machine.converge(latency_msrs=True)["changed"]
    assert not any("wrmsr" in call or "restart" in call for call in machine.run.calls)


def test_check_mode_reads_and_writes_nothing(machine: Registers) -> None:
    before, values = machine.files(), {name: list(held) for name, held in machine.values.items()}
    shown = machine.converge(check_mode=True, latency_msrs=True)
    assert machine.files() == before
    assert machine.values == values
    assert machine.converge(latency_msrs=True)["diff"] == shown["diff"]


def test_the_kernel_module_is_loaded_where_it_is_missing_but_not_in_check_mode(machine: Registers) -> None:
    machine.loaded = False
    shown = machine.converge(check_mode=True, latency_msrs=True)
    assert not machine.loaded
    assert ("unknown\n", "0x2708\n") in [(step["before"], step["after"]) for step in shown["diff"]]
    machine.converge(latency_msrs=True)
    assert machine.values[HWP] == [0x2708, 0x2708]


def test_what_was_before_comes_back_on_each_cpu(machine: Registers) -> None:
    machine.converge(latency_msrs=True)
    machine.converge(latency_msrs=True)
    assert machine.converge(latency_msrs=False)["changed"]
    assert machine.values == {BIAS: [6, 7], HWP: [0x80002708, 0x80002708]}
    assert not (machine.etc / "systemd/system" / UNIT).exists()
    assert UNIT not in machine.run.enabled
    assert not machine.converge(latency_msrs=False)["changed"]


def test_a_register_that_does_not_take_its_value_is_told(machine: Registers) -> None:
    machine.locked = (HWP,)
    with pytest.raises(GaudiError, match=r"register 0x774 holds 0x80002708 although 0x2708 was written; switch on har"):
        machine.converge(latency_msrs=True)


def test_registers_that_cannot_be_read_are_told(machine: Registers) -> None:
    machine.loaded = False
    machine.run.programs["modprobe"] = lambda argv: CommandResult(1, "", "modprobe: FATAL: Module msr not found\n")
    with pytest.raises(
        GaudiError, match=r"0x1b0 cannot be read \(rdmsr: open: No such file or directory\); see whether"
    ):
        machine.converge(latency_msrs=True)
    assert UNIT not in machine.run.enabled


def test_the_package_is_fetched_where_it_is_missing(machine: Registers) -> None:
    machine.programs.discard("wrmsr")
    machine.write("var/lib/dpkg/status", "")
    machine.run.programs["dpkg-query"] = lambda argv: CommandResult(1, "", "no packages found\n")
    machine.run.programs["apt-get"] = lambda argv: CommandResult(0, "", "")
    shown = machine.converge(check_mode=True, latency_msrs=True)
    assert not any(call.startswith("apt-get") for call in machine.run.calls)
    assert "package msr-tools" in [step["after_header"] for step in shown["diff"]]
    machine.converge(latency_msrs=True)
    (install,) = [call for call in machine.run.calls if call.startswith("apt-get")]
    assert install.endswith("msr-tools")
