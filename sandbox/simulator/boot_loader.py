# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The simulated boot loader: GRUB's own files decide the command line of the next boot."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from .node_state import read

MENU = Path("/boot/grub/grub.cfg")
ROOT_DEVICE = "UUID=5a4d0b0e-0000-4000-8000-000000000001"
READ_DEFAULTS = """
if [ -r /etc/default/grub ]; then . /etc/default/grub; fi
for file in /etc/default/grub.d/*.cfg; do if [ -r "$file" ]; then . "$file"; fi; done
printf '%s %s' "$GRUB_CMDLINE_LINUX" "$GRUB_CMDLINE_LINUX_DEFAULT"
"""
_KERNEL_LINE = re.compile(r"^\s*linux\s+(\S+)\s+(.*)$", re.MULTILINE)


def menu(kernel_release: str, options: str) -> str:
    """A grub.cfg with one entry, in the shape that grub-mkconfig gives it."""
    return (
        "# Simulated: it takes effect at the next boot of this container.\n"
        "menuentry 'Debian GNU/Linux' {\n"
        f"\tlinux\t/boot/vmlinuz-{kernel_release} root={ROOT_DEVICE} ro {options}\n"
        f"\tinitrd\t/boot/initrd.img-{kernel_release}\n"
        "}\n"
    )


def command_line(menu_text: str) -> str:
    """What a kernel booted from this menu finds in /proc/cmdline."""
    kernel, options = _KERNEL_LINE.search(menu_text).groups()
    return f"BOOT_IMAGE={kernel} {options.strip()}"


def next_command_line(kernel_release: str) -> str:
    """The command line of the boot that happens now; a node that never ran update-grub has its installer's menu."""
    if not MENU.exists():
        write_menu(kernel_release)
    return command_line(MENU.read_text(encoding="utf-8"))


def write_menu(kernel_release: str) -> None:
    """Read GRUB's defaults as grub-mkconfig does, a shell reading assignments, and write the menu."""
    done = subprocess.run(["/bin/sh", "-c", READ_DEFAULTS], capture_output=True, text=True, check=True)
    MENU.parent.mkdir(parents=True, exist_ok=True)
    MENU.write_text(menu(kernel_release, " ".join(done.stdout.split())), encoding="utf-8")


def main(arguments: list[str]) -> int:
    """``update-grub``."""
    del arguments
    write_menu(read().kernel_release)
    print("Generating grub configuration file (simulated: it takes effect at the next boot of this node) ...\ndone")
    return 0
