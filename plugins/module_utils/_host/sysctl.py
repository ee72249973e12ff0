# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Keys of sysctl that this layer sets: each has one owner, and another file that sets it otherwise is named."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from .._errors import GaudiError
from .._node.rendered_files import is_ours, read_text
from . import tuned
from .node import Node


class OtherValue(NamedTuple):
    """What another file sets a key to. ``last``: it is the last of ``sysctl.d`` to be read, so that its value stays."""

    path: str
    value: str
    last: bool = True

    @property
    def number(self) -> int | None:
        """The value where it is a plain number."""
        return int(self.value) if re.fullmatch(r"[0-9]{1,15}", self.value) else None


def other_values(key: str, ours: str, node: Node, profiles: Iterable[str]) -> list[OtherValue]:
    """The files beside ``ours``, those of tuned's ``profiles`` among them, that set ``key``.

    What comes with the distribution and is read before ours is there to be overridden.
    """
    files = list(_in_sysctl(key, ours, node))
    last = [OtherValue(path, value, (path, value) == files[-1]) for path, value in files]
    return [*last, *(OtherValue(*one) for one in tuned.sysctl_values(list(profiles), key, node))]


def somebodys_value(key: str, ours: str) -> OtherValue | None:
    """What a file at our own path sets ``key`` to that somebody else wrote."""
    text = read_text(ours) or ""
    values = [] if is_ours(text) else _line(key).findall(text)
    return OtherValue(ours, values[-1]) if values else None


def least_in_force(found: Iterable[OtherValue]) -> OtherValue | None:
    """Of the values that may be the last word, the one that is least; one that is no number is less than all."""
    return min(
        (one for one in found if one.last), key=lambda one: -1 if one.number is None else one.number, default=None
    )


def refuse_other_owners(option: str, key: str, value: str, ours: str, node: Node, profiles: Iterable[str]) -> None:
    """Refuse to set ``key`` in the file ``ours`` while another, or one of tuned's ``profiles``, sets it otherwise."""
    for path, theirs, _last in other_values(key, ours, node, profiles):
        if theirs != value:
            raise GaudiError(
                f"{option}: {key} would have two owners, {ours} with {value} and {path} with {theirs}; take it out of "
                f"{path}, or set {option} to unmanaged.",
                key=key,
                files=[ours, path],
            )


def _in_sysctl(key: str, ours: str, node: Node) -> Iterator[tuple[str, str]]:
    pattern = _line(key)
    for path in _files(node):
        if os.path.realpath(path) == os.path.realpath(ours):
            continue
        if path.startswith(f"{node.usr_lib}/") and Path(path).name < Path(ours).name:
            continue
        values = pattern.findall(read_text(path) or "")
        if values:
            yield path, values[-1]


def _line(key: str) -> re.Pattern[str]:
    dotted = re.escape(key).replace(r"\.", "[./]")
    return re.compile(rf"^[ \t]*-?[ \t]*{dotted}[ \t]*=[ \t]*(\S+)[ \t]*$", re.MULTILINE)


def _files(node: Node) -> list[str]:
    """As sysctl.d(5) has it: a file hides those of its name in later directories, and all are read by name.

    sysctl.conf comes last (sysctl(8)); for systemd it is a link in sysctl.d.
    """
    by_name: dict[str, str] = {}
    for directory in (node.in_etc("sysctl.d"), f"{node.runtime}/sysctl.d", f"{node.usr_lib}/sysctl.d"):
        for path in Path(directory).glob("*.conf"):
            by_name.setdefault(path.name, str(path))
    files = [by_name[name] for name in sorted(by_name)]
    own = node.in_etc("sysctl.conf")
    return files if any(os.path.realpath(file) == os.path.realpath(own) for file in files) else [*files, own]
