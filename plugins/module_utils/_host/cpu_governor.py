# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The CPU frequency governor: read from cpufreq, set now and at every boot by one small unit."""

from __future__ import annotations

from pathlib import Path

from .._errors import GaudiError
from .._node import unit_hardening
from .kernel.values import read_value

UNIT = "gaudi3-scale-cpu-governor.service"

_CPUFREQ = "sys/devices/system/cpu/cpufreq"
_FILES = f"{_CPUFREQ}/policy*/scaling_governor"
_HARDENING = (
    *unit_hardening.NO_NEW_PRIVILEGES,
    *unit_hardening.OWN_PROCESS,
    *unit_hardening.KERNEL,
    *unit_hardening.KERNEL_TUNABLES,
    *unit_hardening.FILES,
    *unit_hardening.OTHER_PROCESSES,
    *unit_hardening.NO_DEVICES,
    *unit_hardening.NO_NETWORK,
    *unit_hardening.SYSTEM_CALLS,
    # Root's files are root's without any capability, and nobody else may write a governor: the user stays root.
    *unit_hardening.capability_lines(),
)


def governor_files(kernel_root: str) -> list[str]:
    """One file for each frequency domain; empty where the kernel cannot change frequencies (most virtual machines)."""
    return sorted(map(str, Path(kernel_root).glob(_FILES)))


def current_governors(files: list[str]) -> list[str]:
    """The governors in force, each once, in alphabetical order."""
    return sorted({read_value(path) or "" for path in files})


def check_offered(governor: str, files: list[str]) -> None:
    """Refuse a governor that a CPU of this node does not have."""
    for path in files:
        offered = (read_value(path.replace("scaling_governor", "scaling_available_governors")) or governor).split()
        if governor not in offered:
            raise GaudiError(
                f"cpu_governor={governor} is not offered by this node's CPUs, which have {', '.join(offered)}; "
                "choose one of these, or an empty string to leave the governor alone."
            )


def unit_text(governor: str, kernel_root: str) -> str:
    """The oneshot unit that sets ``governor`` on every frequency domain."""
    pattern = Path(kernel_root, _FILES)
    hardening = "\n".join([*_HARDENING, f"ReadWritePaths={Path(kernel_root, _CPUFREQ)}"])
    return f"""\
# Written by gaudi3.scale.
[Unit]
Description=CPU frequency governor for Gaudi training
ConditionPathExistsGlob={pattern}

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'for file in {pattern}; do echo {governor} > "$$file" || exit 1; done'
{hardening}

[Install]
WantedBy=multi-user.target
"""
