# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The simulated boot loader: GRUB's own files decide the command line of the next boot."""

from __future__ import annotations

import subprocess
from pathlib import Path

from .node_state import ROOT

NEXT = "boot/next_cmdline"
ROOT_DEVICE = "UUID=5a4d0b0e-0000-4000-8000-000000000001"
READ_DEFAULTS = """
if [ -r /etc/default/grub ]; then . /etc/default/grub; fi
for file in /etc/default/grub.d/*.cfg; do if [ -r "$file" ]; then . "$file"; fi; done
printf '%s %s' "$GRUB_CMDLINE_LINUX" "$GRUB_CMDLINE_LINUX_DEFAULT"
"""


def next_command_line(kernel_release: str, root: Path = ROOT) -> str:
    """The command line that the last update-grub left for the next boot."""
    path = root / NEXT
    options = path.read_text(encoding="utf-8").strip() if path.exists() else "quiet"
    return f"BOOT_IMAGE=/boot/vmlinuz-{kernel_release} root={ROOT_DEVICE} ro {options}".strip()


def main(arguments: list[str]) -> int:
    """``update-grub``: read /etc/default/grub and its drop-ins as grub-mkconfig does, a shell reading assignments."""
    del arguments
    done = subprocess.run(["/bin/sh", "-c", READ_DEFAULTS], capture_output=True, text=True, check=True)
    path = ROOT / NEXT
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(" ".join(done.stdout.split()) + "\n", encoding="utf-8")
    print("Generating grub configuration file (simulated: it takes effect at the next boot of this node) ...\ndone")
    return 0
