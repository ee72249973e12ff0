# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``kernel add RELEASE`` and ``kernel remove RELEASE``: what a kernel image's package does to /boot and to the menu."""

from __future__ import annotations

import sys

from .boot_loader import BOOT, write_menu
from .node_state import read


def main(arguments: list[str]) -> int:
    """Put an empty image into /boot or take it away, and write the menu anew."""
    if len(arguments) != 2 or arguments[0] not in ("add", "remove") or "/" in arguments[1]:
        print("usage: gaudi-simulator kernel add|remove RELEASE", file=sys.stderr)
        return 2
    verb, release = arguments
    running = read().kernel_release
    if verb == "add":
        # A container has no image of its running kernel; a second one makes the choice matter.
        for name in (running, release):
            (BOOT / f"vmlinuz-{name}").touch()
    else:
        (BOOT / f"vmlinuz-{release}").unlink(missing_ok=True)
    write_menu(running)
    return 0
