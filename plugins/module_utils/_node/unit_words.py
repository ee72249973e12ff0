# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Texts as systemd reads them back from a unit, word for word (systemd.syntax(7), "Quoting")."""

from __future__ import annotations

from typing import Sequence


def command_line(argv: Sequence[str]) -> str:
    """``argv`` for ``ExecStart=`` and its like, which expand variables as well."""
    return " ".join(quoted(word).replace("$", "$$") for word in argv)


def quoted(text: str) -> str:
    """One word of a list."""
    return unexpanded(text).replace("%", "%%")


def unexpanded(text: str) -> str:
    """The same where % stands for itself, as in a property that systemd-run(1) is given."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(f"\\x{ord(char):02x}" if ord(char) < 32 else char for char in escaped) + '"'


def specifiers(text: str) -> str:
    """For settings that know no quotes but expand %: a path may have spaces as it is."""
    return text.replace("%", "%%")
