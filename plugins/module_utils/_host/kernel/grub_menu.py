# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""GRUB's menu as text: which entry starts by default, and the kernel image it names. Pure.

Follows what GRUB does with the files that grub-mkconfig writes (GRUB manual, chapters "Simple configuration handling"
and "default"): an entry is named by its place, its title or its id, inside a submenu after ``>``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Iterator, Mapping, Sequence

_ENTRY = re.compile(r"^\s*(menuentry|submenu)\s+(?P<quote>['\"])(?P<title>.*?)(?P=quote)(?P<rest>.*)\{\s*$")
_ID = re.compile(r"(?:--id|\$\{?menuentry_id_option\}?)[\s=]+['\"]?(?P<id>[^'\"\s]+)")
_KERNEL = re.compile(r"^\s*linux(?:16|efi)?\s+(\S+)")
_DEFAULT = re.compile(r"^\s*set\s+default=(['\"]?)(?P<value>.*?)\1\s*$", re.MULTILINE)


@dataclass
class Entry:
    """A menuentry (``kernel`` is the image it starts) or a submenu (``entries``)."""

    title: str
    id: str
    kernel: str | None = None
    entries: list[Entry] = field(default_factory=list)


def read_environment(text: str) -> dict[str, str]:
    """The variables of a grubenv file, which pads itself with ``#``."""
    pairs = [line.partition("=") for line in text.splitlines() if "=" in line and not line.startswith("#")]
    return {name: value for name, _equals, value in pairs}


def parse_menu(text: str) -> list[Entry]:
    """The entries of grub.cfg in their order; everything else in it (functions, conditions) is passed over."""
    top = Entry("", "")
    # What each open brace belongs to; None for a function of the script.
    stack: list[Entry | None] = [top]
    for line in text.splitlines():
        found = _ENTRY.match(line)
        if found:
            entry = Entry(found["title"], _id(found["rest"]))
            (_innermost(stack) or top).entries.append(entry)
            stack.append(entry)
        elif line.rstrip().endswith("{"):
            stack.append(None)
        elif line.strip() == "}" and len(stack) > 1:
            stack.pop()
        else:
            _take_kernel(line, stack[-1])
    return top.entries


def _id(rest: str) -> str:
    found = _ID.search(rest)
    return found["id"] if found else ""


def _innermost(stack: Sequence[Entry | None]) -> Entry | None:
    return next((entry for entry in reversed(stack) if entry is not None), None)


def _take_kernel(line: str, entry: Entry | None) -> None:
    found = _KERNEL.match(line)
    if found and entry is not None and entry.kernel is None:
        entry.kernel = found.group(1)


def default_name(menu: str, environment: Mapping[str, str]) -> str:
    """The name of the entry that starts next: the one-time choice, else what ``set default=`` says, else the first."""
    if environment.get("next_entry"):
        return environment["next_entry"]
    values = [found["value"] for found in _DEFAULT.finditer(menu) if "next_entry" not in found["value"]]
    value = values[-1] if values else "0"
    if "saved_entry" in value:
        return environment.get("saved_entry") or "0"
    return value


def default_image(menu: str, environment: Mapping[str, str]) -> str | None:
    """The kernel image of the entry that starts next; None where that entry starts something else."""
    entries = parse_menu(menu)
    chosen: Entry | None = None
    for part in default_name(menu, environment).split(">"):
        chosen = _named(entries, part.strip())
        entries = chosen.entries if chosen else []
    # GRUB starts the first entry where it does not find the one it is told, and so it does inside a submenu.
    while chosen is not None and chosen.entries:
        chosen = chosen.entries[0]
    return chosen.kernel if chosen else None


def _named(entries: Sequence[Entry], name: str) -> Entry | None:
    first = entries[0] if entries else None
    if name.isdecimal():
        return entries[int(name)] if int(name) < len(entries) else first
    return next((entry for entry in entries if name in (entry.id, entry.title)), first)


def entry_of(menu: str, kernel: str) -> str | None:
    """The name, for GRUB_DEFAULT, of the entry that starts this kernel for as long as it is installed.

    Not the first entry of the menu, which starts the newest kernel of the day, and not the one for a rescue.
    """
    return next(_names_of(parse_menu(menu), kernel, ()), None)


def _names_of(entries: Sequence[Entry], kernel: str, above: tuple[str, ...]) -> Iterator[str]:
    for entry in entries:
        name = entry.id or entry.title
        yield from _names_of(entry.entries, kernel, (*above, name))
        starts = (entry.kernel or "").rpartition("/")[2] == f"vmlinuz-{kernel}"
        said = f"{entry.title} {entry.id}"
        if starts and kernel in said and "recovery" not in said:
            yield ">".join((*above, name))
