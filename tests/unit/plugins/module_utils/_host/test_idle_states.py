# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Idle states of simulated CPUs: which are C6 or deeper, out of use now and at every boot, and back again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._host.idle_states import UNIT, deep_states
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.tests.unit.host_machine import Machine

# Name and description of each state, as the kernel has them.
SAPPHIRE_RAPIDS = (
    ("POLL", "CPUIDLE CORE POLL IDLE"),
    ("C1", "MWAIT 0x00"),
    ("C1E", "MWAIT 0x01"),
    ("C6", "MWAIT 0x20"),
)
GRANITE_RAPIDS = (*SAPPHIRE_RAPIDS, ("C6P", "MWAIT 0x21"))
BY_ACPI = (("POLL", "CPUIDLE CORE POLL IDLE"), ("C1_ACPI", "ACPI FFH MWAIT 0x0"), ("C2_ACPI", "ACPI FFH MWAIT 0x20"))
EPYC = (("POLL", "CPUIDLE CORE POLL IDLE"), ("C1", "ACPI FFH MWAIT 0x0"), ("C2", "ACPI IOPORT 0x814"))
IDLE = "kernel/sys/devices/system/cpu"


def with_states(machine: Machine, states: tuple[tuple[str, str], ...], disabled: tuple[str, ...] = ()) -> Machine:
    for cpu in range(2):
        for number, (name, desc) in enumerate(states):
            state = f"{IDLE}/cpu{cpu}/cpuidle/state{number}"
            machine.write(f"{state}/name", f"{name}\n")
            machine.write(f"{state}/desc", f"{desc}\n")
            machine.write(f"{state}/disable", "1\n" if name in disabled else "0\n")
    return machine


def switches(machine: Machine) -> dict[str, str]:
    """What the kernel holds, by the state's name: one word for each CPU."""
    found: dict[str, str] = {}
    for path in sorted((machine.root / IDLE).glob("cpu*/cpuidle/state*/disable")):
        name = (path.parent / "name").read_text().strip()
        found[name] = found.get(name, "") + path.read_text().strip()
    return found


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize(
    ("states", "deep"),
    [
        (SAPPHIRE_RAPIDS, ["C6", "C6"]),
        (GRANITE_RAPIDS, ["C6", "C6P", "C6", "C6P"]),
        (BY_ACPI, ["C2_ACPI", "C2_ACPI"]),
        (EPYC, []),
        ((), []),
    ],
)
def test_which_states_are_deep(machine: Machine, states: tuple[tuple[str, str], ...], deep: list[str]) -> None:
    with_states(machine, states)
    assert [state.name for state in deep_states(str(machine.kernel))] == deep


@pytest.mark.parametrize("states", [SAPPHIRE_RAPIDS, GRANITE_RAPIDS, BY_ACPI])
def test_the_unit_takes_deep_states_out_of_use_and_no_others(
    machine: Machine, states: tuple[tuple[str, str], ...]
) -> None:
    with_states(machine, states)
    result = machine.converge(cstates=("no_c6",))
    deep = set(result["settings"]["cstates"]["deep"])
    assert deep
    assert switches(machine) == {name: "11" if name in deep else "00" for name, _desc in states}
    assert UNIT in machine.run.enabled
    again = machine.converge(cstates=("no_c6",))
    assert not again["changed"]
    assert again["settings"]["cstates"]["in_use"] == []


def test_check_mode_shows_the_step_and_throws_no_switch(machine: Machine) -> None:
    before = with_states(machine, GRANITE_RAPIDS).files()
    shown = machine.converge(check_mode=True, cstates=("no_c6",))
    assert machine.files() == before
    assert machine.converge(cstates=("no_c6",))["diff"] == shown["diff"]
    assert ("C6 C6P in use\n", "C6 C6P out of use\n") in [(step["before"], step["after"]) for step in shown["diff"]]


def test_without_a_limit_what_was_before_is_back(machine: Machine) -> None:
    with_states(machine, GRANITE_RAPIDS, disabled=("C6P",))
    machine.converge(cstates=("no_c6",))
    assert switches(machine)["C6"] == "11"
    machine.converge(cstates=())
    assert switches(machine) == {"POLL": "00", "C1": "00", "C1E": "00", "C6": "00", "C6P": "11"}
    assert not (machine.etc / "systemd/system" / UNIT).exists()
    assert UNIT not in machine.run.enabled
    assert not machine.converge(cstates=())["changed"]


def test_a_state_that_somebody_switched_on_again_is_found(machine: Machine) -> None:
    with_states(machine, SAPPHIRE_RAPIDS)
    machine.converge(cstates=("no_c6",))
    machine.write(f"{IDLE}/cpu1/cpuidle/state3/disable", "0\n")
    assert machine.converge(cstates=("no_c6",))["changed"]
    assert switches(machine)["C6"] == "11"


def test_a_switch_that_does_not_hold_is_told(machine: Machine) -> None:
    with_states(machine, SAPPHIRE_RAPIDS)
    machine.converge()
    machine.run._start = lambda unit: CommandResult(0, "", "")  # type: ignore[method-assign]
    with pytest.raises(
        GaudiError, match=r"state3/disable stays 0 although 1 was written; take C6 out of use in the BI"
    ):
        machine.converge(cstates=("no_c6",))


def test_a_machine_without_such_states_gets_no_unit(machine: Machine) -> None:
    with_states(machine, EPYC)
    result = machine.converge(cstates=("no_c6",))
    assert result["settings"]["cstates"] == {"wanted": ["no_c6"], "deep": [], "in_use": []}
    assert UNIT not in machine.run.enabled


def test_what_needs_a_boot_says_so(machine: Machine) -> None:
    result = machine.converge(cstates=("no_intel_idle_at_boot",), kernel_arguments=("iommu=pt",))
    (reason,) = result["reboot_reasons"]
    assert reason.startswith("the running kernel was started without iommu=pt intel_idle.max_cstate=0, which GRUB ")
    assert "intel_idle.max_cstate=0" in machine.read("etc/default/grub.d/99-gaudi3-scale.cfg")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cstates": ("intel_idle.max_cstate=0",)}, "needs a reboot and does not say so; write no_intel_idle_at_boot"),
        ({"cstates": ("max_cstate_1",)}, "needs a reboot and does not say so"),
        ({"cstates": ("C6",)}, "'C6' is not a limit of idle states; use no_c6 and no_intel_idle_at_boot, or none"),
        (
            {"cstates": ("no_intel_idle_at_boot",), "kernel_arguments": ("intel_idle.max_cstate=1",)},
            "which is intel_idle.max_cstate=0, and kernel_arguments has intel_idle.max_cstate=1; use only one",
        ),
    ],
)
def test_bad_limits_are_refused_before_anything_is_touched(
    machine: Machine, options: dict[str, Any], message: str
) -> None:
    before = with_states(machine, SAPPHIRE_RAPIDS).files()
    with pytest.raises(GaudiError, match=message):
        machine.converge(**options)
    assert machine.files() == before
    assert machine.run.calls == []
