# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The boot of a simulated node, run by gaudi-simulated-kernel.service.

As at a real boot: the command line is the one the boot loader was given, no module is loaded, no external port is up,
huge pages are what the command line and then sysctl.d say; then the modules of /etc/modules-load.d are loaded.
"""

from __future__ import annotations

import os
import re
import time
import uuid
from collections.abc import Iterable
from pathlib import Path

from . import cpu_power
from .boot_loader import next_boot
from .containers import PID_NAMESPACE, pid_namespace
from .device_group import group_number
from .kernel_modules.modprobe import load
from .kernel_tree import BOOT_ID, BOOT_TIME, COMMAND_LINE, HUGEPAGES, KERNEL, refresh
from .losses import prepare
from .node_state import ROOT, Node, hostname, locked, new_node, read, replace, write
from .readings import started

KERNEL_RELEASE = Path("/etc/gaudi_simulator_kernel")
MODULE_LISTS = ("/run/modules-load.d", "/etc/modules-load.d", "/usr/lib/modules-load.d")
SYSCTL_LISTS = ("/etc/sysctl.d", "/run/sysctl.d", "/usr/lib/sysctl.d")


def main(arguments: list[str]) -> int:
    """``boot``: make the node's state at the first boot, and boot its kernel."""
    del arguments
    with locked():
        node = _after_power_on()
        release, command_line = next_boot(node.kernel_release)
        hugepages = wanted_hugepages(_lines(*SYSCTL_LISTS), command_line)
        node = replace(node, kernel_release=release)
        _put(ROOT / COMMAND_LINE, command_line)
        _put(ROOT / BOOT_ID, str(uuid.uuid4()))
        _put(ROOT / BOOT_TIME, str(int(time.time())))
        _put(ROOT / PID_NAMESPACE, pid_namespace())
        _put(ROOT / KERNEL / HUGEPAGES, str(hugepages))
        _forget_written(ROOT / KERNEL)
        write(node)
        group_number()
        refresh(node)
        prepare(node.faults)
    for module in wanted_modules(_lines(*MODULE_LISTS)):
        load(module, {}, quiet=False)
    return 0


def _after_power_on() -> Node:
    try:
        node = read()
    except FileNotFoundError:
        release = KERNEL_RELEASE.read_text(encoding="utf-8").strip()
        generation = os.environ.get("GAUDI_SIMULATED_GENERATION", "gaudi3")
        node = new_node(generation, int(os.environ.get("GAUDI_SIMULATED_CARDS", "8")), release, hostname())
    # A container has one kind of boot: it stands for a power cycle.
    node = started(node, power_cycled=True)
    return replace(node, modules={}, module_parameters={}, external_ports_up=False)


def _forget_written(kernel: Path) -> None:
    """What programs wrote into the kernel is gone with it."""
    for path in [kernel / cpu_power.NUMA_BALANCING, *kernel.glob(cpu_power.SWITCHES)]:
        path.unlink(missing_ok=True)


def _put(path: Path, line: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{line}\n", encoding="utf-8")


def _lines(*directories: str) -> list[str]:
    """The lines of the .conf files of these directories, in the order in which systemd reads them."""
    files = [path for directory in directories for path in Path(directory).glob("*.conf")]
    in_order = sorted(files, key=lambda path: path.name)
    return [line for path in in_order for line in path.read_text(encoding="utf-8").splitlines()]


def wanted_modules(lines: Iterable[str]) -> list[str]:
    """The modules that modules-load.d files name."""
    return [line.strip() for line in lines if line.strip() and line.strip()[0] not in "#;"]


def wanted_hugepages(lines: Iterable[str], command_line: str = "") -> int:
    """The last value of vm.nr_hugepages in sysctl.d files; without one what the command line reserves, or 0."""
    found = [re.match(r"\s*-?vm[./]nr_hugepages\s*=\s*(\d+)\s*$", line) for line in lines]
    reserved = re.findall(r"(?:^|\s)hugepages=(\d+)(?!\S)", command_line)
    return int(next((match[1] for match in reversed(found) if match), reserved[0] if reserved else "0"))
