# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a supervisor is given, and what it leaves for others to read."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Mapping

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.supervisor.state import Event, Rules


@dataclass(frozen=True)
class Supervision:
    """One launch of a job, as ``supervision.json`` describes it to the node ``host``. ``witness`` "": there is none.

    ``container_process`` is where the process number of torchrun in a container is; "": it runs on the node itself.
    ``argv`` is torchrun's, with RENDEZVOUS_ID, NNODES, NODE_RANK and MASTER_ADDRESS as whole words for what each
    generation decides. ``file`` is what it was read from. ``checkpoint_directory`` "": nothing is handed over there.
    ``modules``: the cards of its ranks where these are not all of the node; none: all.
    """

    job: str
    host: str
    hosts: tuple[str, ...]
    spares: tuple[str, ...]
    witness: str
    addresses: Mapping[str, str]
    control_port: int
    key: bytes
    argv: tuple[str, ...]
    file: str
    checkpoint_directory: str
    processes_per_node: int
    rendezvous_port: int
    device: str
    kernel_root: str
    progress_directory: str
    status: str
    votes: str
    events: str
    log_directory: str
    agent_log: str
    ranks_directory: str
    stop_requested: str
    venv: str
    rules: Rules
    container_process: str = ""
    modules: tuple[int, ...] = ()


RENDEZVOUS_ID = "@RENDEZVOUS_ID@"
NNODES = "@NNODES@"
NODE_RANK = "@NODE_RANK@"
MASTER_ADDRESS = "@MASTER_ADDRESS@"


def read_supervision(path: str) -> Supervision:
    """Raises GaudiError where the file is missing or is none."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        return _supervision(data, path)
    except OSError as error:
        raise GaudiError(f"{path} cannot be read: {error.strerror}; launch the job again.") from error
    except (KeyError, TypeError, ValueError) as error:
        raise GaudiError(f"{path} does not describe a job ({error!r}); launch the job again.") from error


def _supervision(data: Mapping[str, object], path: str) -> Supervision:
    hosts, spares = _words(data["hosts"]), _words(data.get("spares") or [])
    witness = str(data.get("witness") or "")
    addresses = data["addresses"]
    if not isinstance(addresses, dict):
        raise TypeError("addresses")
    places = ("progress_directory", "status", "votes", "events", "log_directory", "agent_log")
    text = {name: str(data[name]) for name in ("job", "host", "device", *places)}
    return Supervision(
        **text,
        hosts=hosts,
        spares=spares,
        witness=witness,
        addresses={str(host): str(address) for host, address in addresses.items()},
        control_port=int(str(data["control_port"])),
        key=bytes.fromhex(str(data["key"])),
        argv=_words(data["argv"]),
        file=path,
        checkpoint_directory=str(data.get("checkpoint_directory") or ""),
        processes_per_node=int(str(data["processes_per_node"])),
        rendezvous_port=int(str(data["rendezvous_port"])),
        kernel_root=str(data.get("kernel_root") or "/"),
        ranks_directory=str(data["ranks_directory"]),
        stop_requested=str(data["stop_requested"]),
        venv=str(data["venv"]),
        container_process=str(data.get("container_process") or ""),
        modules=tuple(int(one) for one in _words(data.get("modules") or [])),
        rules=_rules(data, hosts, (*hosts, *spares, *filter(None, [witness]))),
    )


def _rules(data: Mapping[str, object], hosts: tuple[str, ...], names: tuple[str, ...]) -> Rules:
    seconds = ("lost_after", "join_timeout", "hang_timeout", "start_timeout", "stop_grace", "failure_grace")
    numbers = (*seconds, "min_runtime", "grow_after", "straggler_ratio")
    given: dict[str, Any] = {name: float(str(data[name])) for name in numbers if data.get(name) is not None}
    return Rules(
        names=names,
        hosts=len(hosts),
        witness=len(names) - 1 if data.get("witness") else None,
        index=names.index(str(data["host"])),
        processes_per_node=int(str(data["processes_per_node"])),
        min_nodes=int(str(data.get("min_nodes") or len(hosts))),
        max_restarts=int(str(data.get("max_restarts", 3))),
        exclude_stragglers=bool(data.get("exclude_stragglers")),
        reports_steps=bool(data.get("reports_steps")),
        **given,
    )


def _words(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is not a list")
    return tuple(map(str, value))


@dataclass(frozen=True)
class Status:
    """How the job stands as this node sees it; the first two are for a supervisor that starts here again."""

    launch: str
    incarnation: int
    state: str
    generation: int
    members: tuple[str, ...]
    node_rank: int | None
    leader: str | None
    restarts: int
    alive: tuple[str, ...]
    step: int | None
    outcome: str | None
    reason: str
    failure: Mapping[str, object] | None


def write_status(path: str, status: Status) -> None:
    """Replace the file, so that a reader sees all of one or of the other."""
    replace_file(path, json.dumps({"time": time.time(), **asdict(status)}) + "\n")


def replace_file(path: str, text: str) -> None:
    """Write beside it and rename."""
    new = Path(f"{path}.new")
    new.write_text(text, encoding="utf-8")
    new.chmod(0o644)
    new.replace(path)


def append_event(path: str, event: Event) -> None:
    """One line of JSON."""
    append_line(path, json.dumps({"time": time.time(), **asdict(event)}) + "\n")


def append_line(path: str, line: str) -> None:
    """Written in one piece."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


def incarnation_after(before: int, status: str) -> int:
    """A number higher than that of any supervisor of this job here before: ``before`` is that of the kept votes."""
    try:
        earlier = json.loads(Path(status).read_text(encoding="utf-8"))
        before = max(before, int(earlier["incarnation"]))
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return max(time.time_ns() // 1_000_000, before + 1)
