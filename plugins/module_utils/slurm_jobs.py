# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Jobs of Slurm's: found by name, submitted, asked how they stand, ended. Through squeue, sbatch, scontrol and sacct.

Their text output is read, not ``--json``, for the reasons in ``drain_slurm``. The forms are those of Slurm
22.05.8; those of sacct are from its manual page alone.
"""

from __future__ import annotations

import re
import socket
import time
from dataclasses import dataclass
from typing import Callable, Sequence

from .commands import CommandResult, Run, last_line
from .engine_slurm import described_in, sbatch_argv
from .errors import GaudiError
from .job_user import as_user
from .slurm_batch_shell import STOP
from .slurm_commands import DENIED, call_slurm

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
_NUMBER = re.compile(r"(\d+)(;[\w.-]+)?")
# A value may have blanks; the next word that looks like Name= ends it.
_FIELD = re.compile(r"(?:^|\s)([A-Z][A-Za-z/:]*)=(.*?)(?=\s+[A-Z][A-Za-z/:]*=|$)")
_UNKNOWN_JOB = re.compile(r"invalid job id", re.IGNORECASE)
POLL_S = 1.0


@dataclass(frozen=True)
class SlurmJob:
    """A job, or one point of an array. ``array`` is the number of the whole array, else the job's own.

    ``exit_code`` is negative for a signal; times are Unix time. What is not known is None or empty.
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

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return self.state in ALIVE

    @property
    def words(self) -> str:
        """As ``PENDING (Resources)``, for people."""
        return self.state if self.reason in ("", "None") else f"{self.state} ({self.reason})"


def find(name: str, user: str, run: Run) -> tuple[SlurmJob, ...]:
    """The jobs of this name and user that have not ended, the oldest first."""
    listed = _call(
        ["squeue", "--all", "--noheader", f"--name={name}", f"--user={user}", "--format=%A|%F|%T|%r|%k"], run
    )
    fields = [line.strip().split("|", 4) for line in listed.stdout.splitlines()]
    jobs = [
        SlurmJob(number, array, state, reason, comment)
        for number, array, state, reason, comment in (each for each in fields if len(each) == 5)
    ]
    return tuple(sorted((job for job in jobs if job.alive), key=lambda job: (int(job.array), int(job.number))))


def description_of(number: str, run: Run) -> dict[str, object] | None:
    """The description in the job's batch script, which Slurm keeps; None where it may not be read or has none."""
    done = call_slurm(["scontrol", "write", "batch_script", number, "-"], run, time_format="%s")
    return described_in(done.stdout) if done.rc == 0 else None


def submit_once(script: str, name: str, comment: str, user: str, run: Run) -> SlurmJob:
    """Submit the script, unless somebody else was a moment faster: of two jobs of one name the older one stays.

    Returns the job that stays, which may have another comment, hence another description.
    """
    number = submit(script, user, run)
    older = [job for job in find(name, user, run) if int(job.array) < int(number)]
    if older:
        _call(["scancel", number], run)
        return older[0]
    return SlurmJob(number, number, "PENDING", comment=comment, name=name)


def submit(script: str, user: str, run: Run) -> str:
    """Hand the script to Slurm; returns the job's number."""
    done = _call(as_user(user, sbatch_argv(script)), run)
    match = _NUMBER.fullmatch(done.stdout.strip())
    if match is None:
        raise GaudiError(f"sbatch did not tell the job's number but {last_line(done.stdout)!r}; look at `squeue`.")
    return match.group(1)


def state_of(number: str, run: Run) -> tuple[SlurmJob, ...]:
    """The job, or all points of the array: from the controller, else from accounting; empty where both forgot it."""
    shown = call_slurm(["scontrol", "--oneliner", "show", "job", number], run, time_format="%s")
    if shown.rc == 0:
        return parse_shown(shown.stdout)
    if not _UNKNOWN_JOB.search(shown.stderr + shown.stdout):
        raise GaudiError(explain("scontrol", shown))
    fields = "JobID,State,ExitCode,Start,End,JobName"
    kept = call_slurm(
        ["sacct", "--allocations", "--noheader", "--parsable2", f"--jobs={number}", f"--format={fields}"],
        run,
        time_format="%s",
    )
    # Without accounting sacct fails, or says that it is disabled and ends well: then nobody knows.
    return parse_kept(kept.stdout) if kept.rc == 0 else ()


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
                )
            )
    return tuple(jobs)


def parse_kept(text: str) -> tuple[SlurmJob, ...]:
    """Lines of ``sacct --parsable2`` with number, state, exit code, start, end and name."""
    rows = [line.split("|", 5) for line in text.splitlines() if line.count("|") >= 5]
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
        )
        for number, state, code, start, end, name in rows
    )


def cancel(numbers: Sequence[str], grace: float, run: Run, sleep: Callable[[float], None] = time.sleep) -> None:
    """Ask the ranks to end (SIGTERM), and after ``grace`` seconds end what is left; raises where something stays."""
    # The batch script tells the ranks; a job that has not begun fails with it, and is then cancelled below.
    call_slurm(["scancel", "--batch", f"--signal={STOP}", *numbers], run, time_format="%s")
    for _look in range(max(1, int(grace / POLL_S))):
        if not _left(numbers, run, steps=True):
            break
        sleep(POLL_S)
    if _left(numbers, run):
        _call(["scancel", *numbers], run)
    for _look in range(max(1, int(grace / POLL_S))):
        left = _left(numbers, run)
        if not left:
            return
        sleep(POLL_S)
    raise GaudiError(
        f"job {left[0].number} of Slurm is still {left[0].words} after scancel; look at `scontrol show job`.",
        processes=[],
    )


def _left(numbers: Sequence[str], run: Run, *, steps: bool = False) -> list[SlurmJob]:
    """Those that have not ended; with ``steps``, only those that have processes which a signal may end."""
    jobs = [job for number in numbers for job in state_of(number, run) if job.alive]
    return [job for job in jobs if job.state not in ("PENDING", "REQUEUE_HOLD", "SPECIAL_EXIT")] if steps else jobs


def check_slurm_there(host: str, partition: str, run: Run) -> None:
    """Refuse a host without Slurm's commands, a controller that does not answer, and a partition it does not have."""
    for program in ("sbatch", "srun", "scancel", "scontrol", "squeue"):
        if run([program, "--version"]).rc == 127:
            raise GaudiError(
                f"engine slurm: {program} is not installed on {host}; install Slurm's commands there, or choose engine "
                "torchrun."
            )
    listed = _call(["sinfo", "--all", "--noheader", "--format=%R"], run)
    partitions = listed.stdout.split()
    if partition and not set(partition.split(",")) <= set(partitions):
        raise GaudiError(
            f"slurm.partition {partition} is not known to Slurm; give one of {', '.join(sorted(set(partitions)))}."
        )


def explain(program: str, result: CommandResult) -> str:
    """One sentence for a failure of Slurm's programs."""
    said = last_line(result.stderr.strip() or result.stdout, f"status {result.rc}")
    said = re.sub(r"^\w+: error: ", "", said)
    if result.rc == 127:
        return f"{program} is not installed on {socket.gethostname()}; install Slurm's commands there."
    if DENIED.search(said):
        return f"Slurm does not let this user do that ({program}: {said}); name a user who may, with option user."
    if program == "sbatch":
        return f"Slurm did not take the job: {said}; correct the options in slurm, or ask who runs Slurm."
    return f"{program} failed: {said}; see whether slurmctld and munge run (`scontrol ping`)."


def _call(argv: Sequence[str], run: Run) -> CommandResult:
    done = call_slurm(argv, run, time_format="%s")
    if done.rc != 0:
        program = next((word for word in argv if word in ("sbatch", "squeue", "scancel", "sinfo")), argv[0])
        raise GaudiError(explain(program, done), rc=done.rc)
    return done


def _exit_code(text: str) -> int | None:
    """``3:0`` is an exit status, ``0:9`` a signal."""
    status, _colon, number = text.partition(":")
    if not status.isdigit() or not number.isdigit():
        return None
    return -int(number) if int(number) else int(status)


def _time(text: str) -> float | None:
    return float(text) if text.isdigit() else None
