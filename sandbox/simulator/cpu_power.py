# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The simulated CPUs' idle states, as intel_idle shows those of Sapphire Rapids, and the kernel's NUMA balancing."""

from __future__ import annotations

import fnmatch
import re

# Name, description and microseconds of the way back; intel_idle.c, spr_cstates.
STATES = (
    ("POLL", "CPUIDLE CORE POLL IDLE", 0),
    ("C1", "MWAIT 0x00", 1),
    ("C1E", "MWAIT 0x01", 2),
    ("C6", "MWAIT 0x20", 290),
)
NUMA_BALANCING = "proc/sys/kernel/numa_balancing"
SWITCHES = "sys/devices/system/cpu/cpu*/cpuidle/state*/disable"
# An Ice Lake, which was before the generations whose registers the vendor sets.
OTHER_MODEL = 106


def files(cpus: int) -> dict[str, str]:
    """Path below the kernel root -> content, as after a boot."""
    shown = {NUMA_BALANCING: "1\n", "sys/devices/system/cpu/cpuidle/current_driver": "intel_idle\n"}
    for cpu in range(cpus):
        for number, (name, description, latency) in enumerate(STATES):
            state = f"sys/devices/system/cpu/cpu{cpu}/cpuidle/state{number}"
            shown[f"{state}/name"] = f"{name}\n"
            shown[f"{state}/desc"] = f"{description}\n"
            shown[f"{state}/latency"] = f"{latency}\n"
            shown[f"{state}/disable"] = "0\n"
    return shown


def is_written_by_programs(path: str) -> bool:
    """Whether programs of the node write this file, as they do in a real kernel."""
    return path == NUMA_BALANCING or fnmatch.fnmatch(path, SWITCHES)


def another_cpu(cpuinfo: str) -> str:
    """/proc/cpuinfo of an Intel CPU of an earlier generation."""
    text = re.sub(r"^vendor_id\t: .*$", "vendor_id\t: GenuineIntel", cpuinfo, flags=re.MULTILINE)
    text = re.sub(r"^cpu family\t: .*$", "cpu family\t: 6", text, flags=re.MULTILINE)
    return re.sub(r"^model\t\t: .*$", f"model\t\t: {OTHER_MODEL}", text, flags=re.MULTILINE)
