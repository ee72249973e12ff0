# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A job's name, and where it lives on a node."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Mapping

from .._errors import GaudiError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
# A job's unit has its name between these.
UNIT_START, UNIT_END = "gaudi3-scale-job-", ".service"
UNITS = f"{UNIT_START}*{UNIT_END}"
STATE_DIRECTORY = "/var/lib/gaudi3_scale"
LOG_DIRECTORY = "/var/log/gaudi3_scale"
# Ansible's argument_spec of the options by which each module finds a job; see doc_fragments/job.py.
JOB_ARGUMENTS: dict[str, dict[str, Any]] = {
    "name": {"type": "str", "required": True},
    "state_directory": {"type": "path", "default": STATE_DIRECTORY},
    "log_directory": {"type": "path", "default": LOG_DIRECTORY},
}


@dataclass(frozen=True)
class JobPaths:
    """Where a job of this name lives on a node, or the point ``point`` of a sweep, whose unit is that of the job."""

    name: str
    state_directory: str = STATE_DIRECTORY
    log_directory: str = LOG_DIRECTORY
    unit_directory: str = "/etc/systemd/system"
    point: int | None = None

    def of_point(self, number: int) -> JobPaths:
        """Where a point of this sweep lives (engines.slurm)."""
        return replace(self, point=number)

    @property
    def _place(self) -> str:
        return self.name if self.point is None else f"{self.name}/point-{self.point}"

    @property
    def unit(self) -> str:
        return f"{UNIT_START}{self.name}{UNIT_END}"

    @property
    def unit_file(self) -> str:
        return f"{self.unit_directory}/{self.unit}"

    @property
    def control(self) -> str:
        """What the job is told. It is root's; of it the job's account reads what it needs, and changes nothing."""
        return f"{self.state_directory}/control/{self.name}"

    @property
    def description(self) -> str:
        return f"{self.control}/job.json"

    @property
    def environment(self) -> str:
        return f"{self.control}/environment"

    def environment_copy(self, number: int) -> str:
        """One of the environment files that the job's account may change, as that account read it."""
        return f"{self.control}/environment-{number}"

    @property
    def batch_script(self) -> str:
        """What Slurm is given."""
        return f"{self.control}/batch.sh"

    @property
    def slurm_job(self) -> str:
        """Which job of Slurm's it became."""
        return f"{self.control}/slurm.json"

    @property
    def host_file(self) -> str:
        """The nodes as mpirun reads them."""
        return f"{self.control}/hosts"

    @property
    def supervision(self) -> str:
        """What the supervisor is told, with the secret of the run."""
        return f"{self.control}/supervision.json"

    @property
    def started(self) -> str:
        return f"{self.control}/started.json"

    @property
    def stop_requested(self) -> str:
        """There where the collection was told to stop the job."""
        return f"{self.control}/stop_requested"

    @property
    def directory(self) -> str:
        """What the job keeps, which is its account's: checkpoints, how it stands, how it ended."""
        return f"{self.state_directory}/jobs/{self._place}"

    @property
    def ended(self) -> str:
        """Written by the unit when it ended, since systemd forgets a unit that ended well, and all at a reboot."""
        return f"{self.directory}/ended.json"

    @property
    def unit_stopped(self) -> str:
        """Written by a unit that was told to end, by whomever."""
        return f"{self.directory}/stop_requested"

    @property
    def status(self) -> str:
        """How the whole job stands, as this node's supervisor knows it."""
        return f"{self.directory}/status.json"

    @property
    def votes(self) -> str:
        """What this node's supervisor has promised the others; kept as long as the run lasts, boots included."""
        return f"{self.directory}/votes.json"

    @property
    def rank_programs(self) -> str:
        """The programs that ranks begin as where they are bound, by their digest as well."""
        return f"{self.state_directory}/binding"

    @property
    def container_process(self) -> str:
        """The process number of what runs in the job's container here, where it runs in one."""
        return f"{self.directory}/container.pid"

    def images(self, user: str) -> str:
        """The images that this account has unpacked, by their digests."""
        return f"{self.state_directory}/images/{user}"

    @property
    def agent_logs(self) -> str:
        """Root's: systemd opens what is in it as root."""
        return f"{self.log_directory}/agents/{self.name}"

    @property
    def agent_log(self) -> str:
        """What torchrun, the supervisor or mpirun say in a unit."""
        return f"{self.agent_logs}/agent.log"

    @property
    def logs(self) -> str:
        """What the job writes; the account's, as all below it."""
        return f"{self.log_directory}/jobs/{self._place}"

    @property
    def batch_agent_log(self) -> str:
        """What torchrun says in a job of Slurm's."""
        return f"{self.logs}/agent.log"

    @property
    def metrics(self) -> str:
        return f"{self.logs}/metrics.jsonl"

    @property
    def ranks(self) -> str:
        """torchrun's log directory: <run>/attempt_<n>/<local rank>/{stdout.log,stderr.log,error.json} below it."""
        return f"{self.logs}/ranks"

    @property
    def events(self) -> str:
        """What happened to the job, a line of JSON each."""
        return f"{self.logs}/events.jsonl"

    @property
    def usage(self) -> str:
        """What this node's ranks use, as their supervisor sees it, a line of JSON now and then."""
        return f"{self.logs}/usage.jsonl"

    @property
    def progress(self) -> str:
        """How far each rank of this node is, in a file a rank."""
        return f"{self.logs}/progress"

    @property
    def stacks(self) -> str:
        """Where each rank was when the job stood still."""
        return f"{self.logs}/stacks"

    @property
    def earlier(self) -> str:
        """The logs of the runs of this name before the present one, by the time they were put away."""
        return f"{self.log_directory}/earlier/{self.name}"

    @property
    def earlier_within(self) -> str:
        """The same where the job's logs are a file system, which can neither be renamed nor be left; the account's."""
        return f"{self.logs}/earlier"


def paths_from(options: Mapping[str, Any]) -> JobPaths:
    """Where the job lives that a module's options name; GaudiError for a name that cannot be one."""
    return JobPaths(check_name(options["name"]), options["state_directory"], options["log_directory"])


def job_of_unit(unit: str) -> str:
    """The name of the job whose unit this is."""
    return unit.removeprefix(UNIT_START).removesuffix(UNIT_END)


def known_jobs(paths: JobPaths) -> list[str]:
    """The names of all jobs with a description on this node."""
    described = Path(paths.description)
    return sorted(found.parent.name for found in described.parent.parent.glob(f"*/{described.name}"))


def check_name(name: str) -> str:
    """``name``, or GaudiError where it could not be part of a file's and a unit's name."""
    if not NAME.fullmatch(name):
        raise GaudiError(
            f"name {name!r} cannot name a job; use 1 to 64 letters, digits, dots, dashes and underscores, "
            "beginning with a letter or digit."
        )
    return name
