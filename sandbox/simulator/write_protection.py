# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``bmc-write-protection``: stands for a site's own question to its BMC, of which every chassis has another.

Exit 0: the cards' flash can be written, 1: it is protected.
"""

from __future__ import annotations

from .node_state import read


def main(arguments: list[str]) -> int:
    """Answer with the exit code."""
    del arguments
    protected = "write_protected" in read().faults
    print(f"SPI write protection (simulated): {'on' if protected else 'off'}")
    return int(protected)
