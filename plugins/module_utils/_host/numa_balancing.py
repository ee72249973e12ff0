# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""NUMA balancing of the kernel, off where the vendor wants it off: kernels 5.9 to 5.16."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .._errors import GaudiError
from .._node.rendered_files import FileChange, WantedFile
from . import earlier_values, sysctl, tuned
from .kernel.values import read_value, value_difference, write_value
from .node import Node, Setting

NAME = "numa_balancing"
KEY = "kernel.numa_balancing"
OFF = "0"
AUTO, DISABLED, UNMANAGED = "auto", "disabled", "unmanaged"
REQUESTS = (AUTO, DISABLED, UNMANAGED)
DROP_IN = "sysctl.d/91-gaudi3-scale-numa-balancing.conf"
KERNEL_FILE = "proc/sys/kernel/numa_balancing"
# The vendor's guide to performance and its hccl_demo name these kernels, the first and the last included.
FIRST, LAST = (5, 9), (5, 16)

TEXT = f"""\
# Written by gaudi3.scale: the vendor's guide to performance wants it off on kernels 5.9 to 5.16.
{KEY} = {OFF}
"""


def check_request(request: str) -> None:
    """Refuse what is none of the three."""
    if request not in REQUESTS:
        raise GaudiError(f"numa_balancing={request!r} is not valid; use one of {', '.join(REQUESTS)}.")


def is_off(request: str, release: str) -> bool:
    """Whether it is to be off on a kernel of this ``release`` (``5.15.0-91-generic``)."""
    if request != AUTO:
        return request == DISABLED
    found = re.match(r"([0-9]{1,4})\.([0-9]{1,4})", release)
    return found is not None and FIRST <= (int(found[1]), int(found[2])) <= LAST


def plan_numa_balancing(request: str, node: Node, profiles: Sequence[str] | None) -> Setting:
    """The drop-in, or a line for our profile where tuned runs with ``profiles`` under it (None: it does not)."""
    path = node.in_etc(DROP_IN)
    current = read_value(node.kernel(KERNEL_FILE))
    release = read_value(node.kernel("proc/sys/kernel/osrelease")) or ""
    facts: dict[str, object] = {"disabled": False, "current": current}
    # A kernel that was built without it has no such file.
    if current is None or not is_off(request, release):
        return Setting([WantedFile(path, None, only_ours=True)], facts, [])
    facts["disabled"] = True
    ours = path if profiles is None else tuned.profile_file(node)
    sysctl.refuse_other_owners(NAME, KEY, OFF, ours, node, profiles or ())
    return Setting([WantedFile(path, TEXT if profiles is None else None, only_ours=True)], facts, [])


def not_in_force(setting: Setting, node: Node) -> list[str]:
    """A sentence where the kernel still balances although tuned's profile has it off."""
    if not setting.facts["disabled"] or read_value(node.kernel(KERNEL_FILE)) == OFF:
        return []
    return ["numa_balancing: the kernel still balances although tuned's profile has it off; see `tuned-adm verify`."]


def switch(setting: Setting, node: Node, changes: Sequence[FileChange], check_mode: bool) -> list[dict[str, str]]:
    """Switch it off now, or bring back what was before where the drop-in goes; the steps made (or to make)."""
    path, current = node.kernel(KERNEL_FILE), read_value(node.kernel(KERNEL_FILE))
    if setting.files[0].content is None:
        going = any(change.wanted is setting.files[0] for change in changes)
        return earlier_values.restore_files(node, NAME, check_mode) if going else []
    if current in (None, OFF):
        return []
    if not check_mode:
        earlier_values.remember(node, NAME, {path: current or ""})
        write_value(path, OFF)
    return [value_difference(path, current, OFF)]
