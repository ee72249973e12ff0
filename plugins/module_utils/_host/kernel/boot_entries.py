# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Kernel arguments on RHEL, where every kernel has a boot entry of its own and grubby changes them.

``grubby --update-kernel=ALL`` also changes what the entries of later kernels are made from (/etc/default/grub and
/etc/kernel/cmdline). What was added here is kept in a file: an argument that an administrator set is never removed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..._errors import GaudiError
from ..._node.commands import Run, last_line

RECORD = "gaudi3_scale/kernel_arguments"
ENTRIES = "loader/entries"
_RESCUE = "0-rescue"
_FIELD = re.compile(r"^(kernel|args)=\"?(.*?)\"?$", re.MULTILINE)


class EntryChange(NamedTuple):
    """What grubby has to do, and what is ours afterwards."""

    add: list[str]
    remove: list[str]
    ours: list[str]


def parse_entries(text: str) -> dict[str, list[str]]:
    """``grubby --info=ALL``: kernel image to arguments, without the rescue entry, which is for when these do harm."""
    entries: dict[str, list[str]] = {}
    kernel = ""
    for name, value in _FIELD.findall(text):
        if name == "kernel":
            kernel = value
        elif kernel and _RESCUE not in kernel:
            entries[kernel] = value.split()
    return entries


def entry_change(wanted: Sequence[str], entries: Mapping[str, Sequence[str]], ours: Sequence[str]) -> EntryChange:
    """The difference between the entries and ``wanted``; ``ours`` are the arguments that an earlier run added."""
    add = [word for word in wanted if any(word not in arguments for arguments in entries.values())]
    gone = [word for word in ours if word not in wanted]
    remove = [word for word in gone if any(word in arguments for arguments in entries.values())]
    return EntryChange(add, remove, [word for word in wanted if word in add or word in ours])


def read_entries(run: Run) -> dict[str, list[str]]:
    """The boot entries of the node."""
    done = run(["grubby", "--info=ALL"])
    entries = parse_entries(done.stdout)
    if done.rc != 0 or not entries:
        reason = last_line(done.stderr, "it names no boot entry")
        raise GaudiError(f"grubby --info=ALL fails: {reason}; repair the node's boot entries and run again.")
    return entries


def apply(change: EntryChange, run: Run) -> None:
    """Change every entry, and what later kernels' entries are made from."""
    words = [f"--args={' '.join(change.add)}"] if change.add else []
    words += [f"--remove-args={' '.join(change.remove)}"] if change.remove else []
    done = run(["grubby", "--update-kernel=ALL", *words])
    if done.rc != 0:
        reason = last_line(done.stderr + done.stdout)
        raise GaudiError(f"grubby {' '.join(words)} failed: {reason}; repair the node's boot entries and run again.")
