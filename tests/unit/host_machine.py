# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A server on a file system of its own, as the host layer meets it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._host.node import Node
from ansible_collections.gaudi3.scale.plugins.module_utils._host.state import HostOptions, converge
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.tests.unit.unit_runner import UnitRunner

ARGUMENTS = "iommu=pt intel_iommu=on"
BOOTED = 1_700_000_000


class Machine:
    """A server with 4 CPUs, 64 GiB, GRUB and cpufreq; its update-grub writes the menu from the drop-ins."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.etc, self.boot, self.kernel = root / "etc", root / "boot", root / "kernel"
        self.write("kernel/proc/cpuinfo", "".join(f"processor\t: {number}\n\n" for number in range(4)))
        self.write("kernel/proc/meminfo", "MemTotal:       67108864 kB\nHugepagesize:       2048 kB\n")
        self.write("kernel/proc/sys/vm/nr_hugepages", "0\n")
        self.write("kernel/proc/cmdline", "BOOT_IMAGE=/vmlinuz ro quiet\n")
        self.write("kernel/proc/stat", f"cpu 1 2 3\nbtime {BOOTED}\n")
        for policy in (0, 1):
            self.write(self.cpufreq(policy, "scaling_governor"), "powersave\n")
            self.write(self.cpufreq(policy, "scaling_available_governors"), "performance powersave\n")
        self.write("boot/grub/grub.cfg", "\tlinux\t/vmlinuz ro quiet\n", time=BOOTED - 1000)
        self.run = UnitRunner(self.etc, {"update-grub": self.update_grub})
        self.update_grub_result = CommandResult(0, "", "done\n")
        self.programs = {"update-grub"}
        self.memlock = True

    def cpufreq(self, policy: int, name: str) -> str:
        return f"kernel/sys/devices/system/cpu/cpufreq/policy{policy}/{name}"

    def write(self, path: str, text: str, time: float | None = None) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        if time is not None:
            os.utime(target, (time, time))

    def read(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8")

    def update_grub(self, argv: Sequence[str]) -> CommandResult:
        if self.update_grub_result.rc == 0:
            texts = [path.read_text(encoding="utf-8") for path in sorted((self.etc / "default/grub.d").glob("*.cfg"))]
            added = re.findall(r"\$\{GRUB_CMDLINE_LINUX_DEFAULT\} ([^\"]*)", "".join(texts))
            words = " ".join(added)
            self.write("boot/grub/grub.cfg", f"\tlinux\t/vmlinuz ro quiet {words}\n")
        return self.update_grub_result

    def converge(self, check_mode: bool = False, **options: Any) -> dict[str, Any]:
        node = Node(
            kernel_root=str(self.kernel),
            etc=str(self.etc),
            boot=str(self.boot),
            usr_lib=str(self.root / "usr/lib"),
            runtime=str(self.root / "run"),
            installed=self.programs.__contains__,
            may_raise_memlock=lambda: self.memlock,
        )
        return converge(HostOptions(**options), self.run, check_mode, node)

    def files(self) -> dict[str, str]:
        return {
            str(path.relative_to(self.root)): path.read_text(encoding="utf-8")
            for path in sorted(self.root.rglob("*"))
            if path.is_file()
        }
