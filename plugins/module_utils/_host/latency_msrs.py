# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Two registers of Intel's server CPUs that the vendor sets for latency, written by a unit at every boot.

Source: "Update CPU Settings" of Driver_Installation on docs.habana.ai, for Gaudi 3 on Sapphire and Granite Rapids. A
register of that number means something else, or nothing, on another CPU; so a CPU that is not listed is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from .._errors import GaudiError
from .._node import unit_hardening
from .._node.commands import Run, last_line
from .._node.rendered_files import FileChange, WantedFile, read_text
from . import boot_unit, earlier_values
from .kernel.values import value_difference
from .node import Node, Setting

NAME = "latency_msrs"
UNIT = "gaudi3-scale-latency-msrs.service"
PACKAGE = "msr-tools"
WRITE, READ = "/usr/sbin/wrmsr", "/usr/sbin/rdmsr"

# IA32_ENERGY_PERF_BIAS and IA32_HWP_REQUEST (Intel's manual, volume 4).
VALUES: Mapping[str, str] = {"0x1b0": "0x0", "0x774": "0x2708"}
# Models of family 6 as the kernel's intel-family.h has them.
MODELS: Mapping[int, str] = {
    0x8F: "Sapphire Rapids",
    0xCF: "Emerald Rapids",
    0xAD: "Granite Rapids",
    0xAE: "Granite Rapids-D",
}
_FAMILY = 6

_HARDENING = (
    *unit_hardening.NO_NEW_PRIVILEGES,
    *unit_hardening.OWN_PROCESS,
    *unit_hardening.KERNEL,
    *unit_hardening.KERNEL_TUNABLES,
    *unit_hardening.FILES,
    *unit_hardening.OTHER_PROCESSES,
    *unit_hardening.NO_NETWORK,
    *unit_hardening.SYSTEM_CALLS,
    # The registers are devices, one for each CPU, and the kernel asks for this capability on top.
    "DevicePolicy=closed",
    "DeviceAllow=char-cpu/msr rw",
    *unit_hardening.capability_lines(["CAP_SYS_RAWIO"]),
)


def cpu_name(cpuinfo: str) -> str:
    """The CPU's generation by family and model of /proc/cpuinfo; GaudiError for one that is not listed."""
    fields = dict(reversed(re.findall(r"^([\w ]+?)\s*:[ \t]*(.*)$", cpuinfo, re.MULTILINE)))
    vendor, family, model = (fields.get(name, "") for name in ("vendor_id", "cpu family", "model"))
    if vendor == "GenuineIntel" and family == str(_FAMILY) and model.isdecimal() and int(model) in MODELS:
        return MODELS[int(model)]
    cpu = f"{vendor or 'no vendor'}, family {family or '?'}, model {model or '?'}"
    raise GaudiError(
        f"latency_msrs: this node's CPU ({cpu}) is not one of {', '.join(MODELS.values())}, and these registers have "
        "another meaning there; set latency_msrs to false."
    )


def unit_text() -> str:
    """The unit; after all that sets the CPUs too, whose last word it has to be."""
    writes = "\n".join(f"ExecStart={WRITE} -a {register} {value}" for register, value in VALUES.items())
    hardening = "\n".join(_HARDENING)
    return f"""\
# Written by gaudi3.scale.
[Unit]
Description=Registers of the CPUs for the latency of Gaudi training
Wants=modprobe@msr.service
After=modprobe@msr.service tuned.service gaudi3-scale-cpu-governor.service

[Service]
Type=oneshot
RemainAfterExit=yes
{writes}
{hardening}

[Install]
WantedBy=multi-user.target
"""


def plan_latency_msrs(wanted: bool, node: Node) -> Setting:
    """The unit, where it is wanted; refused on a CPU that has other registers."""
    path = boot_unit.path_of(UNIT, node)
    if not wanted:
        return Setting([WantedFile(path, None, only_ours=True)], {"cpu": None, "wanted": {}}, [])
    cpu = cpu_name(read_text(node.kernel("proc/cpuinfo")) or "")
    return Setting([WantedFile(path, unit_text())], {"cpu": cpu, "wanted": dict(VALUES)}, [])


def write_registers(
    setting: Setting, node: Node, run: Run, changes: Sequence[FileChange], check_mode: bool
) -> list[dict[str, str]]:
    """Run the unit where a CPU has another value, or bring back what was before; the steps made (or to make)."""
    if not setting.facts["wanted"]:
        return _restore(node, run, check_mode) if boot_unit.is_going(UNIT, node, changes) else []
    before = _read_all(run, check_mode)
    differing = {
        register: before.get(register, []) for register in VALUES if not _holds(before.get(register), register)
    }
    if not check_mode:
        kept = {register: " ".join(values) for register, values in before.items() if values}
        earlier_values.remember(node, NAME, kept)
    is_new = boot_unit.is_new(UNIT, node, changes)
    enabled = boot_unit.settle(UNIT, run, due=bool(differing) or is_new, check_mode=check_mode)
    if not check_mode and differing:
        after = _read_all(run, check_mode)
        for register in differing:
            if not _holds(after.get(register), register):
                raise GaudiError(
                    f"latency_msrs: register {register} holds {_shown(after.get(register))} although "
                    f"{VALUES[register]} was written; switch on hardware P-states (HWP) in the BIOS, or set "
                    "latency_msrs to false."
                )
    steps = [value_difference(f"MSR {name}", _shown(values), VALUES[name]) for name, values in differing.items()]
    return steps if steps or enabled or is_new else [value_difference(UNIT, "disabled", "enabled")]


def _read_all(run: Run, check_mode: bool) -> dict[str, list[str]]:
    """Each register's value on every CPU; in check mode empty where the kernel's module is not loaded."""
    found = {register: _read(register, run) for register in VALUES}
    if not check_mode and not all(found.values()):
        run(["modprobe", "msr"])
        found = {register: _read(register, run) for register in VALUES}
        silent = [register for register, values in found.items() if not values]
        if silent:
            reason = last_line(run([READ, "-a", silent[0]]).stderr)
            raise GaudiError(
                f"latency_msrs: register {silent[0]} cannot be read ({reason}); see whether the kernel has the module "
                "msr and is not locked down (Secure Boot), or set latency_msrs to false."
            )
    return found


def _read(register: str, run: Run) -> list[str]:
    done = run([READ, "-a", register])
    words = done.stdout.split() if done.rc == 0 else []
    return [hex(int(word, 16)) for word in words if re.fullmatch(r"[0-9a-fA-F]{1,16}", word)]


def _holds(values: Sequence[str] | None, register: str) -> bool:
    return bool(values) and set(values or ()) == {VALUES[register]}


def _shown(values: Sequence[str] | None) -> str:
    return " ".join(sorted(set(values or ()))) or "unknown"


def _restore(node: Node, run: Run, check_mode: bool) -> list[dict[str, str]]:
    kept = earlier_values.recall(node, NAME)
    steps = []
    for register, text in kept.items():
        values = text.split()
        steps.append(value_difference(f"MSR {register}", VALUES.get(register, "?"), _shown(values)))
        if check_mode:
            continue
        for cpu, value in enumerate(values):
            # With all alike, one call does for all CPUs.
            where = ["-a"] if len(set(values)) == 1 else ["-p", str(cpu)]
            done = run([WRITE, *where, register, value])
            if done.rc != 0:
                raise GaudiError(
                    f"latency_msrs: register {register} does not take back {value}: {last_line(done.stderr)}; the next "
                    "boot restores it."
                )
            if where == ["-a"]:
                break
    if not check_mode:
        earlier_values.forget(node, NAME)
    return steps
