# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The memory of a node that Slurm may give to jobs."""

from __future__ import annotations


def left_for_jobs(total_mib: int | None, hugepages: int | None, page_kib: int | None) -> int | None:
    """MiB of memory beside the huge pages: what RealMemory less MemSpecLimit may be."""
    if total_mib is None or hugepages is None or page_kib is None:
        return None
    return total_mib - hugepages * page_kib // 1024
