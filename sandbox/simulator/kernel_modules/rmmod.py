# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``rmmod``: unloads single modules of the simulated kernel, and nothing they needed."""

from __future__ import annotations

import sys

from ..kernel_tree import KERNEL, refresh
from ..node_state import ROOT, locked, read, write
from ..open_devices import count_open
from .files import canonical
from .modprobe import holders, without_module


def main(arguments: list[str]) -> int:
    """Unload the named modules in the order given."""
    code = 0
    for name in (word for word in arguments if not word.startswith("-")):
        module = canonical(name)
        with locked():
            node = read()
            if module not in node.modules:
                print(f"rmmod: ERROR: Module {module} is not currently loaded", file=sys.stderr)
                code = 1
            elif found := holders(node, module, count_open(ROOT / KERNEL)):
                by = " ".join(holder for holder in found if holder != "a process")
                print(f"rmmod: ERROR: Module {module} is in use{f' by: {by}' if by else ''}", file=sys.stderr)
                code = 1
            else:
                write(without_module(node, module))
                refresh(read())
    return code
