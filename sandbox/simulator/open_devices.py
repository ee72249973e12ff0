# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Real processes that have a simulated card open: what makes the driver busy on a node without a kernel to count."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

# A card's device, and the one through which it is managed while another process has it.
_DEVICE = re.compile(r"accel\d+|accel_controlD\d+")


def count_open(kernel: Path, proc: Path = Path("/proc")) -> int:
    """How many times processes have a device below ``kernel``/dev/accel open."""
    return count_devices(kernel, _open_files(proc))


def count_devices(kernel: Path, files: Iterable[str]) -> int:
    """How many of these open files are cards."""
    devices = Path(kernel, "dev", "accel")
    return sum(Path(file).parent == devices and bool(_DEVICE.fullmatch(Path(file).name)) for file in files)


def _open_files(proc: Path) -> Iterator[str]:
    for directory in proc.glob("[0-9]*"):
        try:
            links = list((directory / "fd").iterdir())
        except OSError:
            continue  # it ended while it was looked at
        for link in links:
            try:
                yield str(link.readlink())
            except OSError:
                continue
