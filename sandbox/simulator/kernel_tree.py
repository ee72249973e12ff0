# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The simulated /sys, /proc and /dev: rendered from the node's state, read by whoever is told its root.

Paths and contents follow the vendor's driver (sysfs.c of drivers.accel.habanalabs.kernel) and the kernel's PCI sysfs.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from . import cpu_power, external_ports, hlml_state, host_nics
from .boards import CLASS, VENDOR
from .device_group import group_number
from .faults import hits
from .node_state import ROOT, Node, locked, read
from .numa import NUMA_NODES, processor_list, processors
from .open_devices import count_open
from .readings import CardReading, cards_on_bus, readings
from .releases import RELEASES

KERNEL = "kernel"
COMMAND_LINE = "boot/cmdline"
BOOT_ID = "boot/boot_id"
BOOT_TIME = "boot/time"
HUGEPAGES = "proc/sys/vm/nr_hugepages"
# Files that a program of the node may write, as into a real /proc; rendering keeps what it wrote.
WRITABLE = frozenset({HUGEPAGES})
DEVICES = "dev/"
# Number of the node's own /dev/null: a character device that every container may open, and that holds nothing.
DEVICE_NUMBER = os.makedev(1, 3)
DEVICE_MODE = 0o666
# The cards are for a group; the verbs of their ports, as of any, are for all (rdma-core, its rules of udev).
CARDS, CARD_MODE = "dev/accel/", 0o660
HUGEPAGE_KB = 2048
# Where the source of the driver looks whether it shall fail to compile; with "-RELEASE-BUILD" only that release's does.
BUILD_ERROR_FLAG = "faults/dkms_build_error"


@dataclass(frozen=True)
class Machine:
    """What the simulation takes from the real machine and from its last boot."""

    meminfo: str
    cpuinfo: str
    cpus: int
    command_line: str
    boot_id: str
    boot_time: str
    hugepages: int
    open_devices: int = 0
    interfaces: frozenset[str] = frozenset()


def render(node: Node, machine: Machine) -> dict[str, str]:
    """Path below the kernel root -> content, for everything that this node's kernel shows."""
    return {
        **_machine_files(node, machine),
        **_pci_files(node, machine),
        **_module_files(node, machine),
        **_card_files(node),
        **_network_files(node, machine),
        **host_nics.files(node.faults),
    }


def _machine_files(node: Node, machine: Machine) -> dict[str, str]:
    online = processor_list(range(machine.cpus)) + "\n"
    return {
        "proc/cmdline": machine.command_line + "\n",
        "proc/cpuinfo": cpu_power.another_cpu(machine.cpuinfo) if "another_cpu" in node.faults else machine.cpuinfo,
        "proc/meminfo": _meminfo(machine),
        "proc/modules": proc_modules(node, machine.open_devices),
        "proc/stat": f"btime {machine.boot_time}\n",
        "proc/sys/kernel/osrelease": node.kernel_release + "\n",
        "proc/sys/kernel/random/boot_id": machine.boot_id + "\n",
        HUGEPAGES: f"{machine.hugepages}\n",
        "sys/class/dmi/id/product_name": "gaudi3.scale sandbox (simulated)\n",
        "sys/class/dmi/id/sys_vendor": "gaudi3.scale\n",
        "sys/devices/system/cpu/online": online,
        "sys/devices/system/cpu/possible": online,
        **_processor_files(machine),
        **cpu_power.files(machine.cpus),
    }


def _processor_files(machine: Machine) -> dict[str, str]:
    """Two sockets, a NUMA node each. A core has one processor: real SMT siblings could lie in different halves."""
    files = {}
    for numa_node in range(NUMA_NODES):
        own = processors(numa_node, machine.cpus)
        files[f"sys/devices/system/node/node{numa_node}/cpulist"] = processor_list(own) + "\n"
        for cpu in own:
            topology = f"sys/devices/system/cpu/cpu{cpu}/topology"
            files[f"{topology}/physical_package_id"] = f"{numa_node}\n"
            files[f"{topology}/thread_siblings_list"] = f"{cpu}\n"
    return files


def _meminfo(machine: Machine) -> str:
    """The real memory with the simulated huge pages in it."""
    kept = [line for line in machine.meminfo.splitlines() if not line.startswith(("Huge", "Hugetlb"))]
    pages = machine.hugepages
    huge = [("HugePages_Total:", str(pages)), ("HugePages_Free:", str(pages)), ("HugePages_Rsvd:", "0"),
            ("HugePages_Surp:", "0"), ("Hugepagesize:", f"{HUGEPAGE_KB} kB"),
            ("Hugetlb:", f"{pages * HUGEPAGE_KB} kB")]  # fmt: skip
    return "\n".join([*kept, *(f"{name:<16}{value:>11}" for name, value in huge)]) + "\n"


def _pci_files(node: Node, machine: Machine) -> dict[str, str]:
    translated = "iommu_translates" in node.faults and "iommu=pt" not in machine.command_line.split()
    files = {}
    for card in cards_on_bus(node):
        for name, value in {
            "vendor": VENDOR,
            "device": node.board.device_id,
            "class": CLASS,
            "revision": "0x01",
            "subsystem_vendor": VENDOR,
            "subsystem_device": node.board.device_id,
            "numa_node": str(card.numa_node),
            "current_link_width": "8" if hits(node.faults, "degraded_pcie", card.module_id) else "16",
            "max_link_width": "16",
            "current_link_speed": _link_speed(node, hits(node.faults, "degraded_pcie", card.module_id)),
            "max_link_speed": _link_speed(node),
            # Of a group of its own; without the fault the kernel's own default is not to translate.
            "iommu_group/type": "DMA" if translated else "identity",
        }.items():
            files[f"sys/bus/pci/devices/{card.pci_address}/{name}"] = value + "\n"
    return files


def _link_speed(node: Node, degraded: bool = False) -> str:
    """As the kernel writes it; a generation has twice the speed of the one before."""
    return f"{int(node.board.link_speed.removesuffix('GT/s')) >> degraded}.0 GT/s PCIe"


def use_counts(node: Node, open_devices: int = 0) -> dict[str, tuple[int, tuple[str, ...]]]:
    """Loaded module -> (use count, modules that use it), as lsmod shows on a machine with these cards.

    ``open_devices`` is how many times real processes have a card open.
    """
    cards = len(readings(node))
    users = {
        "habanalabs_compat": ("habanalabs",),
        "habanalabs": ("habanalabs_cn",),
        "habanalabs_cn": ("habanalabs_en", "habanalabs_ib"),
    }
    busy = open_devices + sum(reading.busy for reading in readings(node))
    counts = {}
    for module in node.modules:
        loaded = tuple(user for user in users.get(module, ()) if user in node.modules)
        own = busy if module == "habanalabs" else cards if module != "habanalabs_compat" else 0
        counts[module] = (own + len(loaded), loaded)
    return counts


def proc_modules(node: Node, open_devices: int = 0) -> str:
    """The text of /proc/modules: the newest module first."""
    lines = []
    for module, (count, users) in reversed(use_counts(node, open_devices).items()):
        names = "".join(f"{user}," for user in users) or "-"
        lines.append(f"{module} 1048576 {count} {names} Live 0x0000000000000000 (OE)\n")
    return "".join(lines)


def _module_files(node: Node, machine: Machine) -> dict[str, str]:
    files = {}
    for module, (count, _users) in use_counts(node, machine.open_devices).items():
        release = RELEASES[node.modules[module]]
        nic = module in ("habanalabs_cn", "habanalabs_en", "habanalabs_ib")
        files[f"sys/module/{module}/version"] = f"{release.nic_driver if nic else release.driver}\n"
        files[f"sys/module/{module}/refcnt"] = f"{count}\n"
        files[f"sys/module/{module}/initstate"] = "live\n"
        for name, value in node.module_parameters.get(module, {}).items():
            files[f"sys/module/{module}/parameters/{name}"] = f"{value}\n"
    return files


def _card_files(node: Node) -> dict[str, str]:
    files = {}
    for reading in readings(node):
        device = f"sys/class/accel/accel{reading.index}/device"
        for name, value in _card_attributes(node, reading).items():
            files[f"{device}/{name}"] = value + "\n"
        files[f"dev/accel/accel{reading.index}"] = ""
        files[f"dev/accel/accel_controlD{reading.index}"] = ""
        if "habanalabs_ib" in node.modules and not hits(node.faults, "no_verbs", reading.card.module_id):
            files[f"sys/class/infiniband/hbl_{reading.index}/device/vendor"] = VENDOR + "\n"
            verbs = f"sys/bus/pci/devices/{reading.card.pci_address}/infiniband_verbs/uverbs{reading.index}"
            files[f"{verbs}/ibdev"] = f"hbl_{reading.index}\n"
            files[f"dev/infiniband/uverbs{reading.index}"] = ""
    return files


def _card_attributes(node: Node, reading: CardReading) -> dict[str, str]:
    board, firmware = reading.board, f"hl-{reading.board.firmware_name}-{reading.firmware}"
    return {
        "status": reading.status,
        "device_type": board.device_type,
        "module_id": str(reading.card.module_id),
        "pci_addr": reading.card.pci_address,
        "parent_device": reading.card.pci_address,
        "driver_ver": RELEASES[node.modules["habanalabs"]].driver,
        "fw_os_ver": f"Zephyr 2.7.2-{firmware}",
        "preboot_btl_ver": f"Preboot version {firmware}",
        "uboot_ver": f"U-Boot 2021.04-{firmware}",
        "cpucp_ver": firmware,
        "cpucp_kernel_ver": f"Linux {board.firmware_name} 5.10.18-{firmware}",
        "armcp_kernel_ver": f"Linux {board.firmware_name} 5.10.18-{firmware}",
        "armcp_ver": firmware,
        "cpld_ver": "0x0000000000000010",
        "thermal_ver": "simulated",
        "vrm_ver": "0x10",
        "fuse_ver": f"{board.uuid_prefix}-SIM",
        "security_enabled": "1",
        "max_power": str(reading.limit_watts * 1000),
        "clk_max_freq_mhz": str(board.clock_mhz),
        "clk_cur_freq_mhz": str(board.clock_mhz),
        "hard_reset_cnt": "0",
        "vendor": VENDOR,
        "device": board.device_id,
        "numa_node": str(reading.card.numa_node),
    }


def _network_files(node: Node, machine: Machine) -> dict[str, str]:
    """A management interface, and the cards' external ports once their network driver is loaded."""
    files = {
        "sys/class/net/lo/operstate": "unknown\n",
        "sys/class/net/lo/flags": "0x9\n",
        "sys/class/net/eth0/operstate": "up\n",
        "sys/class/net/eth0/carrier": "1\n",
        "sys/class/net/eth0/flags": "0x1003\n",
        "sys/class/net/eth0/device/vendor": "0x1af4\n",
        "sys/class/net/eth0/device/device": "0x1041\n",
    }
    return {**files, **external_ports.files(node, machine.interfaces)}


def refresh(node: Node, root: Path = ROOT) -> None:
    """Show the node in its kernel tree: write what differs, remove what is gone. The caller holds the lock."""
    kernel = root / KERNEL
    machine = this_machine(root)
    files, links = render(node, machine), external_ports.links(node, machine.interfaces)
    _remove_others(kernel, {*files, *links})
    for path, content in files.items():
        if path.startswith(DEVICES):
            _make_device(kernel / path, path.startswith(CARDS))
        else:
            _write(kernel / path, content, keep=path in WRITABLE or cpu_power.is_written_by_programs(path))
    for path, target in links.items():
        _link(kernel / path, target)
    # Accounts that may open the cards read it, whatever the umask of the unit that changed them.
    _write(root / hlml_state.FILE, hlml_state.text(node, machine.cpus), mode=0o644)
    flags = build_error_flags(node)
    for flag in (root / BUILD_ERROR_FLAG).parent.glob("*"):
        if str(flag.relative_to(root)) not in flags:
            flag.unlink(missing_ok=True)
    for name in flags:
        _write(root / name, "")


def build_error_flags(node: Node) -> set[str]:
    """The files below the simulator's root that make sources fail to compile."""
    named = node.faults.get("dkms_build_error")
    if isinstance(named, list):
        return {f"{BUILD_ERROR_FLAG}-{package}" for package in named}
    return {BUILD_ERROR_FLAG} if named else set()


def this_machine(root: Path) -> Machine:
    """The machine below the simulation, with what was written into the simulated /proc."""
    hugepages = root / KERNEL / HUGEPAGES
    return Machine(
        meminfo=Path("/proc/meminfo").read_text(encoding="utf-8"),
        cpuinfo=Path("/proc/cpuinfo").read_text(encoding="utf-8"),
        cpus=os.cpu_count() or 1,
        command_line=_line(root / COMMAND_LINE),
        boot_id=_line(root / BOOT_ID),
        boot_time=_line(root / BOOT_TIME),
        hugepages=int(hugepages.read_text(encoding="utf-8") or 0) if hugepages.exists() else 0,
        open_devices=count_open(root / KERNEL),
        interfaces=external_ports.real_interfaces(),
    )


def _line(path: Path) -> str:
    return path.read_text(encoding="utf-8").strip() if path.exists() else ""


def _write(path: Path, content: str, *, keep: bool = False, mode: int | None = None) -> None:
    if path.exists() and (keep or path.read_text(encoding="utf-8") == content):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_text(content, encoding="utf-8")
    if mode is not None:
        temporary.chmod(mode)
    temporary.replace(path)


def _make_device(path: Path, is_card: bool) -> None:
    if path.is_char_device():
        return
    mode = CARD_MODE if is_card else DEVICE_MODE
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mknod(path, stat.S_IFCHR | mode, DEVICE_NUMBER)
    path.chmod(mode)  # what the umask had left out
    if is_card:
        os.chown(path, 0, group_number())


def _link(path: Path, target: str) -> None:
    if path.is_symlink() and str(path.readlink()) == target:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.new")
    temporary.symlink_to(target)
    temporary.replace(path)


def _remove_others(kernel: Path, wanted: Collection[str]) -> None:
    for directory, subdirectories, names in os.walk(kernel, topdown=False):
        for path in (Path(directory, name) for name in (*names, *subdirectories)):
            if (path.is_symlink() or not path.is_dir()) and str(path.relative_to(kernel)) not in wanted:
                path.unlink(missing_ok=True)
        if not any(Path(directory).iterdir()):
            Path(directory).rmdir()


def main(arguments: list[str]) -> int:
    """``render``: show node.json as it is now."""
    del arguments
    with locked():
        refresh(read())
    return 0
