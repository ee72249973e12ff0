# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A node as slurm.conf has to have it: its name, its processors, its cards, and the memory beside its huge pages."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Mapping, Sequence

from .._cards.hpu_facts import HpuFacts
from .._errors import GaudiError
from .._node.certificate_names import is_address
from .._node.commands import Run
from .memory import left_for_jobs
from .site import NO_SITE, SlurmSite

_TIMEOUT_S = 20
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
_DEVICE = re.compile(r"/dev/accel/accel[0-9]{1,3}")
# What `slurmd -C` prints of the processors, in the order of slurm.conf(5).
PROCESSORS = ("CPUs", "Boards", "SocketsPerBoard", "CoresPerSocket", "ThreadsPerCore")
_MOST = 1_000_000
_MOST_CARDS = 1024
# Of slurm.conf(5): no node's name, whatever host has it.
_RESERVED = ("default", "all")


@dataclass(frozen=True)
class SlurmNode:
    """``processors`` as ``slurmd -C`` counts them, ``devices`` the cards' files, ``memory_mib`` what jobs may have."""

    name: str
    processors: Mapping[str, int]
    cards: int
    devices: tuple[str, ...]
    memory_mib: int

    def as_result(self) -> dict[str, Any]:
        return {**asdict(self), "devices": list(self.devices)}


def read_node(facts: HpuFacts, run: Run, devices: str = "/dev/accel", site: SlurmSite = NO_SITE) -> SlurmNode | None:
    """What this node is; None where no slurmd is installed."""
    described = run(["slurmd", "-C"], timeout=_TIMEOUT_S, env=site.environment)
    if described.rc == 127:
        return None
    words = dict(re.findall(r"(\w+)=(\S+)", described.stdout))
    if described.rc != 0 or "NodeName" not in words:
        raise GaudiError("`slurmd -C` does not describe this node; run it manually, and fix what it reports.")
    paths = [path for path in Path(devices).glob("accel[0-9]*") if _DEVICE.fullmatch(str(path))]
    files = tuple(map(str, sorted(paths, key=lambda path: int(path.name[len("accel") :]))))
    kernel = facts.kernel
    left = left_for_jobs(kernel.memory_mib, kernel.hugepages, kernel.hugepage_kib)
    real = int(words["RealMemory"]) if words.get("RealMemory", "").isdecimal() else 0
    # slurmd counts the huge pages as memory; a job that got them as such would be killed.
    memory = min(one for one in (left, real) if one) if left or real else 0
    processors = {name: int(words[name]) for name in PROCESSORS if words.get(name, "").isdecimal()}
    # A node whose files are not as many as its cards is counted, and not bound.
    # `slurmd -C` tells the host's name, also where the unit gives slurmd another one by -N.
    name = site.node or words["NodeName"]
    return SlurmNode(name, processors, facts.count, files if len(files) == facts.count else (), memory)


def check_name(name: str) -> None:
    """Raises GaudiError for what cannot be a node's name in Slurm."""
    if not _is_name(name):
        raise GaudiError(f"node is {name!r:.80}, which is not a node name in Slurm; give it as `slurmd -C` prints it.")


def nodes_from(values: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> list[SlurmNode]:
    """What other nodes said of themselves, each of itself alone; raises GaudiError for anything else.

    ``host`` in a value is who said it, by the inventory; ``names`` what the inventory says hosts are called in Slurm.
    """
    found: dict[str, SlurmNode] = {}
    hosts: dict[str, str] = {}
    for value in values:
        node, host = node_from(value), str(value.get("host") or "")
        if host and node.name not in _own(host, names):
            raise GaudiError(
                f"nodes has {node.name!r} by {host}, which is neither its inventory name nor a name given for it; set "
                f"gaudi_slurm_node of {host} to it if it is right."
            )
        key = node.name.lower()
        if key in found:
            both = " and ".join(filter(None, (hosts[key], host))) or "two nodes"
            raise GaudiError(f"nodes has {node.name!r} twice, by {both}; correct the name of one of them in Slurm.")
        found[key], hosts[key] = node, host
    return list(found.values())


def _own(host: str, names: Mapping[str, str]) -> tuple[str, ...]:
    """By which names a host is its own: the one that it is given, else its name in the inventory without its domain."""
    given = names.get(host)
    return (given,) if given else (host, host if is_address(host) else host.partition(".")[0])


def node_from(value: Mapping[str, Any]) -> SlurmNode:
    """What a node said of itself, as it may be in a file of root's; raises GaudiError for anything else."""
    try:
        name, processors, devices = str(value["name"]), dict(value["processors"]), tuple(map(str, value["devices"]))
        numbers = [value["cards"], value["memory_mib"], *processors.values()]
        wrong = not all(isinstance(one, int) and not isinstance(one, bool) and 0 <= one <= _MOST**2 for one in numbers)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _no_node(value) from error
    known = set(processors) <= set(PROCESSORS) and all(map(_DEVICE.fullmatch, devices))
    if wrong or not known or not _is_name(name) or value["cards"] > _MOST_CARDS:
        raise _no_node(value)
    # As many files as cards, or none: slurmd does not start with others.
    if devices and len(set(devices)) != value["cards"]:
        raise _no_node(value)
    return SlurmNode(name, processors, value["cards"], devices, value["memory_mib"])


def _is_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and name.lower() not in _RESERVED


def _no_node(value: object) -> GaudiError:
    return GaudiError(
        f"nodes has {str(value)[:60]!r}, which is not a node from slurm_node_info; pass its results unchanged."
    )
