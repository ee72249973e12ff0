# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A ``Run`` that answers for a small Slurm's queue, in the forms of Slurm 22.05.8 as ``fixtures/slurm`` has them.

What ``sacct`` tells of a job was written after its manual page; without accounting it was seen to answer as here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult

OK = CommandResult(0, "", "")
ENDED = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL")
# What scontrol makes of the lists that jobs have here.
HOST_LISTS = {"node[1-2]": ["node1", "node2"], "node[2-3],node3": ["node2", "node3", "node3"]}
FORGOTTEN = CommandResult(1, "", "slurm_load_jobs error: Invalid job id specified")


@dataclass
class Queued:
    """A job that was submitted with ``script``."""

    number: str
    script: str
    state: str = "PENDING"
    reason: str = "Resources"
    exit_code: str = "0:0"
    user: str = "root"
    forgotten: bool = False
    nodes: str = "node[1-2]"

    def option(self, name: str) -> str:
        start = f"#SBATCH --{name}="
        return next((line[len(start) :] for line in self.script.splitlines() if line.startswith(start)), "")

    def shown(self) -> str:
        """A line of ``scontrol --oneliner show job`` with SLURM_TIME_FORMAT=%s."""
        # Of a job that runs it is when its time will be over.
        end = {"PENDING": "Unknown"}.get(self.state, "1700000900")
        return (
            f"JobId={self.number} JobName={self.option('job-name')} UserId={self.user}(0) GroupId=root(0) MCS_label=N/A"
            f" Priority=4294901758 Nice=0 Account=(null) QOS=(null) JobState={self.state} Reason={self.reason}"
            f" Dependency=(null) Requeue=1 Restarts=1 BatchFlag=1 Reboot=0 ExitCode={self.exit_code} RunTime=00:10:00"
            f" TimeLimit=12:00:00 TimeMin=N/A SubmitTime=1700000000 EligibleTime=1700000000 StartTime=1700000300"
            f" EndTime={end} Deadline=N/A Partition=gaudi NodeList={self.nodes} BatchHost=node1 NumNodes=2"
            f" TRES=cpu=16,node=2,billing=16 Comment={self.option('comment')} Command=/x/my batch.sh WorkDir=/\n"
        )


@dataclass
class SlurmQueue:
    """``jobs`` are all that were submitted. ``ends_on_signal``: ranks end when scancel sends them a signal."""

    jobs: list[Queued] = field(default_factory=list)
    calls: list[list[str]] = field(default_factory=list)
    ends_on_signal: bool = True
    immortal: bool = False
    accounting: bool = False
    missing: tuple[str, ...] = ()
    refuses: str = ""
    partitions: str = "gaudi\ndebug\n"
    # Somebody else's launch of the same name, that comes a moment before the next one.
    faster: Queued | None = None

    def __call__(
        self, argv: Sequence[str], *, timeout: float | None = None, env: Mapping[str, str] | None = None
    ) -> CommandResult:
        program = argv[0]
        if program == "systemctl":
            return CommandResult(0, "ActiveState=inactive\n" if argv[1] == "show" else "", "")
        if program in self.missing or not hasattr(self, f"_{program}"):
            if "-c" in argv and program.endswith("/bin/python"):
                return CommandResult(0, "{}", "")
            return CommandResult(127, "", f"{program}: not installed")
        if argv[1:] == ["--version"]:
            return CommandResult(0, "slurm-wlm 22.05.8\n", "")
        assert env == {"SLURM_TIME_FORMAT": "%s"}
        self.calls.append(list(argv))
        result: CommandResult = getattr(self, f"_{program}")(list(argv))
        return result

    def add(self, script: str, **more: str) -> Queued:
        job = Queued(str(41 + len(self.jobs)), script, **more)
        self.jobs.append(job)
        return job

    def called(self, program: str) -> list[list[str]]:
        return [call[1:] for call in self.calls if call[0] == program]

    def _srun(self, argv: list[str]) -> CommandResult:
        raise AssertionError("srun is called by batch scripts only")

    def _sinfo(self, argv: list[str]) -> CommandResult:
        return CommandResult(0, self.partitions, "")

    def _sbatch(self, argv: list[str]) -> CommandResult:
        if self.refuses:
            return CommandResult(1, "", f"sbatch: error: {self.refuses}\n")
        if self.faster:
            self.faster.number = str(41 + len(self.jobs))
            self.jobs.append(self.faster)
        job = self.add(Path(argv[-1]).read_text(encoding="utf-8"))
        return CommandResult(0, f"{job.number}\n", "")

    def _squeue(self, argv: list[str]) -> CommandResult:
        name, user = (next(word.split("=")[1] for word in argv if word.startswith(key)) for key in ("--name", "--user"))
        rows = [
            f"{job.number}|{job.number}|{job.state}|{job.reason}|{job.option('comment')}\n"
            for job in self.jobs
            if job.option("job-name") == name and job.user == user and not job.forgotten and job.state not in ENDED
        ]
        return CommandResult(0, "".join(rows), "")

    def _scontrol(self, argv: list[str]) -> CommandResult:
        if argv[1:3] == ["show", "hostnames"]:
            return CommandResult(0, "".join(f"{name}\n" for name in HOST_LISTS[argv[3]]), "")
        number = argv[-2] if argv[1] == "write" else argv[-1]
        job = next((job for job in self.jobs if job.number == number and not job.forgotten), None)
        if job is None:
            return FORGOTTEN
        return CommandResult(0, job.script if argv[1] == "write" else job.shown(), "")

    def _sacct(self, argv: list[str]) -> CommandResult:
        if not self.accounting:
            return CommandResult(1, "", "Slurm accounting storage is disabled")
        number = next(word.split("=")[1] for word in argv if word.startswith("--jobs"))
        rows = [
            f"{job.number}|{job.state}|{job.exit_code}|1700000300|1700000900|{job.nodes}|{job.option('job-name')}\n"
            for job in self.jobs
            if job.number == number
        ]
        return CommandResult(0, "".join(rows), "")

    def _scancel(self, argv: list[str]) -> CommandResult:
        signaled = "--signal=USR2" in argv
        for job in self.jobs:
            if job.number in argv and job.state not in ENDED and not self.immortal:
                if not signaled:
                    job.state = "CANCELLED"
                elif self.ends_on_signal and job.state == "RUNNING":
                    job.state, job.exit_code = "FAILED", "1:0"
        return OK
