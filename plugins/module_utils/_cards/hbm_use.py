# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""How much of a card's memory (HBM) a process holds, as Synapse reports it from within that process.

It keeps a file ``/dev/shm/mem_usage_accelN`` open, three little-endian numbers of 64 bits: a version, a time and the
bytes in use (nvtop's reader; a later version may append). Through ``/proc/PID/fd`` it is reached also where a container
has a ``/dev/shm`` of its own, which has the same path there.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from .._node.kernel_modules import Holder

SHARED_MEMORY = "/dev/shm"
_NAME = re.compile(r"mem_usage_((?:accel|hl)\d+)(?: \(deleted\))?")
_FORMAT = struct.Struct("<3Q")
# No card has as much.
_MOST = 1 << 41


def held_bytes(process: int | str, proc: str = "/proc", shared_memory: str = SHARED_MEMORY) -> dict[str, int]:
    """Device (``accel3``, by the process's own name of it) -> bytes; empty where Synapse says nothing.

    ``process`` may be ``self``. What is there is another account's: only a regular file of that path is read, and of it
    only the three numbers. A file system of that account's own (FUSE) is closed to root by the kernel.
    """
    try:
        links = sorted(Path(proc, str(process), "fd").iterdir())
    except OSError:
        # It has ended, or is not ours to see.
        return {}
    found: dict[str, int] = {}
    for link in links:
        name = _device(link, shared_memory)
        used = _used(link) if name else None
        if used is not None:
            # A file that is open twice is one.
            found[name] = used
    return found


def held_by(processes: Iterable[int], proc: str = "/proc", shared_memory: str = SHARED_MEMORY) -> list[int]:
    """What each of these processes holds, the most first; of those that Synapse reports nothing of there is none."""
    totals = (sum(held_bytes(one, proc, shared_memory).values()) for one in processes)
    return sorted((one for one in totals if one), reverse=True)


def of_holder(holder: Holder, proc: str = "/proc", shared_memory: str = SHARED_MEMORY) -> Mapping[str, int]:
    """Device, by the node's name of it -> bytes. One process has one card, so that a container's name does no harm."""
    held = held_bytes(holder.pid, proc, shared_memory)
    cards = [name for name in holder.devices if "control" not in name]
    if len(cards) == 1 and len(held) == 1:
        return dict(zip(cards, held.values()))
    return {name: held[name] for name in cards if name in held}


def on_cards(holders: Sequence[Holder], proc: str = "/proc", shared_memory: str = SHARED_MEMORY) -> dict[str, int]:
    """Device -> what all its holders hold together; only what is known."""
    found: dict[str, int] = {}
    for holder in holders:
        for name, used in of_holder(holder, proc, shared_memory).items():
            found[name] = found.get(name, 0) + used
    return found


def _device(link: Path, shared_memory: str) -> str:
    with contextlib.suppress(OSError):
        place, _slash, name = str(link.readlink()).rpartition("/")
        match = _NAME.fullmatch(name)
        return match[1] if match and place == shared_memory else ""
    return ""


def _used(link: Path) -> int | None:
    with contextlib.suppress(OSError, struct.error):
        descriptor = os.open(link, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            version, _time, used = _FORMAT.unpack(os.pread(descriptor, _FORMAT.size, 0))
        finally:
            os.close(descriptor)
        return used if version >= 1 and used <= _MOST else None
    return None
