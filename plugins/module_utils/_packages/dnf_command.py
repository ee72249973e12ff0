# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""dnf as a command: waiting for its lock, and its errors as one sentence with a remedy."""

from __future__ import annotations

import re
import time
from typing import Callable, Sequence

from .._node.commands import CommandResult, Run
from .dnf_causes import explain_lacking

# dnf ends with 200 when another process holds the metadata or the database (dnf(8)).
LOCKED_RC = 200
_LOCK_POLL_S = 2.0
_HELD = re.compile(r"already locked by (\d+)")
_NO_COMMAND = re.compile(r"No such command: ")
# Progress and tables stand between the lines that tell what is wrong.
_TELLING = re.compile(r"^(Error|error| Problem|warning|Errors during|No match|No package|Public key|GPG|The GPG|\s+- )")


def run_dnf(
    run: Run, arguments: Sequence[str], lock_timeout_s: float, sleep: Callable[[float], None] = time.sleep
) -> CommandResult:
    """Run dnf; while another package manager holds its lock, try again for so many seconds."""
    deadline = time.monotonic() + lock_timeout_s
    while True:
        # Without this dnf waits for the lock, for ever.
        done = run(["dnf", "--setopt=exit_on_lock=1", *arguments])
        if done.rc != LOCKED_RC or time.monotonic() >= deadline:
            return done
        sleep(_LOCK_POLL_S)


def missing_command(done: CommandResult) -> bool:
    """Whether the command is in a plugin that the node lacks."""
    return done.rc != 0 and bool(_NO_COMMAND.search(done.stdout + done.stderr))


def complaints(done: CommandResult) -> list[str]:
    """The lines of dnf's answer that say what is wrong, as many as somebody would read."""
    return _telling(done)[:20]


def _telling(done: CommandResult) -> list[str]:
    lines = (done.stdout + "\n" + done.stderr).splitlines()
    return list(dict.fromkeys(line.strip() for line in lines if _TELLING.match(line)))


def explain(done: CommandResult) -> str:
    """Why a transaction failed, as one sentence; dnf's own words where nothing better is known."""
    if done.rc == LOCKED_RC:
        held = _HELD.search(done.stdout + done.stderr)
        who = f" It is process {held[1]}." if held else ""
        return f"another package manager holds dnf's lock; wait for it, or raise lock_timeout.{who}"
    # Of a transaction with many packages the end of a chain may be far below.
    text = "\n".join(_telling(done))
    lacking = explain_lacking(text) if _ENDS.search(text) or not _BOTH.search(text) else ""
    if lacking:
        return lacking
    for pattern, sentence in _CAUSES:
        found = re.search(pattern, text, re.MULTILINE)
        if found:
            return sentence.format(*found.groups())
    lines = text.splitlines() or [done.stderr.strip() or "no reason given"]
    reported = [line.partition("Error:")[2].strip() if line.startswith("Error:") else line for line in lines]
    return next(filter(None, reported), "no reason given").rstrip(".") + "."


_BOTH = re.compile(r"cannot install both (\S+) and (\S+)")
# What two packages exclude in each other is no reason where a third is nowhere.
_ENDS = re.compile(r"nothing provides |Unable to find a match|No match for argument|No package \S+ available")
_CAUSES = (
    (_BOTH.pattern, "{0} and {1} exclude each other; the packages of a release are installed all at once."),
    (
        r"Public key for (\S+) is not installed|GPG check FAILED",
        "{0} is not signed by a key that rpm knows; correct package_key_url, or have the mirror synchronized.",
    ),
    (r"(needs \S+ more space on the \S+ filesystem)", "{0}; free it and run again."),
)
