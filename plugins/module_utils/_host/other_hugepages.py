# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Huge pages that somebody else already gives this node: an administrator, an installer, the kernel's command line.

``vm.nr_hugepages`` also takes pages away: a number of ours would shrink at the next boot what is larger elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from .._node.rendered_files import read_text
from . import sysctl
from .boot_hugepages import parse_command_line
from .hugepages import DROP_IN, SETTING, Reservation, installer_pages
from .kernel import boot_entries, grub_settings
from .node import Node

# What x86_64 takes where the command line names no size.
_DEFAULT_KIB = 2048
_GRUB_LINE = re.compile(r"^\s*(?:export\s+)?GRUB_CMDLINE_LINUX(?:_DEFAULT)?=(.*)$", re.MULTILINE)
_ENTRY_LINE = re.compile(r"^options\s+(.*)$", re.MULTILINE)


class Given(NamedTuple):
    """Pages that ``source`` gives, with or without us."""

    source: str
    pages: int
    page_kib: int

    @property
    def mib(self) -> int:
        """Memory taken, in MiB."""
        return self.pages * self.page_kib // 1024

    def left(self, wanted: Reservation) -> str:
        """One sentence: what is there is enough, and stays."""
        return (
            f"hugepages: {self.source} gives {self.pages} pages of {self.page_kib} KiB, and auto asks for at least "
            f"{wanted.pages} of {wanted.page_kib} KiB; they are left as they are, and no file of ours sets {SETTING}."
        )


def given_elsewhere(
    wanted: Reservation, cpus: int, arguments: Sequence[str], node: Node, profiles: Iterable[str]
) -> Given | None:
    """Who gives at least as many pages as ``wanted``, more than nothing of ours; None where nobody does.

    ``arguments`` are those that we add to the kernel's command line.
    """
    found = sysctl.other_values(SETTING, node.in_etc(DROP_IN), node, profiles)
    least = sysctl.least_in_force(found) or sysctl.somebodys_value(SETTING, node.in_etc(DROP_IN))
    if least and least.number is not None and least.number > wanted.pages:
        return Given(least.path, least.number, wanted.page_kib)
    if found:
        return None
    for source, text in _command_lines(arguments, node):
        named = parse_command_line(text, _size_without_a_word(wanted, node))
        if named.pages and named.pages >= installer_pages(cpus, named.page_kib):
            return Given(source, *named)
    return None


def size_to_come(wanted: Reservation, node: Node) -> str | None:
    """One sentence where the next boot has pages of another size, of which our number would be far too many or few."""
    named = [text for _source, text in _next_lines(node) if "default_hugepagesz=" in text]
    size = parse_command_line(named[0], _DEFAULT_KIB).page_kib if named else wanted.page_kib
    if size == wanted.page_kib:
        return None
    return (
        f"hugepages: from the next boot on a page is of {size} KiB (default_hugepagesz), now of {wanted.page_kib} KiB; "
        f"{wanted.pages} are reserved until then and none by a file of ours, so run the host layer again after it."
    )


def _size_without_a_word(wanted: Reservation, node: Node) -> int:
    running = read_text(node.kernel("proc/cmdline")) or ""
    return _DEFAULT_KIB if "default_hugepagesz=" in running else wanted.page_kib


def _command_lines(arguments: Sequence[str], node: Node) -> Iterator[tuple[str, str]]:
    """The running kernel's, and those that the boot loader has or will have for the next boot."""
    yield "the kernel's command line", read_text(node.kernel("proc/cmdline")) or ""
    yield "kernel_arguments", " ".join(arguments)
    yield from _next_lines(node)


def _next_lines(node: Node) -> Iterator[tuple[str, str]]:
    menu = node.in_boot(grub_settings.MENU)
    for line in grub_settings.kernel_lines(read_text(menu) or ""):
        yield menu, line
    ours = node.in_etc(grub_settings.DROP_IN)
    others = [path for path in map(str, sorted(Path(ours).parent.glob("*.cfg"))) if path != ours]
    for path in (node.in_etc("default/grub"), *others):
        for value in _GRUB_LINE.findall(read_text(path) or ""):
            yield path, value.strip().strip("\"'")
    for entry in sorted(Path(node.in_boot(boot_entries.ENTRIES)).glob("*.conf")):
        for options in _ENTRY_LINE.findall(read_text(str(entry)) or ""):
            yield str(entry), options
    cmdline = node.in_etc("kernel/cmdline")
    yield cmdline, read_text(cmdline) or ""
