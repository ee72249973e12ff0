# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A job of Slurm's as a value, from what scontrol and sacct print. The forms are those of Slurm 22.05.8; those of sacct
are from its manual page alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# States of a job that has not ended (squeue(1), JOB STATE CODES), and the two ends that are no failures.
ALIVE = frozenset(
    (
        "CONFIGURING",
        "COMPLETING",
        "PENDING",
        "REQUEUED",
        "REQUEUE_FED",
        "REQUEUE_HOLD",
        "RESIZING",
        "RESV_DEL_HOLD",
        "RUNNING",
        "SIGNALING",
        "SPECIAL_EXIT",
        "STAGE_OUT",
        "STOPPED",
        "SUSPENDED",
    )
)
COMPLETED, CANCELLED = "COMPLETED", "CANCELLED"
# A value may have blanks; the next word that looks like Name= ends it.
_FIELD = re.compile(r"(?:^|\s)([A-Z][A-Za-z/:]*)=(.*?)(?=\s+[A-Z][A-Za-z/:]*=|$)")


@dataclass(frozen=True)
class SlurmJob:
    """A job, or one point of an array. ``array`` is the number of the whole array, else the job's own.

    ``exit_code`` is negative for a signal; times are Unix time; ``nodes`` is a list as Slurm writes it, ``n[1-3],n7``.
    What is not known is None or empty.
    """

    number: str
    array: str
    state: str
    reason: str = ""
    comment: str = ""
    exit_code: int | None = None
    restarts: int = 0
    started: float | None = None
    ended: float | None = None
    name: str = ""
    nodes: str = ""

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return self.state in ALIVE

    @property
    def words(self) -> str:
        """As ``PENDING (Resources)``, for people."""
        return self.state if self.reason in ("", "None") else f"{self.state} ({self.reason})"


def parse_shown(text: str) -> tuple[SlurmJob, ...]:
    """Lines of ``scontrol --oneliner show job``, with times as Unix time."""
    jobs = []
    for line in text.splitlines():
        fields: dict[str, str] = dict(_FIELD.findall(line))
        if "JobId" in fields and "JobState" in fields:
            jobs.append(
                SlurmJob(
                    number=fields["JobId"],
                    array=fields.get("ArrayJobId") or fields["JobId"],
                    state=fields["JobState"],
                    reason=fields.get("Reason", ""),
                    comment=fields.get("Comment", ""),
                    exit_code=_exit_code(fields.get("ExitCode", "")),
                    restarts=int(fields.get("Restarts") or 0),
                    started=_time(fields.get("StartTime", "")),
                    # Of a job that runs it is when its time will be over.
                    ended=None if fields["JobState"] in ALIVE else _time(fields.get("EndTime", "")),
                    name=fields.get("JobName", ""),
                    nodes=_nodes(fields.get("NodeList", "")),
                )
            )
    return tuple(jobs)


def parse_kept(text: str) -> tuple[SlurmJob, ...]:
    """Lines of ``sacct --parsable2`` with number, state, exit code, start, end, nodes and name."""
    rows = [line.split("|", 6) for line in text.splitlines() if line.count("|") >= 6]
    return tuple(
        SlurmJob(
            number=number,
            array=number.partition("_")[0],
            # "CANCELLED by 1000"
            state=state.partition(" ")[0],
            exit_code=_exit_code(code),
            started=_time(start),
            ended=_time(end),
            name=name,
            nodes=_nodes(nodes),
        )
        for number, state, code, start, end, nodes, name in rows
    )


def _exit_code(text: str) -> int | None:
    """``3:0`` is an exit status, ``0:9`` a signal."""
    status, _colon, number = text.partition(":")
    if not status.isdecimal() or not number.isdecimal():
        return None
    return -int(number) if int(number) else int(status)


def _nodes(text: str) -> str:
    """A job that has none yet has an empty list, ``(null)``, or in accounting ``None assigned``."""
    return "" if text in ("(null)", "None assigned") else text


def _time(text: str) -> float | None:
    return float(text) if text.isdecimal() else None
