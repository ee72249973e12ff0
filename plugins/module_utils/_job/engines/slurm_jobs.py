# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Jobs of Slurm's: found by name, submitted, asked how they stand, ended. Through squeue, sbatch, scontrol and sacct.

Their text output is read, not ``--json``, for the reasons in ``_upgrade/drain/slurm.py``; its forms are in
``slurm_job.py``.
"""

from __future__ import annotations

import functools
import re
import socket
import time
from typing import Callable, Mapping, Sequence

from ..._errors import GaudiError
from ..._node.commands import CommandResult, Run, last_line
from ..._node.job_user import run_as_user
from ..._slurm.commands import DENIED, TIMEOUT, call_slurm
from ..._slurm.gres import cards_among, gres_in
from ..binding.topology import HPU
from ..description import NAMED
from ..plan import Job
from .slurm import described_in, sbatch_argv
from .slurm_batch_shell import STOP
from .slurm_job import SlurmJob, parse_kept, parse_shown

_NUMBER = re.compile(r"(\d+)(;[\w.-]+)?")
_UNKNOWN_JOB = re.compile(r"invalid job id", re.IGNORECASE)
POLL_S = 1.0


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
    done = call_slurm(sbatch_argv(script), functools.partial(_as_user, user, run), time_format="%s")
    if done.rc != 0:
        raise GaudiError(explain("sbatch", done), rc=done.rc)
    match = _NUMBER.fullmatch(done.stdout.strip())
    if match is None:
        raise GaudiError(f"sbatch did not report the job's number but {last_line(done.stdout)!r}; look at `squeue`.")
    return match.group(1)


def _as_user(
    user: str, run: Run, argv: Sequence[str], *, timeout: float | None = None, env: Mapping[str, str] | None = None
) -> CommandResult:
    return run_as_user(user, argv, run, timeout=timeout or TIMEOUT, env=env)


def state_of(number: str, run: Run) -> tuple[SlurmJob, ...]:
    """The job, or all points of the array: from the controller, else from accounting; empty where both forgot it."""
    shown = call_slurm(["scontrol", "--oneliner", "show", "job", number], run, time_format="%s")
    if shown.rc == 0:
        return parse_shown(shown.stdout)
    if not _UNKNOWN_JOB.search(shown.stderr + shown.stdout):
        raise GaudiError(explain("scontrol", shown))
    fields = "JobID,State,ExitCode,Start,End,NodeList,JobName"
    kept = call_slurm(
        ["sacct", "--allocations", "--noheader", "--parsable2", f"--jobs={number}", f"--format={fields}"],
        run,
        time_format="%s",
    )
    # Without accounting sacct fails, or says that it is disabled and ends well: then nobody knows.
    return parse_kept(kept.stdout) if kept.rc == 0 else ()


def node_names(jobs: Sequence[SlurmJob], run: Run) -> tuple[str, ...]:
    """The nodes of the jobs by the names that Slurm has for them, each once."""
    lists = [job.nodes for job in jobs if job.nodes]
    listed = _call(["scontrol", "show", "hostnames", ",".join(lists)], run).stdout if lists else ""
    return tuple(dict.fromkeys(listed.split()))


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


def slurm_gres(job: Job, run: Run) -> str:
    """What Slurm's nodes call their Gaudi cards, as ``gpu:hl225``; "" where nobody asks, they tell none or several."""
    if job.device != HPU or job.slurm.gres or job.host not in job.starting_hosts:
        return ""
    named = [f"--nodes={','.join(job.hosts)}"] if job.slurm.nodes == NAMED else []
    argv = ["sinfo", "--all", "--noheader", "--Node", *named, "--format=gres=%G"]
    listed = call_slurm(argv, run, time_format="%s")
    lines = [line.removeprefix("gres=") for line in listed.stdout.splitlines() if line.startswith("gres=")]
    found = cards_among(gres for line in lines for gres in gres_in(line))
    return str(found[0]) if listed.rc == 0 and len(found) == 1 else ""


def check_slurm_there(host: str, partition: str, run: Run) -> None:
    """Refuse a host without Slurm's commands, a controller that does not answer, and a partition it does not have."""
    for program in ("sbatch", "srun", "scancel", "scontrol", "squeue"):
        if call_slurm([program, "--version"], run, time_format="%s").rc == 127:
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
