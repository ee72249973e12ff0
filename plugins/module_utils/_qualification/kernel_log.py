# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What the kernel has said of cards, PCIe and memory between two moments."""

from __future__ import annotations

import re

from .._node.commands import Run
from .._node.screen_text import one_line

_TIMEOUT_S = 30
_MOST_LINES, _LONGEST = 20, 200
# The driver's modules, PCIe's advanced error reporting, machine checks. Without a time, whose form differs.
_ABOUT = re.compile(
    r"\b(habanalabs\w*|hl\d+|AER|PCIe Bus Error|mce|Machine Check|Hardware Error|EDAC)\b", re.IGNORECASE
)


def errors_since(seconds: float, run: Run) -> list[str]:
    """Lines of an error or graver since that moment (seconds since 1970); none where nobody can tell."""
    command = ("journalctl", "--dmesg", "--priority", "err", "--since", f"@{seconds:.3f}")
    done = run([*command, "--no-pager", "--output", "cat", "--quiet"], timeout=_TIMEOUT_S)
    return found_in(done.stdout) if done.rc == 0 else []


def found_in(text: str) -> list[str]:
    """The lines that are about the hardware, each once, cut."""
    lines = dict.fromkeys(one_line(line, _LONGEST) for line in text.splitlines() if _ABOUT.search(line))
    return list(lines)[:_MOST_LINES]
