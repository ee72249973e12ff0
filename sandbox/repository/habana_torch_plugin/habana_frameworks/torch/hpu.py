# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Simulated. Counts and names the simulated cards as the real module does for real ones."""

from pathlib import Path

SIMULATED = True
ACCELERATORS = Path("/var/lib/gaudi_simulator/kernel/sys/class/accel")


def device_count() -> int:
    """How many cards the loaded (simulated) driver has brought up."""
    return len(_operational())


def is_available() -> bool:
    """Whether there is a card."""
    return device_count() > 0


def get_device_name(device: int = 0) -> str:
    """The type of the card with this number, as the driver names it."""
    return (_operational()[device] / "device_type").read_text(encoding="utf-8").strip()


def _operational() -> list[Path]:
    devices = sorted(ACCELERATORS.glob("accel*/device"))
    return [path for path in devices if (path / "status").read_text(encoding="utf-8").strip() == "Operational"]
