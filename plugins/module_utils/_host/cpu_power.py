# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The CPUs' governor and idle states as settings: by units of ours, or by tuned's profile where tuned runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .._errors import GaudiError
from .._node.commands import Run
from .._node.rendered_files import FileChange, WantedFile
from . import boot_unit, cpu_governor, earlier_values, idle_states
from .kernel.values import read_value, value_difference
from .node import Node, Setting

GOVERNOR, IDLE = "cpu_governor", "cstates"
# A switch of an idle state that is thrown.
_OUT_OF_USE = "1"


def plan_governor(governor: str, node: Node, tuned_runs: bool) -> Setting:
    """The unit that sets the governor, where the kernel has governors and tuned does not set it."""
    unit = boot_unit.path_of(cpu_governor.UNIT, node)
    files = cpu_governor.governor_files(node.kernel_root)
    facts: dict[str, object] = {"wanted": governor or None, "current": cpu_governor.current_governors(files)}
    if not files or not governor:
        return Setting([WantedFile(unit, None, only_ours=True)], facts, [])
    cpu_governor.check_offered(governor, files)
    text = None if tuned_runs else cpu_governor.unit_text(governor, node.kernel_root)
    return Setting([WantedFile(unit, text)], facts, [])


def plan_idle_states(limits: Sequence[str], node: Node, tuned_runs: bool) -> Setting:
    """The unit that takes C6 out of use, where the kernel has it and tuned does not do it."""
    unit = boot_unit.path_of(idle_states.UNIT, node)
    states = idle_states.deep_states(node.kernel_root)
    facts: dict[str, object] = {
        "wanted": list(limits),
        "deep": sorted({state.name for state in states}),
        "in_use": sorted({state.name for state in states if state.disabled != _OUT_OF_USE}),
    }
    if idle_states.NO_C6 not in limits or not states or tuned_runs:
        return Setting([WantedFile(unit, None, only_ours=True)], facts, [])
    return Setting([WantedFile(unit, idle_states.unit_text(node.kernel_root))], facts, [])


def tuned_sections(governor: str, limits: Sequence[str], node: Node) -> dict[str, Mapping[str, str]]:
    """The same for tuned's profile: sections and their options. tuned knows the kernel's own /sys alone."""
    has_governors = bool(governor and cpu_governor.governor_files(node.kernel_root))
    states = idle_states.deep_states(node.kernel_root) if idle_states.NO_C6 in limits else []
    switches = "/sys/devices/system/cpu/cpu*/cpuidle/{}/disable"
    return {
        "cpu": {"governor": governor} if has_governors else {},
        "sysfs": {switches.format(number): _OUT_OF_USE for number in idle_states.state_numbers(states)},
    }


def not_in_force(governor: str, limits: Sequence[str], node: Node) -> list[str]:
    """What the kernel does not have although tuned's profile with it is active, one sentence each."""
    told = []
    governors = cpu_governor.current_governors(cpu_governor.governor_files(node.kernel_root))
    if governor and governors and governors != [governor]:
        told.append(f"cpu_governor: the CPUs run with {', '.join(governors)} although tuned's profile has {governor}")
    states = idle_states.deep_states(node.kernel_root) if idle_states.NO_C6 in limits else []
    names = sorted({state.name for state in states if state.disabled != _OUT_OF_USE})
    if names:
        told.append(f"cstates: the CPUs use {', '.join(names)} although tuned's profile disables it")
    return [f"{sentence}; see `tuned-adm verify` and /var/log/tuned/tuned.log." for sentence in told]


def set_governor(
    setting: Setting, node: Node, run: Run, changes: Sequence[FileChange], check_mode: bool
) -> list[dict[str, str]]:
    """Start the unit where a CPU has another governor or the unit is new, and see that it worked."""
    if setting.files[0].content is None:
        return _brought_back(GOVERNOR, cpu_governor.UNIT, node, changes, check_mode)
    governor, files = str(setting.facts["wanted"]), cpu_governor.governor_files(node.kernel_root)
    values = {file: read_value(file) or "" for file in files}
    before = sorted(set(values.values()))
    is_new = boot_unit.is_new(cpu_governor.UNIT, node, changes)
    if not check_mode and before != [governor]:
        earlier_values.remember(node, GOVERNOR, values)
    enabled = boot_unit.settle(cpu_governor.UNIT, run, due=before != [governor] or is_new, check_mode=check_mode)
    after = [governor] if check_mode else cpu_governor.current_governors(files)
    if after != [governor]:
        now = ", ".join(after)
        raise GaudiError(f"cpu_governor: the CPUs run with {now} although {governor} was set; check the BIOS.")
    if before != [governor]:
        return [value_difference(files[0], " ".join(before), governor)]
    return [] if enabled or is_new else [value_difference(cpu_governor.UNIT, "disabled", "enabled")]


def set_idle_states(
    setting: Setting, node: Node, run: Run, changes: Sequence[FileChange], check_mode: bool
) -> list[dict[str, str]]:
    """Start the unit where a CPU still uses C6 or the unit is new, and see that it worked."""
    if setting.files[0].content is None:
        return _brought_back(IDLE, idle_states.UNIT, node, changes, check_mode)
    states = idle_states.deep_states(node.kernel_root)
    in_use = [state for state in states if state.disabled != _OUT_OF_USE]
    is_new = boot_unit.is_new(idle_states.UNIT, node, changes)
    if not check_mode:
        earlier_values.remember(node, IDLE, {state.switch: state.disabled or "0" for state in in_use})
    enabled = boot_unit.settle(idle_states.UNIT, run, due=bool(in_use) or is_new, check_mode=check_mode)
    left = [] if check_mode else [s for s in idle_states.deep_states(node.kernel_root) if s.disabled != _OUT_OF_USE]
    if left:
        raise GaudiError(
            f"cstates: {left[0].switch} stays {left[0].disabled} although 1 was written; take {left[0].name} out of "
            "use in the BIOS, or leave cstates empty."
        )
    if in_use:
        names = " ".join(sorted({state.name for state in in_use}))
        return [value_difference(in_use[0].switch, f"{names} in use", f"{names} out of use")]
    return [] if enabled or is_new else [value_difference(idle_states.UNIT, "disabled", "enabled")]


def _brought_back(
    name: str, unit: str, node: Node, changes: Sequence[FileChange], check_mode: bool
) -> list[dict[str, str]]:
    """What was before the unit, where this run takes it away; the steps made (or to make)."""
    return earlier_values.restore_files(node, name, check_mode) if boot_unit.is_going(unit, node, changes) else []
