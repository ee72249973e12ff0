# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Limits of the CPUs' idle states (C-states): C6 switched off by a unit, or intel_idle left out by a kernel argument.

The vendor's guide (Driver_Installation on docs.habana.ai, "Disable the C6 state") writes 1 to ``state2/disable``. The
number is that of one server: which state is C6 is said by its name and by the hint that the CPU enters it with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .._errors import GaudiError
from .._node import unit_hardening
from .kernel.values import read_value

UNIT = "gaudi3-scale-idle-states.service"
NO_C6 = "no_c6"
NO_INTEL_IDLE_AT_BOOT = "no_intel_idle_at_boot"
LIMITS = (NO_C6, NO_INTEL_IDLE_AT_BOOT)

# The vendor's release notes ask for it from kernel 5.9 on. The kernel then takes ACPI's idle states
# (admin-guide/kernel-parameters), which the BIOS may still let reach C6.
KERNEL_PARAMETER = "intel_idle.max_cstate"
KERNEL_ARGUMENT = f"{KERNEL_PARAMETER}=0"

_CPUS = "sys/devices/system/cpu"
_STATES = f"{_CPUS}/cpu[0-9]*/cpuidle/state[0-9]*"
# Intel's server CPUs enter C6 with the MWAIT hint 0x20 and its kinds (C6P) with 0x21 and on: the tables of the kernel's
# intel_idle.c, whose descriptions are "MWAIT 0x20"; those of ACPI's states are "ACPI FFH MWAIT 0x20".
_DEEP_NAME = re.compile(r"C(?:[6-9]|1[0-9])[A-Z]*")
_DEEP_HINT = re.compile(r"\bMWAIT 0x(?:[2-9a-f][0-9a-f])$")
_DEEP_IN_SHELL = '"C6"*|"C7"*|"C8"*|"C9"*|"C10"*|*"MWAIT 0x"[2-9a-f]?'
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
    *unit_hardening.capability_lines(),
)


@dataclass(frozen=True)
class IdleState:
    """One idle state of one CPU: where its files are, its name, and its switch (``0``: in use)."""

    directory: str
    name: str
    disabled: str | None

    @property
    def switch(self) -> str:
        """The file that takes the state out of use."""
        return f"{self.directory}/disable"


def check_limits(given: Sequence[str], arguments: Iterable[str]) -> None:
    """Refuse what is no limit, what needs a boot without saying so, and a second owner of the kernel's parameter."""
    for limit in given:
        if limit in LIMITS:
            continue
        if "max_cstate" in limit or "intel_idle" in limit:
            raise GaudiError(
                f"cstates: {limit!r} needs a reboot and does not say so; write {NO_INTEL_IDLE_AT_BOOT}, which takes "
                f"effect at the next boot, or {NO_C6}, which takes effect at once."
            )
        raise GaudiError(f"cstates: {limit!r} is not a limit of idle states; use {' and '.join(LIMITS)}, or none.")
    others = [argument for argument in arguments if argument.partition("=")[0] == KERNEL_PARAMETER]
    if NO_INTEL_IDLE_AT_BOOT in given and any(other != KERNEL_ARGUMENT for other in others):
        raise GaudiError(
            f"cstates has {NO_INTEL_IDLE_AT_BOOT}, which is {KERNEL_ARGUMENT}, and kernel_arguments has "
            f"{', '.join(others)}; use only one of the two."
        )


def kernel_arguments(limits: Sequence[str], arguments: Sequence[str]) -> tuple[str, ...]:
    """``arguments`` with what ``limits`` adds to the kernel's command line."""
    added = (KERNEL_ARGUMENT,) if NO_INTEL_IDLE_AT_BOOT in limits and KERNEL_ARGUMENT not in arguments else ()
    return (*arguments, *added)


def deep_states(kernel_root: str) -> list[IdleState]:
    """The states of all CPUs that are C6 or deeper, by CPU; empty where the kernel has none (most virtual machines)."""
    states = [_state(path) for path in sorted(Path(kernel_root).glob(_STATES))]
    return [state for state in states if state is not None]


def _state(directory: Path) -> IdleState | None:
    name = read_value(str(directory / "name")) or ""
    entered_by = read_value(str(directory / "desc")) or ""
    if not (_DEEP_NAME.fullmatch(name) or _DEEP_HINT.search(entered_by)):
        return None
    return IdleState(str(directory), name, read_value(str(directory / "disable")))


def state_numbers(states: Iterable[IdleState]) -> list[str]:
    """``state2`` and the like, each once: what a file of tuned names, which knows no states by their name."""
    return sorted({Path(state.directory).name for state in states})


def unit_text(kernel_root: str) -> str:
    """The oneshot unit that takes C6 and what is deeper out of use on every CPU, by name and hint, not by number."""
    states = Path(kernel_root, _STATES)
    hardening = "\n".join([*_HARDENING, f"ReadWritePaths={Path(kernel_root, _CPUS)}"])
    return f"""\
# Written by gaudi3.scale.
[Unit]
Description=No idle state of the CPUs from C6 on, for Gaudi training
ConditionPathExistsGlob={states}/name

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'for state in {states}; do for file in name desc; do \
read -r said < "$$state/$$file" || continue; \
case "$$said" in {_DEEP_IN_SHELL}) echo 1 > "$$state/disable" || exit 1;; esac; done; done'
{hardening}

[Install]
WantedBy=multi-user.target
"""
