# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""One-line files of the kernel under /proc and /sys: read, write, show the step between."""

from __future__ import annotations

from pathlib import Path

from ..._errors import GaudiError
from ..._node.rendered_files import read_text


def read_value(path: str) -> str | None:
    """The value without its newline, or None where the kernel has no such file."""
    text = read_text(path)
    return None if text is None else text.strip()


def write_value(path: str, value: str) -> None:
    """Hand ``value`` to the kernel. Written in place: a rename cannot replace a file of /proc or /sys."""
    try:
        Path(path).write_text(f"{value}\n", encoding="ascii")
    except OSError as error:
        raise GaudiError(f"{path} does not take {value}: {error.strerror}.", file=path, value=value) from error


def value_difference(path: str, before: str | None, after: str) -> dict[str, str]:
    """One entry of Ansible's ``diff`` for a value that changes."""
    return {
        "before_header": path,
        "after_header": path,
        "before": "" if before is None else f"{before}\n",
        "after": f"{after}\n",
    }
