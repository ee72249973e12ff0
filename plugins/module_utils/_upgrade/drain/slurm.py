# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Slurm's drains, through ``scontrol`` and ``squeue``.

Their text output is read, not ``--json``: it is the same from Slurm 22.05 (Debian 12) on, and needs no plugin.
Observed with 22.05.8: a person who drains, downs or fails a node has to give a reason, which replaces ours; Slurm
itself keeps ours when it sets a node DOWN that does not answer. So the reason alone tells whose a drain is.
"""

from __future__ import annotations

import re
import socket

from ..._errors import GaudiError
from ..._node.commands import CommandResult, Run, last_line
from ..._slurm.commands import DENIED, call_slurm
from .ownership import NOBODY, OTHER, US, Job, NodeService, is_ours

# Base states and flags with which a node gets no jobs of everybody (scontrol(1), sinfo(1): NODE STATE CODES).
BLOCKED = frozenset(
    (
        "DRAIN",
        "DRAINING",
        "DRAINED",
        "DOWN",
        "FAIL",
        "FAILING",
        "MAINT",
        "MAINTENANCE",
        "FUTURE",
        "INVAL",
        "INVALID_REG",
    )
)
BUSY = frozenset(("ALLOCATED", "MIXED", "COMPLETING"))
# Jobs with processes on their nodes. A node whose only job is suspended is IDLE, so its state is not enough.
JOB_STATES = "RUNNING,SUSPENDED,COMPLETING,CONFIGURING,STOPPED"
# The reason ends with who gave it, and when; comments may follow. A second line of it would follow those.
_REASON = re.compile(r" Reason=(?P<text>.*?) \[[^\s\[\]]+@[\dT:-]+\](?= \w+=|$)")
_REASON_ALONE = re.compile(r" Reason=(?P<text>.*)")


def parse_node(node: str, line: str, jobs: tuple[Job, ...]) -> NodeService:
    """A line of ``scontrol --oneliner show node``, with the jobs that ``squeue`` has there."""
    match = re.search(r" State=(\S+)", line)
    state = match.group(1) if match else "UNKNOWN"
    words = {word.rstrip("*~#!%$@^-") for word in state.split("+")}
    busy = bool(jobs) or bool(words & BUSY)
    if not words & BLOCKED:
        return NodeService(False, NOBODY, "", jobs, busy)
    reason = _reason(line)
    drained_by = US if is_ours(node, reason) else OTHER
    return NodeService(True, drained_by, reason or f"Slurm's state {state}", jobs, busy)


def _reason(line: str) -> str:
    match = _REASON.search(line) or _REASON_ALONE.search(line)
    return match.group("text").strip() if match else ""


def parse_jobs(text: str) -> tuple[Job, ...]:
    """``squeue --format=%i|%u|%j``; a name may have any character in it."""
    return tuple(Job(*line.split("|", 2)) for line in text.splitlines() if line.count("|") >= 2)


class Slurm:
    """Slurm, as :class:`state.Scheduler` has it."""

    def __init__(self, node: str, run: Run) -> None:
        self._node = node
        self._run = run

    def observe(self) -> NodeService:
        """See :class:`Scheduler`."""
        shown = self._call("scontrol", "--oneliner", "show", "node", self._node)
        # In this order a job that ends between the two counts as still there.
        listed = self._call(
            "squeue", "--all", "--noheader", f"--nodelist={self._node}", f"--states={JOB_STATES}", "--format=%i|%u|%j"
        )
        lines = [line for line in shown.stdout.splitlines() if line.startswith(f"NodeName={self._node} ")]
        if len(lines) != 1:
            raise GaudiError(
                f"`scontrol show node {self._node}` does not show that node; see whether it is in slurm.conf."
            )
        return parse_node(self._node, lines[0], parse_jobs(listed.stdout))

    def drain(self, reason: str) -> None:
        """See :class:`Scheduler`."""
        self._call("scontrol", "update", f"NodeName={self._node}", "State=DRAIN", f"Reason={reason}")

    def resume(self) -> None:
        """See :class:`Scheduler`.

        RESUME and not UNDRAIN: a node that was rebooted while it was ours may be DOWN, and UNDRAIN leaves it there.
        """
        self._call("scontrol", "update", f"NodeName={self._node}", "State=RESUME")

    def _call(self, *argv: str) -> CommandResult:
        # What the time in a reason looks like would otherwise be the user's choice.
        result = call_slurm(argv, self._run, time_format="standard")
        if result.rc != 0:
            raise GaudiError(explain(self._node, argv[0], result))
        return result


def explain(node: str, program: str, result: CommandResult) -> str:
    """One sentence for a failure of Slurm's programs."""
    said = last_line(result.stderr.strip() or result.stdout, f"status {result.rc}")
    if result.rc == 127:
        return (
            f"{program} is not installed on {socket.gethostname()}; delegate the drain of {node} to a host with Slurm's"
            " commands (their directory has to be on the task's PATH), or use another adapter."
        )
    if re.search(r"not found|invalid node name", said, re.IGNORECASE):
        return f"Slurm has no node {node}; give the NodeName of slurm.conf, as `scontrol show nodes` lists it."
    if DENIED.search(said):
        return f"Slurm does not let this user change {node} ({said}); run as root or as an operator of Slurm."
    return f"{program} cannot be used for {node}: {said}; see whether slurmctld and munge run (`scontrol ping`)."
