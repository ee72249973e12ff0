# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The engines that can run a job, and what of its description only one of them reads. Values and their checks."""

from __future__ import annotations

import re
from dataclasses import Field, dataclass, fields
from typing import Any, Mapping, Sequence, TypeVar

from .._errors import GaudiError
from .._node.job_user import DEFAULT_USER
from .binding.plan import BINDINGS, NUMA

TORCHRUN, SLURM, MPIRUN = "torchrun", "slurm", "mpirun"
ENGINES = (TORCHRUN, SLURM, MPIRUN)
# Which nodes Slurm takes: those of the description, or as many of any.
NAMED, ANY = "hosts", "any"

# Ansible's argument_spec of the options that say as whom, where and with what the ranks run.
RANK_ARGUMENTS: dict[str, dict[str, Any]] = {
    "environment": {"type": "dict", "default": {}},
    "environment_files": {"type": "list", "elements": "str", "default": ["-/etc/gaudi3_scale/environment"]},
    "venv": {"type": "path", "default": "/opt/gaudi3_scale/venv"},
    "working_directory": {"type": "path", "default": ""},
    "user": {"type": "str", "default": DEFAULT_USER},
    "device": {"type": "str", "choices": ["hpu", "cuda", "cpu"], "default": "hpu"},
    "stop_timeout": {"type": "int", "default": 60},
}

# sbatch(1): minutes, minutes:seconds, hours:minutes:seconds, days-hours[:minutes[:seconds]].
_TIME_LIMIT = re.compile(r"\d+(:\d\d(:\d\d)?)?|\d+-\d+(:\d\d(:\d\d)?)?|")
# A word that is in a comment line of a batch script as it is.
_PLAIN = re.compile(r"[A-Za-z0-9_.,:+@%&|()\[\]*/=-]*")
_GRES = re.compile(r"([A-Za-z0-9_]+(:[A-Za-z0-9_.-]+)?)?")
# One node: no list, no range.
_NODE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
Options = TypeVar("Options")


@dataclass(frozen=True)
class SlurmOptions:
    """What only Slurm reads; an empty text or 0 leaves it to the site's default.

    ``signal_ahead`` is in seconds. ``array`` has the further arguments of each point of a sweep, ``arguments`` further
    options of sbatch.
    """

    partition: str = ""
    account: str = ""
    qos: str = ""
    time_limit: str = ""
    signal_ahead: int = 300
    requeue: bool = True
    requeue_limit: int = 100
    nodes: str = NAMED
    gres: str = ""
    cpus_per_rank: int = 0
    array: tuple[tuple[str, ...], ...] = ()
    array_limit: int = 0
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True)
class MpiOptions:
    """What only mpirun reads. ``addresses`` are those of the hosts, in their order, where their names are not known.

    ``cores_per_rank`` lets mpirun bind each rank to so many cores; 0: it binds none. ``network`` is a subnet as
    192.0.2.0/24.
    """

    mpirun: str = "mpirun"
    addresses: tuple[str, ...] = ()
    cores_per_rank: int = 0
    sockets_per_node: int = 2
    network: str = ""
    ssh_port: int = 0
    prefix: str = ""
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True)
class SupervisionOptions:
    """What only the supervisors of engine torchrun read. Times are in seconds.

    ``addresses`` are those of the hosts, then of the ``spares``, then of the ``witness``, in their order; empty: their
    names are. ``witness`` votes with the hosts and runs nothing; "": there is none. ``control_port`` 0: the one after
    the rendezvous port. ``min_nodes`` 0: as many as there are hosts.
    """

    spares: tuple[str, ...] = ()
    witness: str = ""
    addresses: tuple[str, ...] = ()
    control_port: int = 0
    min_nodes: int = 0
    max_restarts: int = 3
    min_runtime: int = 60
    lost_after: int = 10
    join_timeout: int = 600
    hang_timeout: int = 1800
    start_timeout: int = 0
    failure_grace: int = 1
    straggler_ratio: float = 1.3
    exclude_stragglers: bool = False
    grow_after: int = 60


@dataclass(frozen=True)
class Allotment:
    """What a launch has chosen for one run over all of its nodes, where the description leaves it open: no part of it.

    ``modules`` (): none were to be chosen. ``rendezvous_port`` 0: that of the description.
    """

    modules: tuple[int, ...] = ()
    rendezvous_port: int = 0

    def as_dict(self) -> dict[str, object]:
        return {"modules": list(self.modules), "rendezvous_port": self.rendezvous_port}


def allotment_from(given: object) -> Allotment:
    """From an option or a note; what is none of ours is left out."""
    data = given if isinstance(given, Mapping) else {}
    port = whole_numbers([data.get("rendezvous_port")])
    return Allotment(whole_numbers(data.get("modules")), port[0] if port else 0)


def whole_numbers(value: object) -> tuple[int, ...]:
    """Those of a list, as a note has them; none where one of it is none."""
    values = value if isinstance(value, (list, tuple)) else ()
    found = tuple(one for one in values if isinstance(one, int) and not isinstance(one, bool))
    return found if len(found) == len(values) else ()


def options_from(kind: type[Options], given: Mapping[str, Any] | None) -> Options:
    """The options that a task gave; what it left out has its default."""
    values = {name: value for name, value in (given or {}).items() if value is not None}
    return kind(**{name: _frozen(value) for name, value in values.items()})


def engine_argument_spec() -> dict[str, dict[str, Any]]:
    """Ansible's argument_spec of what the engines brought to a description, and of what every engine's ranks have."""
    return {
        **RANK_ARGUMENTS,
        "engine": {"type": "str", "choices": list(ENGINES), "default": TORCHRUN},
        "bind": {"type": "str", "choices": list(BINDINGS), "default": NUMA},
        "slurm": {"type": "dict", "options": argument_spec(SlurmOptions)},
        "mpi": {"type": "dict", "options": argument_spec(MpiOptions)},
        "supervision": {"type": "dict", "options": argument_spec(SupervisionOptions)},
        "key": {"type": "str", "no_log": True},
        "new_key": {"type": "str", "no_log": True},
        "global_batch_size": {"type": "int", "default": 0},
        "checkpoint_directory": {"type": "path", "default": ""},
        "allowed_networks": {"type": "list", "elements": "str", "default": []},
        "image": {"type": "str", "default": ""},
        "mounts": {"type": "list", "elements": "str", "default": []},
        "modules": {"type": "list", "elements": "int", "default": []},
        "allotted": {
            "type": "dict",
            "options": {
                "modules": {"type": "list", "elements": "int", "default": []},
                "rendezvous_port": {"type": "int", "default": 0},
            },
        },
    }


def argument_spec(kind: type[Any]) -> dict[str, dict[str, Any]]:
    """Ansible's argument_spec of the options: the fields with their types and defaults, so that they are said once."""
    return {field.name: _argument(field) for field in fields(kind)}


def _argument(field: Field[Any]) -> dict[str, Any]:
    if isinstance(field.default, tuple):
        # The annotation is a text here.
        elements = "list" if str(field.type).startswith("tuple[tuple") else "str"
        return {"type": "list", "elements": elements, "default": []}
    return {"type": type(field.default).__name__, "default": field.default}


def _frozen(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(tuple(map(str, item)) if isinstance(item, (list, tuple)) else str(item) for item in value)
    return value


def check_engine(engine: str) -> None:
    """Refuse an engine that is none of the three."""
    if engine not in ENGINES:
        raise GaudiError(f"engine {engine!r} is not known; give one of {', '.join(ENGINES)}.")


def check_global_batch(global_batch_size: int, world_size: int) -> None:
    """Refuse a batch that the ranks cannot share evenly; 0: none was given."""
    if global_batch_size < 0 or global_batch_size % world_size:
        near = max(1, round(global_batch_size / world_size)) * world_size
        raise GaudiError(
            f"global_batch_size is {global_batch_size}, which {world_size} ranks cannot share evenly; "
            f"give a multiple of {world_size}, such as {near}, or change the number of ranks."
        )


def check_slurm(options: SlurmOptions, port: int, hosts: Sequence[str]) -> None:
    """Refuse what sbatch would misread, in the words of the option."""
    if not _TIME_LIMIT.fullmatch(options.time_limit):
        raise GaudiError(
            f"slurm.time_limit {options.time_limit!r} is not a time; give minutes, hours:minutes:seconds or "
            "days-hours:minutes:seconds."
        )
    if options.nodes not in (NAMED, ANY):
        raise GaudiError(f"slurm.nodes is {options.nodes!r}; give {NAMED} (the nodes in hosts) or {ANY} (as many).")
    unfit = [host for host in hosts if options.nodes == NAMED and not _NODE.fullmatch(host)]
    if unfit:
        raise GaudiError(
            f"hosts has {unfit[0]!r}, which is not a valid node name in Slurm; give the names of slurm.conf, or "
            "slurm.nodes: any."
        )
    if not _GRES.fullmatch(options.gres):
        raise GaudiError(
            f"slurm.gres {options.gres!r} is not a generic resource; give a name from gres.conf, such as hpu."
        )
    # Slurm looks at the clock of a job once a minute (sbatch(1), --signal).
    if options.signal_ahead < 60:
        raise GaudiError(
            f"slurm.signal_ahead is {options.signal_ahead}; give at least 60 seconds, since Slurm may be a minute late."
        )
    for name in ("requeue_limit", "cpus_per_rank", "array_limit"):
        if getattr(options, name) < 0:
            raise GaudiError(f"slurm.{name} is {getattr(options, name)}; give 0 or more.")
    for name in ("partition", "account", "qos"):
        _check_plain(f"slurm.{name}", getattr(options, name))
    _check_arguments("slurm.arguments", options.arguments)
    # Each point of a sweep has a port of its own, since two of them may share a node.
    if options.array and port + len(options.array) - 1 > 65535:
        raise GaudiError(
            f"rendezvous_port is {port} and slurm.array has {len(options.array)} points, a port each; give a lower one."
        )


def check_mpi(options: MpiOptions, processes_per_node: int, hosts: Sequence[str]) -> None:
    """Refuse what mpirun would misread, in the words of the option."""
    if not options.mpirun.strip() or options.mpirun.startswith("-"):
        raise GaudiError(f"mpi.mpirun is {options.mpirun!r}; give the program's name or path.")
    if options.addresses and len(options.addresses) != len(hosts):
        raise GaudiError(
            f"mpi.addresses has {len(options.addresses)} address(es) for {len(hosts)} host(s); give one for each host, "
            "in the order of hosts, or none."
        )
    for address in options.addresses or hosts:
        # A line of the host file is a name and then its slots.
        if not re.fullmatch(r"[A-Za-z0-9_.:-]+", address) or address.startswith("-"):
            raise GaudiError(f"mpi.addresses: {address!r} is neither a host name nor an address; correct it.")
    if options.cores_per_rank < 0 or options.sockets_per_node < 1:
        raise GaudiError(
            f"mpi.cores_per_rank is {options.cores_per_rank} and mpi.sockets_per_node {options.sockets_per_node}; "
            "give 0 or more cores and at least 1 socket."
        )
    if options.cores_per_rank and processes_per_node % options.sockets_per_node:
        raise GaudiError(
            f"processes_per_node is {processes_per_node}, which mpi.sockets_per_node {options.sockets_per_node} does "
            "not divide; give 1 socket, or bind no cores."
        )
    if not 0 <= options.ssh_port <= 65535:
        raise GaudiError(f"mpi.ssh_port is {options.ssh_port}; give a port from 1 to 65535, or 0 for ssh's own.")
    _check_arguments("mpi.arguments", options.arguments)


def _check_plain(option: str, value: str) -> None:
    if not _PLAIN.fullmatch(value):
        raise GaudiError(f"{option} is {value!r}; give it without blanks, quotes and line breaks.")


def _check_arguments(option: str, words: Sequence[str]) -> None:
    for word in words:
        if not word.startswith("-") or not _PLAIN.fullmatch(word):
            raise GaudiError(f"{option} has {word!r}; give each as one word that begins with -, such as --name=value.")
