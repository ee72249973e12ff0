# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A training job as a value: what one node is to run as its share of it. Nothing here touches the node."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Mapping

from . import recipe_cache
from .environment_file import assignment
from .errors import GaudiError
from .recipe_cache import RECIPE_CACHE

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]*\$?")
OWN_VARIABLES = ("GAUDI3_SCALE_JOB", "GAUDI3_SCALE_JOB_DIR", "GAUDI3_SCALE_METRICS")
STATE_DIRECTORY = "/var/lib/gaudi3_scale"
LOG_DIRECTORY = "/var/log/gaudi3_scale"


@dataclass(frozen=True)
class JobPaths:
    """Where a job of this name lives on a node."""

    name: str
    state_directory: str = STATE_DIRECTORY
    log_directory: str = LOG_DIRECTORY
    unit_directory: str = "/etc/systemd/system"

    @property
    def unit(self) -> str:
        return f"gaudi3-scale-job-{self.name}.service"

    @property
    def unit_file(self) -> str:
        return f"{self.unit_directory}/{self.unit}"

    @property
    def directory(self) -> str:
        """What the job keeps: its description, checkpoints, how it ended."""
        return f"{self.state_directory}/jobs/{self.name}"

    @property
    def description(self) -> str:
        return f"{self.directory}/job.json"

    @property
    def environment(self) -> str:
        return f"{self.directory}/environment"

    @property
    def started(self) -> str:
        return f"{self.directory}/started.json"

    @property
    def ended(self) -> str:
        """Written by the unit when it ended, since systemd forgets a unit that ended well, and all at a reboot."""
        return f"{self.directory}/ended.json"

    @property
    def stop_requested(self) -> str:
        return f"{self.directory}/stop_requested"

    @property
    def logs(self) -> str:
        return f"{self.log_directory}/jobs/{self.name}"

    @property
    def agent_log(self) -> str:
        return f"{self.logs}/agent.log"

    @property
    def metrics(self) -> str:
        return f"{self.logs}/metrics.jsonl"

    @property
    def ranks(self) -> str:
        """torchrun's log directory: <run>/attempt_<n>/<local rank>/{stdout.log,stderr.log,error.json} below it."""
        return f"{self.logs}/ranks"

    @property
    def earlier(self) -> str:
        """Logs of the runs of this name before the present one, by the time they were put away."""
        return f"{self.logs}/earlier"


@dataclass(frozen=True)
class Job:
    """One node's share of a job. ``hosts`` is the order of the nodes, hence of the ranks; ``host`` is this node.

    ``command`` is what torchrun starts: a script or ``-m`` and a module, then its arguments.
    """

    name: str
    hosts: tuple[str, ...]
    host: str
    processes_per_node: int
    rendezvous_address: str
    rendezvous_port: int
    command: tuple[str, ...]
    venv: str
    environment_files: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    working_directory: str = "/"
    user: str = "root"
    device: str = "hpu"
    stop_timeout: int = 60

    @property
    def node_rank(self) -> int:
        return self.hosts.index(self.host)

    @property
    def world_size(self) -> int:
        return len(self.hosts) * self.processes_per_node


def job_from(options: Mapping[str, Any]) -> Job:
    """The job that the options of ``training_job`` describe."""
    values = {field.name: options[field.name] for field in fields(Job)}
    environment = {str(name): str(value) for name, value in options["environment"].items()}
    words = {name: tuple(options[name]) for name in ("hosts", "command", "environment_files")}
    return Job(**{**values, **words, "environment": environment})


def check_name(name: str) -> str:
    """``name``, or GaudiError where it could not be part of a file's and a unit's name."""
    if not NAME.fullmatch(name):
        raise GaudiError(
            f"name {name!r} cannot name a job; use 1 to 64 letters, digits, dots, dashes and underscores, "
            "beginning with a letter or digit."
        )
    return name


def check(job: Job, cards: int | None) -> Job:
    """``job``, or GaudiError for the first thing that cannot work. ``cards`` of this node; None: not known."""
    check_name(job.name)
    _check_hosts(job)
    _check_processes(job, cards)
    _check_command(job)
    _check_environment(job)
    if not 1 <= job.rendezvous_port <= 65535:
        raise GaudiError(f"rendezvous_port is {job.rendezvous_port}; give a port from 1 to 65535.")
    if not job.rendezvous_address.strip():
        raise GaudiError("rendezvous_address is empty; give the address by which all nodes reach the first host.")
    if not USER.fullmatch(job.user):
        raise GaudiError(f"user {job.user!r} cannot be an account's name; name one that exists on every node.")
    if job.stop_timeout < 1:
        raise GaudiError(f"stop_timeout is {job.stop_timeout}; give at least 1.")
    for option in ("venv", "working_directory"):
        value = getattr(job, option)
        if not value.startswith("/") or "\n" in value:
            raise GaudiError(f"{option} is {value!r}; give an absolute path.")
    return job


def _check_hosts(job: Job) -> None:
    if not job.hosts:
        raise GaudiError("hosts is empty; name the nodes of the job in the order of their ranks.")
    twice = sorted({host for host in job.hosts if job.hosts.count(host) > 1})
    if twice:
        raise GaudiError(f"hosts names {', '.join(twice)} more than once; name each node once.")
    if job.host not in job.hosts:
        raise GaudiError(
            f"host {job.host} is not among hosts ({', '.join(job.hosts)}); add it, or do not start the job there."
        )


def _check_processes(job: Job, cards: int | None) -> None:
    if job.processes_per_node < 1:
        raise GaudiError(f"processes_per_node is {job.processes_per_node}; give at least 1.")
    if job.device != "cpu" and cards is not None and job.processes_per_node > cards:
        raise GaudiError(
            f"processes_per_node is {job.processes_per_node} but {job.host} has {cards} card(s); "
            "a card serves one process, so ask for no more than that."
        )


def _check_command(job: Job) -> None:
    if not job.command or not job.command[0]:
        raise GaudiError("command is empty; give a script's path, or -m and a module, and then the arguments.")
    first = job.command[0]
    if first == "-m" and (len(job.command) < 2 or job.command[1].startswith("-")):
        raise GaudiError("command has -m without a module; give the module's name next.")
    if first.startswith("-") and first != "-m":
        raise GaudiError(
            f"command begins with {first}; begin with a script's path or with -m, since the options of torchrun are "
            "made from the other options of this module."
        )
    if any("\0" in word for word in job.command):
        raise GaudiError("command has a NUL character, which no program can be given; remove it.")


def _check_environment(job: Job) -> None:
    for variable, value in job.environment.items():
        assignment(variable, value)
        if variable in OWN_VARIABLES:
            raise GaudiError(f"environment sets {variable}, which the job sets itself; remove it.")
    for path in job.environment_files:
        if not path.startswith(("/", "-/")) or "\n" in path:
            raise GaudiError(
                f"environment_files has {path!r}; give absolute paths, with a leading - where the file may be missing."
            )


def torchrun_argv(job: Job, paths: JobPaths) -> tuple[str, ...]:
    """The program that the unit runs."""
    return (
        f"{job.venv}/bin/torchrun",
        "--nnodes",
        str(len(job.hosts)),
        "--node-rank",
        str(job.node_rank),
        "--nproc-per-node",
        str(job.processes_per_node),
        # Not c10d: it numbers nodes by their sorted addresses (dynamic_rendezvous.py of torch 2.13), so the order of
        # `hosts` could not be kept, and rank 0 would move with an address.
        "--rdzv-backend",
        "static",
        "--rdzv-id",
        job.name,
        "--master-addr",
        job.rendezvous_address,
        "--master-port",
        str(job.rendezvous_port),
        "--log-dir",
        paths.ranks,
        "--redirects",
        "3",
        # torchrun puts every argument through string.Template for ${local_rank} (elastic/utils/api.py): a lone $
        # would survive, but $$ would become $.
        *(word.replace("$", "$$") for word in job.command),
    )


def job_environment(job: Job, paths: JobPaths, interface: str | None, recipes: str | None = None) -> dict[str, str]:
    """What the job's processes get besides ``environment_files``; the caller's own values win over ``interface``.

    ``recipes`` is the node's PT_HPU_RECIPE_CACHE_CONFIG, of which each job gets a directory of its own.
    """
    # Without these, gloo takes the interface of the host name's address, which Debian and Ubuntu put at 127.0.1.1,
    # and HCCL the first one it finds.
    named = {} if interface is None else {"GLOO_SOCKET_IFNAME": interface, "HCCL_SOCKET_IFNAME": interface}
    cache = {} if not recipes else {RECIPE_CACHE: recipe_cache.of_job(recipes, job.name)}
    return {
        **named,
        **cache,
        **job.environment,
        "GAUDI3_SCALE_JOB": job.name,
        "GAUDI3_SCALE_JOB_DIR": paths.directory,
        "GAUDI3_SCALE_METRICS": paths.metrics,
    }


def describe(job: Job) -> dict[str, object]:
    """The job as plain JSON values: what is stored, and what a later call is compared with."""
    return {
        key: list(value) if isinstance(value, tuple) else dict(value) if isinstance(value, Mapping) else value
        for key, value in asdict(job).items()
    }


def description_differences(running: Mapping[str, object], asked: Mapping[str, object]) -> list[str]:
    """One phrase for each part in which the two descriptions differ, in the order of ``asked``."""
    keys = [*asked, *(key for key in running if key not in asked)]
    return [_difference(key, running.get(key), asked.get(key)) for key in keys if running.get(key) != asked.get(key)]


def _difference(key: str, running: object, asked: object) -> str:
    """Of two lists of the same length only the items that differ: a command can be long."""
    if isinstance(running, list) and isinstance(asked, list) and len(running) == len(asked):
        pairs = [(old, new) for old, new in zip(running, asked) if old != new]
        return f"{key} has {', '.join(f'{old!r} where {new!r} is asked for' for old, new in pairs)}"
    return f"{key} is {running!r}, asked for {asked!r}"
