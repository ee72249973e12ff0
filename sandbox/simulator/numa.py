# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The simulated server's NUMA nodes: two, as in the vendor's, and the real machine's processors play their cores."""

from __future__ import annotations

NUMA_NODES = 2


def processors(numa_node: int, cpus: int) -> range:
    """The real processors that belong to a NUMA node; a single one is the first node's."""
    first, end = (-(-number * cpus // NUMA_NODES) for number in (numa_node, numa_node + 1))
    return range(first, end)


def processor_list(numbers: range) -> str:
    """As the kernel writes it."""
    return f"{numbers[0]}-{numbers[-1]}" if len(numbers) > 1 else "".join(map(str, numbers))
