# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The cards that the process holds, as the real one does: their devices are open while it runs."""

from __future__ import annotations

import os
from pathlib import Path

KERNEL = Path("/var/lib/gaudi_simulator/kernel")


class NoDeviceError(Exception):
    """Why there is none."""


def acquire(count: int, kernel: Path = KERNEL) -> list[int]:
    """Open as many cards of HABANA_VISIBLE_MODULES as the ranks are; the file numbers, none where there is no node."""
    if not (kernel / "sys/class/accel").is_dir():
        return []
    wanted = os.environ.get("HABANA_VISIBLE_MODULES", "")
    devices = _devices(kernel)
    modules = [int(word) for word in wanted.split(",")] if wanted else sorted(devices)
    absent = [module for module in modules if module not in devices]
    if absent or len(modules) < count:
        raise NoDeviceError(f"synStatus=8 [Device not found] Device acquire failed: {count} of modules {modules}")
    # Read only: a device that is open counts as held, whoever may write to it.
    return [os.open(devices[module], os.O_RDONLY) for module in modules[:count]]


def _devices(kernel: Path) -> dict[int, Path]:
    found = {}
    for directory in (kernel / "sys/class/accel").glob("accel*/device"):
        name = directory.parent.name
        if name.startswith("accel_control"):
            continue
        module = int((directory / "module_id").read_text(encoding="utf-8"))
        found[module] = kernel / "dev/accel" / name
    return found
