# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Telling what a person changed in a file that the collection writes, by a copy of the text as it was written."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

from .rendered_files import read_text
from .secret_texts import masked_texts

_SHOWN = 3


@dataclass(frozen=True)
class HandEdit:
    """``written`` is the text as the collection left it (empty: it never wrote this file), ``found`` what is there."""

    path: str
    written: str
    found: str

    def difference(self) -> dict[str, str]:
        """The edit in the form of Ansible's ``diff``."""
        return {
            "before_header": f"{self.path} (as it was written)",
            "after_header": f"{self.path} (edited by hand since)",
            "before": self.written,
            "after": self.found,
        }

    def lines(self) -> list[str]:
        """The lines that came (``+``) and went (``-``), without comments and blank ones."""
        changed = difflib.ndiff(self.written.splitlines(), self.found.splitlines())
        return [line[0] + line[2:] for line in changed if line[0] in "+-" and line[2:].strip() and line[2] != "#"]

    def phrase(self) -> str:
        """The edit in a few words."""
        lines = self.lines()
        more = f" and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
        return ", ".join(lines[:_SHOWN]) + more if lines else "comments only"


def record_of(path: str) -> str:
    """Where the copy lies: hidden, beside the file."""
    return str(Path(path).with_name(f".{Path(path).name}.written"))


def find_edit(path: str, written_by: str) -> HandEdit | None:
    """What a person did to the file since, without the values of secrets in it; None where nothing, or it is gone.

    A file without a copy is a person's own, unless its text begins with ``written_by``.
    """
    found = read_text(path)
    written = read_text(record_of(path))
    if found is None or found == written or (written is None and found.startswith(written_by)):
        return None
    return HandEdit(path, *masked_texts(written or "", found))
