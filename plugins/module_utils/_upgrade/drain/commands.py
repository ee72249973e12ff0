# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A site's own pair of commands to drain and to resume a node, for every scheduler that is not Slurm.

Such a scheduler keeps no reason that could be relied on, so our mark is a file on the host where the commands run.
The query command, where there is one, tells what is true now: it prints a line (best: the reason) where the node is
drained, and nothing where it is not.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Sequence

from ..._errors import GaudiError
from ..._node.commands import CommandResult, Run
from ..._node.json_file import parse_object
from ..._node.rendered_files import WantedFile, pending, read_text, write
from .ownership import NOBODY, OTHER, US, NodeService


@dataclass(frozen=True)
class DrainCommands:
    """What the operator gave. ``timeout``: seconds for one command."""

    drain: Sequence[str]
    resume: Sequence[str]
    query: Sequence[str] = ()
    timeout: float = 300.0


@dataclass(frozen=True)
class DrainMark:
    """Our note. ``complete`` is false from before the drain command until after it.

    ``answer`` is what the query printed then; another answer later is somebody else's doing.
    """

    node: str
    reason: str
    since: str
    complete: bool = False
    answer: str = ""


def judge(mark: DrainMark | None, answer: str | None) -> NodeService:
    """The node from our note and the query's answer (None: there is no query command)."""
    reason = mark.reason if mark else ""
    by_us = NodeService(True, US, reason)
    not_yet = NodeService(False, US if mark else NOBODY, reason)
    # A run that was cut short may not have drained, and has left no answer to compare with: its command runs again.
    if mark and not mark.complete:
        return not_yet
    if answer is None:
        return by_us if mark else not_yet
    if not answer:
        return not_yet
    return by_us if mark and mark.answer == answer else NodeService(True, OTHER, answer)


def fill(argv: Sequence[str], node: str, reason: str) -> list[str]:
    """The command with ``{node}`` and ``{reason}`` filled in; other braces stay."""
    values = {"node": node, "reason": reason}
    return [re.sub(r"\{(node|reason)\}", lambda found: values[found.group(1)], word) for word in argv]


class CommandScheduler:
    """A pair of commands, as :class:`state.Scheduler` has it."""

    def __init__(self, node: str, commands: DrainCommands, directory: str, run: Run) -> None:
        self._node = node
        self._commands = commands
        self._file = str(Path(directory, f"{node}.json"))
        self._run = run

    def observe(self) -> NodeService:
        """See :class:`Scheduler`."""
        mark = self._read()
        return judge(mark, self._query(mark.reason if mark else ""))

    def drain(self, reason: str) -> None:
        """See :class:`Scheduler`. The note is there before the command, so that a run cut short is found again."""
        before = self._read()
        mark = DrainMark(self._node, reason, time.strftime("%Y-%m-%dT%H:%M:%S%z"))
        self._write(mark)
        try:
            self._call("drain", self._commands.drain, reason)
        except GaudiError:
            self._write(before)
            raise
        self._write(replace(mark, complete=True, answer=self._query(reason) or ""))

    def resume(self) -> None:
        """See :class:`Scheduler`."""
        mark = self._read()
        self._call("resume", self._commands.resume, mark.reason if mark else "")
        self._write(None)

    def _query(self, reason: str) -> str | None:
        if not self._commands.query:
            return None
        printed = self._call("query", self._commands.query, reason).stdout.strip()
        return printed.splitlines()[0].strip() if printed else ""

    def _call(self, purpose: str, argv: Sequence[str], reason: str) -> CommandResult:
        command = fill(argv, self._node, reason)
        try:
            result = self._run(command, timeout=self._commands.timeout)
        except OSError as error:
            result = CommandResult(126, "", f"{error.strerror}")
        if result.rc != 0:
            said = (result.stderr.strip() or result.stdout.strip() or "no message").splitlines()[-1]
            raise GaudiError(
                f"The {purpose} command `{' '.join(command)}` ended with status {result.rc} ({said});"
                f" correct it, or {purpose} {self._node} by hand.",
                rc=result.rc,
            )
        return result

    def _read(self) -> DrainMark | None:
        text = read_text(self._file)
        if text is None:
            return None
        try:
            mark = DrainMark(**parse_object(text))
        except (ValueError, TypeError) as error:
            raise GaudiError(
                f"{self._file} cannot be read as this collection's record of a drain ({error}); see whether "
                f"{self._node} is drained,"
                " and by whom, and remove the file.",
                file=self._file,
            ) from error
        return mark

    def _write(self, mark: DrainMark | None) -> None:
        text = None if mark is None else json.dumps(asdict(mark), indent=2) + "\n"
        try:
            for change in pending([WantedFile(self._file, text)]):
                write(change)
        except OSError as error:
            raise GaudiError(
                f"{self._file} cannot be written: {error.strerror}; run as root, or give another state_directory.",
                file=self._file,
            ) from error
