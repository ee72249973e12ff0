# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a Gaudi node's operating system needs: huge pages, IOMMU pass-through, locked memory, CPUs, the clock.

Each setting's knowledge is in a file of its own; here they are read, compared and applied together. A setting whose
option is empty is not managed, and what the collection once wrote for it is removed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._errors import GaudiError
from .._node import restart_due, systemd_units
from .._node.commands import Run
from .._node.lock import alone, state_beside
from .._node.rendered_files import FileChange, WantedFile, differences, pending, read_text, replaced, write
from . import (
    boot_unit,
    cpu_governor,
    cpu_power,
    firewall,
    firewall_table,
    hugepages,
    idle_states,
    latency_msrs,
    memory_lock,
    numa_balancing,
    sysctl,
    time_service,
    tuned,
)
from .firewall import DEFAULT_PORTS
from .kernel import grub_settings
from .kernel.values import read_value, value_difference, write_value
from .kernel_arguments import leaving, plan_kernel_arguments, reboot_reasons, update_menu
from .node import Node, Setting
from .other_hugepages import given_elsewhere, size_to_come
from .packages import install_missing

REFUSE = "refuse"
WARN = "warn"
SHORTAGE_CHOICES = (REFUSE, WARN)

MODULE_DROP_IN = "modprobe.d/gaudi3-scale.conf"
_PARAMETER = re.compile(r"[A-Za-z0-9_]+=[A-Za-z0-9_.,:-]+")


@dataclass(frozen=True)
class HostOptions:
    """The operator's wishes; see the options of the module ``hpu_host``."""

    hugepages: str = hugepages.AUTO
    hugepages_memory_share: float = 0.5
    hugepages_shortage: str = REFUSE
    kernel_arguments: tuple[str, ...] = ("iommu=pt", "intel_iommu=on")
    memlock: bool = True
    cpu_governor: str = "performance"
    module_parameters: Mapping[str, str] = field(default_factory=dict)
    firewall: bool = False
    firewall_nodes: tuple[str, ...] = ()
    firewall_ports: tuple[str, ...] = DEFAULT_PORTS
    cstates: tuple[str, ...] = ()
    numa_balancing: str = numa_balancing.AUTO
    latency_msrs: bool = False
    time_sync: str = time_service.UNMANAGED

    @property
    def boot_arguments(self) -> tuple[str, ...]:
        """All that the kernel's command line is to have."""
        return idle_states.kernel_arguments(self.cstates, self.kernel_arguments)


def converge(options: HostOptions, run: Run, check_mode: bool, node: Node) -> dict[str, Any]:
    """Bring the node to ``options``; returns what an Ansible module returns."""
    _check(options)
    # What is refused is refused before there is even a lock.
    _planned(options, node, tuned.running(node, run))
    with alone("host settings", state_beside(node.etc), check_mode=check_mode):
        return _converge(options, node, run, check_mode)


def _planned(options: HostOptions, node: Node, daemon: tuned.Tuned | None) -> dict[str, Setting]:
    profiles = None if daemon is None else tuned.included(daemon, node)
    balancing = numa_balancing.plan_numa_balancing(options.numa_balancing, node, profiles)
    sections = {
        **cpu_power.tuned_sections(options.cpu_governor, options.cstates, node),
        "sysctl": {numa_balancing.KEY: numa_balancing.OFF} if balancing.facts["disabled"] else {},
    }
    return {
        "hugepages": plan_hugepages(options, node, profiles or ()),
        "kernel_arguments": plan_kernel_arguments(options.boot_arguments, node),
        "memlock": plan_memlock(options, node),
        "cpu_governor": cpu_power.plan_governor(options.cpu_governor, node, daemon is not None),
        "cstates": cpu_power.plan_idle_states(options.cstates, node, daemon is not None),
        "numa_balancing": balancing,
        "latency_msrs": latency_msrs.plan_latency_msrs(options.latency_msrs, node),
        "tuned": tuned.plan_profile(daemon, sections, node),
        "module_parameters": plan_module_parameters(options, node),
        "firewall": firewall_table.plan_firewall(
            options.firewall, options.firewall_nodes, options.firewall_ports, node
        ),
    }


def _converge(options: HostOptions, node: Node, run: Run, check_mode: bool) -> dict[str, object]:
    daemon = tuned.running(node, run)
    plan = _planned(options, node, daemon)
    going = leaving(options.boot_arguments, node)
    clock = time_service.plan_time_service(options.time_sync, node, run)
    changes = pending([file for setting in plan.values() for file in setting.files])
    # First what other machines have a part in.
    fetched = [*_install_programs(options, node, run, check_mode), *time_service.install(clock, node, run, check_mode)]
    left = tuned.leave(daemon, plan["tuned"], node, run, check_mode)
    if not check_mode:
        _write(changes, node, run)
    pages, shortfall = _reserve_pages(plan["hugepages"].facts, node, check_mode)
    steps = [
        *fetched,
        left,
        pages,
        *cpu_power.set_governor(plan["cpu_governor"], node, run, changes, check_mode),
        *cpu_power.set_idle_states(plan["cstates"], node, run, changes, check_mode),
        *numa_balancing.switch(plan["numa_balancing"], node, changes, check_mode),
        tuned.enter(daemon, plan["tuned"], run, changes, check_mode),
        *latency_msrs.write_registers(plan["latency_msrs"], node, run, changes, check_mode),
        firewall_table.load_rules(options.firewall, plan["firewall"], node, run, changes, check_mode),
        update_menu(options.boot_arguments, node, run, changes, check_mode),
    ]
    values = [step for step in steps if step]
    reasons, hindrances = reboot_reasons(options.boot_arguments, node, changes, check_mode)
    if not check_mode:
        restart_due.keep("host", reasons, state_beside(node.etc), node.kernel_root)
    planned = [warning for setting in plan.values() for warning in setting.warnings]
    warnings = [
        *planned,
        *replaced(changes),
        *(_tuned_failed(options, plan, node) if daemon and not check_mode else []),
        *shortfall,
        *hindrances,
        *going,
    ]
    return {
        "changed": bool(changes or values),
        "diff": [*differences(changes), *values],
        # Ansible prints a warning without the host it came from.
        "warnings": list(warnings),
        "reboot_required": bool(reasons),
        "reboot_reasons": reasons,
        "settings": {**{name: setting.facts for name, setting in plan.items()}, "time_sync": clock},
    }


def _install_programs(options: HostOptions, node: Node, run: Run, check_mode: bool) -> list[dict[str, str]]:
    if not options.latency_msrs or node.installed(Path(latency_msrs.WRITE).name):
        return []
    return install_missing([latency_msrs.PACKAGE], latency_msrs.NAME, run, str(Path(node.etc).parent), check_mode)


def _tuned_failed(options: HostOptions, plan: Mapping[str, Setting], node: Node) -> list[str]:
    power = cpu_power.not_in_force(options.cpu_governor, options.cstates, node)
    return [*power, *numa_balancing.not_in_force(plan["numa_balancing"], node)]


def _check(options: HostOptions) -> None:
    hugepages.parse_request(options.hugepages)
    grub_settings.check_arguments(options.kernel_arguments)
    idle_states.check_limits(options.cstates, options.kernel_arguments)
    numa_balancing.check_request(options.numa_balancing)
    time_service.check_choice(options.time_sync)
    if not 0 < options.hugepages_memory_share <= 1:
        given = f"hugepages_memory_share={options.hugepages_memory_share}"
        raise GaudiError(f"{given} is not a share of the memory; use a number above 0 and up to 1.")
    if not re.fullmatch(r"[a-z_]*", options.cpu_governor):
        raise GaudiError(
            f"cpu_governor={options.cpu_governor!r} is not the name of a governor; use for example performance."
        )
    for name, value in options.module_parameters.items():
        is_plain = isinstance(value, (str, int, float)) and not isinstance(value, bool)
        if not is_plain or not _PARAMETER.fullmatch(f"{name}={value}"):
            raise GaudiError(
                f"module_parameters: {name}={value!r} is not a parameter; write a name and one plain value."
            )


def plan_hugepages(options: HostOptions, node: Node, profiles: Sequence[str]) -> Setting:
    """The sysctl drop-in and the number of pages; refused or left out where they do not fit.

    A drop-in also where tuned runs: memory is reserved early in the boot, and never given back by a change of profile.
    """
    path = node.in_etc(hugepages.DROP_IN)
    request = hugepages.parse_request(options.hugepages)
    current = read_value(node.kernel("proc/sys/vm/nr_hugepages"))
    facts: dict[str, object] = {"pages": None, "reserved": int(current or 0), "memory_mib": None, "at_least": False}
    facts.update(left_mib=None, given_by=None)
    if request == hugepages.UNMANAGED:
        return Setting([WantedFile(path, None, only_ours=True)], facts, [])
    memory = hugepages.parse_meminfo(read_text(node.kernel("proc/meminfo")) or "", node.kernel("proc/meminfo"))
    cpus = hugepages.count_cpus(read_text(node.kernel("proc/cpuinfo")) or "")
    wanted = hugepages.reservation(request, memory, cpus)
    given = given_elsewhere(wanted, cpus, options.boot_arguments, node, profiles) if wanted.at_least else None
    problem = None if given else hugepages.shortage(wanted, memory, options.hugepages_memory_share)
    if problem and options.hugepages_shortage == REFUSE:
        raise GaudiError(problem, pages=wanted.pages, memory_mib=wanted.mib)
    if problem:
        return Setting([], facts, [problem])
    taken = max(wanted.mib, given.mib if given else 0, _reserved_mib(facts, wanted) if wanted.at_least else 0)
    facts.update(pages=wanted.pages, memory_mib=taken, at_least=wanted.at_least)
    facts["left_mib"] = memory.total_kib // 1024 - taken
    if given:
        facts["given_by"] = given.source
        return Setting([WantedFile(path, None, only_ours=True)], facts, [given.left(wanted)])
    sysctl.refuse_other_owners("hugepages", hugepages.SETTING, str(wanted.pages), path, node, profiles)
    other_size = size_to_come(wanted, node)
    if other_size:
        return Setting([WantedFile(path, None, only_ours=True)], facts, [other_size])
    return Setting([WantedFile(path, hugepages.drop_in(wanted.pages))], facts, [])


def _reserved_mib(facts: Mapping[str, object], wanted: hugepages.Reservation) -> int:
    reserved = facts["reserved"]
    return reserved * wanted.page_kib // 1024 if isinstance(reserved, int) else 0


def plan_memlock(options: HostOptions, node: Node) -> Setting:
    """Drop-ins for logins (pam_limits) and services (systemd); none where the limit cannot be raised."""
    login = node.in_etc(memory_lock.LOGIN_DROP_IN)
    service = node.in_etc(memory_lock.SERVICE_DROP_IN)
    if not options.memlock:
        return Setting(
            [WantedFile(login, None, only_ours=True), WantedFile(service, None, only_ours=True)],
            {"unlimited": False},
            [],
        )
    if not node.may_raise_memlock():
        warning = (
            "memlock was not changed: this node may not raise the limit (a container?); set memlock to false here."
        )
        return Setting([], {"unlimited": False}, [warning])
    files = [WantedFile(login, memory_lock.LOGIN_LIMITS), WantedFile(service, memory_lock.SERVICE_LIMITS)]
    return Setting(files, {"unlimited": True}, [])


def plan_module_parameters(options: HostOptions, node: Node) -> Setting:
    """Parameters of the ``habanalabs`` module. They are read when it is loaded (all are 0444 afterwards)."""
    path = node.in_etc(MODULE_DROP_IN)
    wanted = dict(options.module_parameters)
    facts: dict[str, object] = {"wanted": wanted}
    if not wanted:
        return Setting([WantedFile(path, None, only_ours=True)], facts, [])
    words = " ".join(f"{name}={value}" for name, value in wanted.items())
    text = f"# Written by gaudi3.scale.\noptions habanalabs {words}\n"
    loaded = {name: read_value(node.kernel(f"sys/module/habanalabs/parameters/{name}")) for name in wanted}
    late = [name for name, value in wanted.items() if loaded[name] not in (None, value)]
    warnings = [f"module_parameters: {', '.join(late)} takes effect when habanalabs is loaded again."] if late else []
    return Setting([WantedFile(path, text)], facts, warnings)


def _write(changes: Sequence[FileChange], node: Node, run: Run) -> None:
    """Write the files. A unit is stopped and disabled while systemd still knows it."""
    ours = (cpu_governor.UNIT, idle_states.UNIT, latency_msrs.UNIT, firewall.UNIT)
    units = {boot_unit.path_of(unit, node): unit for unit in ours}
    for change in changes:
        if change.wanted.path in units and change.wanted.content is None:
            systemd_units.disable(run, units[change.wanted.path])
        write(change)
    if any(change.wanted.path.startswith(f"{node.in_etc('systemd')}/") for change in changes):
        systemd_units.reload_units(run)


def _reserve_pages(
    facts: Mapping[str, object], node: Node, check_mode: bool
) -> tuple[dict[str, str] | None, list[str]]:
    """Reserve the pages now: the step made (in check mode: to make), and a warning where the memory gave fewer."""
    pages, reserved = facts["pages"], facts["reserved"]
    if not isinstance(pages, int) or not isinstance(reserved, int):
        return None, []
    if reserved == pages or (facts["at_least"] and reserved > pages):
        return None, []
    path = node.kernel("proc/sys/vm/nr_hugepages")
    if check_mode:
        return value_difference(path, str(reserved), str(pages)), []
    write_value(path, str(pages))
    got = int(read_value(path) or 0)
    step = None if got == reserved else value_difference(path, str(reserved), str(got))
    if got >= pages:
        return step, []
    why = "could be reserved because memory is fragmented; the next boot reserves all."
    return step, [f"hugepages: only {got} of {pages} pages {why}"]
