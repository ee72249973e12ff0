# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a Gaudi node's operating system needs: huge pages, IOMMU pass-through, locked memory, the CPU governor.

Each setting's knowledge is in a file of its own; here they are read, compared and applied together. A setting whose
option is empty is not managed, and what the collection once wrote for it is removed.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._errors import GaudiError
from .._node import systemd_units
from .._node.commands import Run
from .._node.lock import alone, state_beside
from .._node.rendered_files import FileChange, WantedFile, differences, pending, read_text, write
from . import cpu_governor, firewall, firewall_table, hugepages, memory_lock
from .firewall import DEFAULT_PORTS
from .kernel import grub_settings
from .kernel.values import read_value, value_difference, write_value
from .kernel_arguments import plan_kernel_arguments, reboot_reasons, update_menu
from .node import Node, Setting

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


def converge(options: HostOptions, run: Run, check_mode: bool, node: Node) -> dict[str, Any]:
    """Bring the node to ``options``; returns what an Ansible module returns."""
    _check(options)
    # What is refused is refused before there is even a lock.
    _planned(options, node)
    with alone("host settings", state_beside(node.etc), check_mode=check_mode):
        return _converge(options, node, run, check_mode)


def _planned(options: HostOptions, node: Node) -> dict[str, Setting]:
    return {
        "hugepages": plan_hugepages(options, node),
        "kernel_arguments": plan_kernel_arguments(options.kernel_arguments, node),
        "memlock": plan_memlock(options, node),
        "cpu_governor": plan_cpu_governor(options, node),
        "module_parameters": plan_module_parameters(options, node),
        "firewall": firewall_table.plan_firewall(
            options.firewall, options.firewall_nodes, options.firewall_ports, node
        ),
    }


def _converge(options: HostOptions, node: Node, run: Run, check_mode: bool) -> dict[str, object]:
    plan = _planned(options, node)
    changes = pending([file for setting in plan.values() for file in setting.files])
    if not check_mode:
        _write(changes, node, run)
    pages, shortfall = _reserve_pages(plan["hugepages"].facts, node, check_mode)
    steps = [
        pages,
        _set_governor(options.cpu_governor, node, run, changes, check_mode),
        firewall_table.load_rules(options.firewall, plan["firewall"], node, run, changes, check_mode),
        update_menu(options.kernel_arguments, node, run, changes, check_mode),
    ]
    values = [step for step in steps if step]
    reasons, hindrances = reboot_reasons(options.kernel_arguments, node, changes, check_mode)
    warnings = [*(warning for setting in plan.values() for warning in setting.warnings), *shortfall, *hindrances]
    return {
        "changed": bool(changes or values),
        "diff": [*differences(changes), *values],
        # Ansible prints a warning without the host it came from.
        "warnings": [f"{platform.node()}: {warning}" for warning in warnings],
        "reboot_required": bool(reasons),
        "reboot_reasons": reasons,
        "settings": {name: setting.facts for name, setting in plan.items()},
    }


def _check(options: HostOptions) -> None:
    hugepages.parse_request(options.hugepages)
    grub_settings.check_arguments(options.kernel_arguments)
    if not 0 < options.hugepages_memory_share <= 1:
        given = f"hugepages_memory_share={options.hugepages_memory_share}"
        raise GaudiError(f"{given} is not a share of the memory; use a number above 0 and up to 1.")
    if not re.fullmatch(r"[a-z_]*", options.cpu_governor):
        raise GaudiError(f"cpu_governor={options.cpu_governor!r} is no governor's name; use for example performance.")
    for name, value in options.module_parameters.items():
        if not _PARAMETER.fullmatch(f"{name}={value}"):
            raise GaudiError(f"module_parameters: {name}={value!r} is not one; write a name and one plain value.")


def plan_hugepages(options: HostOptions, node: Node) -> Setting:
    """The sysctl drop-in and the number of pages; refused or left out where they do not fit."""
    path = node.in_etc(hugepages.DROP_IN)
    request = hugepages.parse_request(options.hugepages)
    current = read_value(node.kernel("proc/sys/vm/nr_hugepages"))
    facts: dict[str, object] = {"pages": None, "reserved": int(current or 0), "memory_mib": None, "at_least": False}
    if request == hugepages.UNMANAGED:
        return Setting([WantedFile(path, None)], facts, [])
    memory = hugepages.parse_meminfo(read_text(node.kernel("proc/meminfo")) or "", node.kernel("proc/meminfo"))
    cpus = hugepages.count_cpus(read_text(node.kernel("proc/cpuinfo")) or "")
    wanted = hugepages.reservation(request, memory, cpus)
    problem = hugepages.shortage(wanted, memory, options.hugepages_memory_share)
    if problem and options.hugepages_shortage == REFUSE:
        raise GaudiError(problem, pages=wanted.pages, memory_mib=wanted.mib)
    if problem:
        return Setting([], facts, [problem])
    facts.update(pages=wanted.pages, memory_mib=wanted.mib, at_least=wanted.at_least)
    others = hugepages.other_settings(_later_sysctl_files(path), wanted.pages)
    warnings = [
        f"hugepages: {other} is read after {path} at boot; remove {hugepages.SETTING} there." for other in others
    ]
    return Setting([WantedFile(path, hugepages.drop_in(wanted.pages))], facts, warnings)


def _later_sysctl_files(ours: str) -> list[tuple[str, str]]:
    """Drop-ins that sort after ours; systemd-sysctl reads them in the order of their names."""
    paths = sorted(map(str, Path(ours).parent.glob("*.conf")))
    return [(path, read_text(path) or "") for path in paths if path > ours]


def plan_memlock(options: HostOptions, node: Node) -> Setting:
    """Drop-ins for logins (pam_limits) and services (systemd); none where the limit cannot be raised."""
    login = node.in_etc(memory_lock.LOGIN_DROP_IN)
    service = node.in_etc(memory_lock.SERVICE_DROP_IN)
    if not options.memlock:
        return Setting([WantedFile(login, None), WantedFile(service, None)], {"unlimited": False}, [])
    if not node.may_raise_memlock():
        warning = "memlock stays as it is: this node may not raise the limit (a container?); set memlock to false here."
        return Setting([], {"unlimited": False}, [warning])
    files = [WantedFile(login, memory_lock.LOGIN_LIMITS), WantedFile(service, memory_lock.SERVICE_LIMITS)]
    return Setting(files, {"unlimited": True}, [])


def plan_cpu_governor(options: HostOptions, node: Node) -> Setting:
    """The unit that sets the governor, where there is one."""
    unit = _governor_unit(node)
    files = cpu_governor.governor_files(node.kernel_root)
    current = cpu_governor.current_governors(files)
    facts: dict[str, object] = {"wanted": options.cpu_governor or None, "current": current}
    if not files or not options.cpu_governor:
        return Setting([WantedFile(unit, None)], facts, [])
    cpu_governor.check_offered(options.cpu_governor, files)
    return Setting([WantedFile(unit, cpu_governor.unit_text(options.cpu_governor, node.kernel_root))], facts, [])


def plan_module_parameters(options: HostOptions, node: Node) -> Setting:
    """Parameters of the ``habanalabs`` module. They are read when it is loaded (all are 0444 afterwards)."""
    path = node.in_etc(MODULE_DROP_IN)
    wanted = dict(options.module_parameters)
    facts: dict[str, object] = {"wanted": wanted}
    if not wanted:
        return Setting([WantedFile(path, None)], facts, [])
    words = " ".join(f"{name}={value}" for name, value in wanted.items())
    text = f"# Written by gaudi3.scale.\noptions habanalabs {words}\n"
    loaded = {name: read_value(node.kernel(f"sys/module/habanalabs/parameters/{name}")) for name in wanted}
    late = [name for name, value in wanted.items() if loaded[name] not in (None, value)]
    warnings = [f"module_parameters: {', '.join(late)} takes effect when habanalabs is loaded again."] if late else []
    return Setting([WantedFile(path, text)], facts, warnings)


def _write(changes: Sequence[FileChange], node: Node, run: Run) -> None:
    """Write the files. A unit is stopped and disabled while systemd still knows it."""
    units = {_governor_unit(node): cpu_governor.UNIT, firewall_table.unit_file(node): firewall.UNIT}
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
    return step, [f"hugepages: {got} of {pages} pages found room in fragmented memory; the next boot reserves all."]


def _set_governor(
    governor: str, node: Node, run: Run, changes: Sequence[FileChange], check_mode: bool
) -> dict[str, str] | None:
    """Start the unit where a CPU has another governor or the unit is new, and see that it worked."""
    files = cpu_governor.governor_files(node.kernel_root)
    if not governor or not files:
        return None
    before = cpu_governor.current_governors(files)
    new_unit = any(change.wanted.path == _governor_unit(node) for change in changes)
    enabled = systemd_units.is_enabled(run, cpu_governor.UNIT)
    if not check_mode:
        if not enabled:
            systemd_units.enable(run, cpu_governor.UNIT)
        if before != [governor] or new_unit:
            systemd_units.restart(run, cpu_governor.UNIT)
        after = cpu_governor.current_governors(files)
        if after != [governor]:
            now = ", ".join(after)
            raise GaudiError(f"cpu_governor: the CPUs run with {now} although {governor} was set; check the BIOS.")
    if before != [governor]:
        return value_difference(files[0], " ".join(before), governor)
    return None if enabled or new_unit else value_difference(cpu_governor.UNIT, "disabled", "enabled")


def _governor_unit(node: Node) -> str:
    return node.in_etc(f"{systemd_units.UNIT_DIRECTORY}/{cpu_governor.UNIT}")
