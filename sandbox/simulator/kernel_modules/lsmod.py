# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``lsmod``: the loaded modules of the simulated kernel."""

from __future__ import annotations

from ..kernel_tree import KERNEL, proc_modules
from ..node_state import ROOT, read
from ..open_devices import count_open


def main(arguments: list[str]) -> int:
    """Print /proc/modules in lsmod's columns."""
    del arguments
    print("Module                  Size  Used by")
    for line in proc_modules(read(), count_open(ROOT / KERNEL)).splitlines():
        name, size, count, users, *_rest = line.split()
        print(f"{name:<19} {size:>8}  {count} {'' if users == '-' else users.rstrip(',')}".rstrip())
    return 0
