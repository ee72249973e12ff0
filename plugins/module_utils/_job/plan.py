# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A training job as a value: what one node is to run of it. Nothing here touches the node."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Mapping

from .._errors import GaudiError
from .._node.environment_file import assignment
from .._node.job_user import DEFAULT_USER, check_user
from .._node.networks import parse_networks
from .._node.option_forms import check_place
from .allowed_networks import check_allowed
from .binding.modules import VARIABLE
from .binding.plan import NONE, NUMA, check_bind
from .binding.topology import HPU
from .container.jobs import check_container
from .container.reference import parse_pinned
from .description import (
    MPIRUN,
    SLURM,
    TORCHRUN,
    Allotment,
    MpiOptions,
    SlurmOptions,
    SupervisionOptions,
    allotment_from,
    check_engine,
    check_global_batch,
    check_mpi,
    check_slurm,
    options_from,
)
from .paths import JobPaths, check_name
from .supervision import check_supervision, nodes_of
from .variables import variables_from

# A name, or an address of IPv4 or IPv6 with its zone; no word that a program would take for an option.
ADDRESS = re.compile(r"[A-Za-z0-9_:][A-Za-z0-9_.:%-]{0,254}", re.ASCII)
# At least 128 bits.
SECRET = re.compile(r"(?:[0-9a-f]{2}){16,}")
# This node as the inventory names it. Slurm and mpirun carry one environment to all nodes, which has none.
NODE = "GAUDI3_SCALE_NODE"
OWN_VARIABLES = (
    "GAUDI3_SCALE_JOB",
    NODE,
    "GAUDI3_SCALE_JOB_DIR",
    "GAUDI3_SCALE_METRICS",
    "GAUDI3_SCALE_GLOBAL_BATCH_SIZE",
    "GAUDI3_SCALE_PROGRESS_DIR",
    "GAUDI3_SCALE_GENERATION",
)
# The trainer that ships with the collection.
BUILT_IN = ("-m", "gaudi3_scale.train")
# Parts that descriptions did not have from the beginning.
OPTIONAL = (
    "engine",
    "bind",
    "global_batch_size",
    "checkpoint_directory",
    "allowed_networks",
    "image",
    "mounts",
    "modules",
    "slurm",
    "mpi",
    "supervision",
)
# The secret of one run is no part of what is asked for, and is shown to nobody; nor is what was chosen for it.
UNDESCRIBED = ("key", "new_key", "allotted")
# Where nobody has said a port, and another job has this one, the next free one is taken.
DEFAULT_PORT = 29500


@dataclass(frozen=True)
class Job:
    """One node's worker group of a job. ``hosts`` is the order of the nodes, hence of the ranks; ``host`` is this node.

    ``command`` is what each rank runs: a script or ``-m`` and a module, then its arguments. ``engine`` is what starts
    the ranks. ``bind`` says to which cores each rank is bound (``binding.plan``). ``global_batch_size`` 0: not told.
    ``working_directory`` and ``checkpoint_directory`` "": the job's own directory.
    ``image`` is that of the container in which the ranks run, with its digest; "": they run on the node itself. Of the
    node the container sees what the job needs anyway, and ``mounts`` (``container.mounts``).
    ``modules``: the cards that each node gives it, where somebody has named them; ``allotted``: what was chosen for its
    run. ``allowed_networks``: with whom its unit may speak, as ``networks.parse_networks`` gives them; none: with
    everybody.
    ``supervision`` None: torchrun alone runs the ranks.
    ``key`` is the secret of a run that another node has begun and that this one is to join; "": it begins one, with the
    secret ``new_key`` or, without that, one of its own.
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
    working_directory: str = ""
    user: str = DEFAULT_USER
    device: str = "hpu"
    stop_timeout: int = 60
    engine: str = TORCHRUN
    bind: str = NUMA
    global_batch_size: int = 0
    checkpoint_directory: str = ""
    allowed_networks: tuple[str, ...] = ()
    image: str = ""
    mounts: tuple[str, ...] = ()
    modules: tuple[int, ...] = ()
    slurm: SlurmOptions = field(default_factory=SlurmOptions)
    mpi: MpiOptions = field(default_factory=MpiOptions)
    supervision: SupervisionOptions | None = None
    key: str = field(default="", repr=False)
    new_key: str = field(default="", repr=False)
    allotted: Allotment = field(default_factory=Allotment)

    @property
    def spares(self) -> tuple[str, ...]:
        return self.supervision.spares if self.supervision else ()

    @property
    def witness(self) -> str:
        return self.supervision.witness if self.supervision else ""

    @property
    def is_witness(self) -> bool:
        """Whether this node only votes."""
        return bool(self.witness) and self.host == self.witness

    @property
    def starting_hosts(self) -> tuple[str, ...]:
        """Where something is started: on all nodes, or on the first one by an engine that reaches the others itself."""
        if self.engine != TORCHRUN:
            return self.hosts[:1]
        return nodes_of(self.supervision, self.hosts) if self.supervision else self.hosts

    @property
    def node_rank(self) -> int | None:
        """This node's place among the hosts when the job begins; None for a spare and the witness."""
        return self.hosts.index(self.host) if self.host in self.hosts else None

    @property
    def is_bound(self) -> bool:
        """Whether its ranks are bound here; mpirun that was told to bind them does it by itself."""
        return self.bind != NONE and not (self.engine == MPIRUN and self.mpi.cores_per_rank)

    @property
    def part(self) -> tuple[int, ...]:
        """The modules of its part of each node; none where it has whole nodes, or its environment says which."""
        return self.modules or self.allotted.modules

    @property
    def port(self) -> int:
        """Where its ranks meet in this run."""
        return self.allotted.rendezvous_port or self.rendezvous_port

    @property
    def may_move(self) -> bool:
        """Whether nobody has said at which ports it meets. Slurm's jobs say it when they begin."""
        has_own = bool(self.supervision and self.supervision.control_port)
        return self.rendezvous_port == DEFAULT_PORT and not has_own and self.engine != SLURM

    @property
    def shares_ports(self) -> bool:
        """Whether Slurm may run others of ours on its nodes, and nobody has said at which port it meets."""
        return self.engine == SLURM and bool(self.slurm.cpus_per_rank) and self.rendezvous_port == DEFAULT_PORT

    @property
    def world_size(self) -> int:
        return len(self.hosts) * self.processes_per_node


def job_from(options: Mapping[str, Any]) -> Job:
    """The job that the options of ``training_job`` describe."""
    values = {field.name: options[field.name] for field in fields(Job) if options.get(field.name) is not None}
    values["slurm"] = options_from(SlurmOptions, options.get("slurm"))
    values["mpi"] = options_from(MpiOptions, options.get("mpi"))
    supervised = options.get("supervision")
    values["supervision"] = None if supervised is None else options_from(SupervisionOptions, supervised)
    environment = variables_from("environment", options["environment"])
    words = {name: tuple(options[name]) for name in ("hosts", "command", "environment_files")}
    words["mounts"] = tuple(options.get("mounts") or ())
    # In their order: local rank n takes the n-th, and on some boards HCCL fails with another one (_launch.card_groups).
    words["modules"] = tuple(sorted(options.get("modules") or ()))
    values["allotted"] = allotment_from(options.get("allotted"))
    words["allowed_networks"] = parse_networks("allowed_networks", options.get("allowed_networks") or ())
    return Job(**{**values, **words, "environment": environment})


def check(job: Job, cards: int | None) -> Job:
    """``job`` as this node is to run it, or GaudiError for the first thing that cannot work. ``cards`` of this node;
    None: not known.
    """
    job = _as_witness(job) if job.is_witness else job
    check_name(job.name)
    check_engine(job.engine)
    check_bind(job.bind)
    _check_hosts(job)
    _check_processes(job, cards)
    _check_modules(job)
    check_global_batch(job.global_batch_size, job.world_size)
    _check_command(job)
    _check_environment(job)
    if not 1 <= job.rendezvous_port <= 65535:
        raise GaudiError(f"rendezvous_port is {job.rendezvous_port}; give a port from 1 to 65535.")
    _check_addresses(job)
    check_user(job.user)
    if job.stop_timeout < 1:
        raise GaudiError(f"stop_timeout is {job.stop_timeout}; give at least 1.")
    for option in ("venv", "working_directory", "checkpoint_directory"):
        value = getattr(job, option)
        if (value or option == "venv") and (not value.startswith("/") or "\n" in value):
            raise GaudiError(f"{option} is {value!r}; give an absolute path.")
    if job.engine == SLURM:
        check_slurm(job.slurm, job.rendezvous_port, job.hosts)
    if job.engine == MPIRUN:
        parse_networks("mpi.network", filter(None, [job.mpi.network]))
        if job.mpi.prefix:
            check_place("mpi.prefix", job.mpi.prefix)
        check_mpi(job.mpi, job.processes_per_node, job.hosts)
    if job.supervision:
        _check_supervision(job, job.supervision)
    of_nodes = (*job.mpi.addresses, *(job.supervision.addresses if job.supervision else ()))
    check_allowed(job.allowed_networks, job.engine, (job.rendezvous_address, *of_nodes))
    if job.image:
        parse_pinned(job.image)
    check_container(
        job.image,
        job.mounts,
        engine=job.engine,
        nodes=job.slurm.nodes,
        device=job.device,
        user=job.user,
        is_built_in=job.command[:2] == BUILT_IN,
    )
    _check_secrets(job)
    return job


def _as_witness(job: Job) -> Job:
    """What a node has that runs no ranks: it needs neither what they need, nor the secrets in their variables."""
    return replace(
        job,
        environment={},
        environment_files=(),
        image="",
        mounts=(),
        working_directory="/",
        checkpoint_directory="",
        bind=NONE,
        device="cpu",
        modules=(),
        allotted=replace(job.allotted, modules=()),
    )


def _check_supervision(job: Job, options: SupervisionOptions) -> None:
    if job.engine != TORCHRUN:
        raise GaudiError(
            f"supervision is for engine {TORCHRUN}, and {job.engine} starts and ends ranks by itself; leave it out."
        )
    check_supervision(options, job.hosts, job.processes_per_node, job.port, job.global_batch_size)


def _check_secrets(job: Job) -> None:
    for option in ("key", "new_key"):
        if getattr(job, option) and not SECRET.fullmatch(getattr(job, option)):
            raise GaudiError(
                f"{option} is not the secret of a run; give at least 32 hexadecimal digits, or leave it out."
            )


def _check_hosts(job: Job) -> None:
    if not job.hosts:
        raise GaudiError("hosts is empty; name the nodes of the job in the order of their ranks.")
    twice = sorted({host for host in job.hosts if job.hosts.count(host) > 1})
    if twice:
        raise GaudiError(f"hosts names {', '.join(twice)} more than once; name each node once.")
    named = nodes_of(job.supervision, job.hosts) if job.supervision else job.hosts
    if job.host not in named:
        raise GaudiError(
            f"host {job.host} is not among hosts ({', '.join(named)}); add it, or do not start the job there."
        )


def _check_addresses(job: Job) -> None:
    if not job.rendezvous_address.strip():
        raise GaudiError("rendezvous_address is empty; give the address by which all nodes reach the first host.")
    supervised = job.supervision.addresses if job.supervision else ()
    named = {
        # Slurm's own names are checked with what else is Slurm's.
        "hosts": job.hosts if job.engine != SLURM else (),
        "supervision.spares": job.spares,
        "supervision.witness": tuple(filter(None, [job.witness])),
        "supervision.addresses": tuple(filter(None, supervised)),
        "rendezvous_address": (job.rendezvous_address,),
    }
    for option, values in named.items():
        for value in values:
            if not ADDRESS.fullmatch(value):
                raise GaudiError(
                    f"{option} has {value!r:.80}, which is neither a host name nor an address; correct it."
                )


def _check_processes(job: Job, cards: int | None) -> None:
    if job.processes_per_node < 1:
        raise GaudiError(f"processes_per_node is {job.processes_per_node}; give at least 1.")
    if job.device != "cpu" and cards is not None and job.processes_per_node > cards:
        raise GaudiError(
            f"processes_per_node is {job.processes_per_node} but {job.host} has {cards} card(s); "
            "a card serves one process, so ask for no more than that."
        )


def _check_modules(job: Job) -> None:
    """What is wrong with them whatever the node is."""
    if not job.modules:
        return
    named = ", ".join(map(str, job.modules))
    if job.device != HPU:
        raise GaudiError(
            f"modules names {named}, which are Gaudi cards, and the job's device is {job.device}; leave it empty."
        )
    if job.engine == SLURM:
        raise GaudiError(f"modules names {named}, but with engine {SLURM} Slurm says which cards; leave it empty.")
    twice = next((one for one in job.modules if job.modules.count(one) > 1), None)
    if twice is not None:
        raise GaudiError(f"modules names {twice} more than once; a card serves one process, so name each once.")
    if len(job.modules) != job.processes_per_node:
        raise GaudiError(
            f"modules names {len(job.modules)} card(s) ({named}) and processes_per_node is {job.processes_per_node}; "
            "give as many ranks as modules."
        )
    if VARIABLE in job.environment:
        raise GaudiError(f"modules names {named}, and environment sets {VARIABLE} too; give one of them.")


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
        raise GaudiError("command has a NUL character, which cannot be passed to a program; remove it.")


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


def starts_in(job: Job, paths: JobPaths) -> str:
    """The directory in which this node's ranks start. Their own is on the node itself: a unit whose directory lies on
    shared storage would wait for that storage, and with it the supervisor, who is to say that the storage hangs.
    """
    return job.working_directory or paths.directory


def job_environment(job: Job, paths: JobPaths, interface: str | None, recipes: str | None = None) -> dict[str, str]:
    """What the job's processes get besides ``environment_files``; the caller's own values win over ``interface``.

    ``recipes`` is the job's PT_HPU_RECIPE_CACHE_CONFIG: the node's, with a directory of the job's own.
    """
    # Without these, gloo takes the interface of the host name's address, which Debian and Ubuntu put at 127.0.1.1,
    # and HCCL the first one it finds.
    named = {} if interface is None else {"GLOO_SOCKET_IFNAME": interface, "HCCL_SOCKET_IFNAME": interface}
    part = {VARIABLE: ",".join(map(str, job.part))} if job.part else {}
    cache = {"PT_HPU_RECIPE_CACHE_CONFIG": recipes} if recipes else {}
    batch = {"GAUDI3_SCALE_GLOBAL_BATCH_SIZE": str(job.global_batch_size)} if job.global_batch_size else {}
    progress = {"GAUDI3_SCALE_PROGRESS_DIR": paths.progress} if job.supervision else {}
    return {
        **named,
        **cache,
        **part,
        **job.environment,
        **batch,
        **progress,
        "GAUDI3_SCALE_JOB": job.name,
        "GAUDI3_SCALE_JOB_DIR": job.checkpoint_directory or paths.directory,
        "GAUDI3_SCALE_METRICS": paths.metrics,
    }


def visible_modules(job: Job, settings: Mapping[str, str]) -> str:
    """What ``HABANA_VISIBLE_MODULES`` says to the ranks, from the variables ``settings`` of the node's files and from
    the job; "" where nobody says it.
    """
    own = ",".join(map(str, job.part)) or settings.get(VARIABLE) or ""
    return job.environment.get(VARIABLE, own) or ""


def describe(job: Job) -> dict[str, object]:
    """The job as plain JSON values: what is stored, and what a later call is compared with.

    Of the parts that only some jobs have, those that are as in ``DESCRIBED_DEFAULTS`` are left out.
    """
    return {key: value for key, value in _plain(job).items() if key not in OPTIONAL or value != DESCRIBED_DEFAULTS[key]}


def _plain(job: Job) -> dict[str, object]:
    """All parts as a file of JSON gives them back."""
    parts: dict[str, object] = json.loads(json.dumps(asdict(job)))
    return {key: value for key, value in parts.items() if key not in UNDESCRIBED}


_BARE = _plain(Job("", (), "", 0, "", 0, (), ""))
# The optional parts of a description, as one has them that leaves them out.
DESCRIBED_DEFAULTS = {key: _BARE[key] for key in OPTIONAL}
