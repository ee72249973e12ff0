# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Huge pages that a kernel's command line reserves, as the kernel reads it (kernel-parameters: hugepages). Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
# What follows the unit is not read: 1GB is 1G.
_SIZE = re.compile(r"([0-9]{1,12})([kmg]?)", re.IGNORECASE | re.ASCII)
_COUNT = re.compile(r"[0-9]{1,12}")
_COUNTS_OF_NODES = re.compile(r"[0-9]{1,4}:[0-9]{1,12}(?:,[0-9]{1,4}:[0-9]{1,12})*")


class BootPages(NamedTuple):
    """The pages of the default size, which are those of ``vm.nr_hugepages``, and that size."""

    pages: int
    page_kib: int


def parse_command_line(text: str, page_kib: int) -> BootPages:
    """What ``text`` reserves; ``page_kib`` is the default size of a command line that does not name one.

    A number belongs to the size named before it, and to the default size where none is (``hugepages=8 hugepagesz=1G``).
    """
    default = current = None
    counts: dict[int | None, int] = {}
    for word in text.split():
        name, _equals, value = word.partition("=")
        if name in ("hugepagesz", "default_hugepagesz"):
            current = _size_kib(value) or current
            default = current if name == "default_hugepagesz" else default
        elif name == "hugepages":
            # The kernel takes the first number of each size and complains of the second.
            counts.setdefault(current, _count(value))
    size = default or page_kib
    return BootPages(max(counts.get(None, 0), counts.get(size, 0)), size)


def _size_kib(text: str) -> int | None:
    found = _SIZE.match(text)
    return int(found[1]) * _UNITS[found[2].lower()] // 1024 or None if found else None


def _count(text: str) -> int:
    """``20000``, or since kernel 5.16 ``0:10000,1:10000`` for NUMA nodes."""
    if _COUNT.fullmatch(text):
        return int(text)
    if _COUNTS_OF_NODES.fullmatch(text):
        return sum(int(one.partition(":")[2]) for one in text.split(","))
    return 0
