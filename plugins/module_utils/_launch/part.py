# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The cards of a node that a job takes: those that it named, those that were chosen for it, or all.

A launch over several nodes chooses over what each of them offers (``plugin_utils._launch.allotment``); on a node alone
it is done here. What was taken is noted with the run, and holds as long as the job's unit has processes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from .._cards.part import NodeCards, Wanted, choose, refuse_named, refuse_taken
from .._errors import GaudiError
from .._follow.worker_group import RUNNING, WorkerGroup
from .._job.binding.modules import VARIABLE
from .._job.binding.topology import HPU
from .._job.cards_in_use import Asker, claims, node_cards
from .._job.description import SLURM, Allotment
from .._job.network import port_is_free
from .._job.paths import JobPaths
from .._job.plan import DEFAULT_PORT, Job, visible_modules
from .._job.port_holder import holder_of
from .._node.commands import Run

# A pair for each job of one card, as the firewall of gaudi_host has them by default.
PAIRS = 8
_OF_JOB = "job "


@dataclass(frozen=True)
class Part:
    """``modules`` are those that the ranks of this node take; none where that is not known, or no card is a Gaudi.

    ``cards`` None: nothing is to be chosen, since others say which cards, or the driver shows none. ``is_whole``: the
    ranks take all cards. ``is_open``: nobody has said which, so the launch is to choose. ``refusal``: why they cannot
    be had.
    """

    modules: tuple[int, ...] = ()
    cards: NodeCards | None = None
    is_whole: bool = True
    is_open: bool = False
    refusal: GaudiError | None = None


WHOLE = Part()


def as_begun(job: Job, found: WorkerGroup, *, is_kept: bool) -> Job:
    """The job with what was chosen for its run where that goes on, or is ended for one with the same cards."""
    chosen = found.allotted
    if job.allotted != Allotment() or not (is_kept or found.state == RUNNING):
        return job
    modules = () if job.modules or len(chosen.modules) != job.processes_per_node else chosen.modules
    return replace(job, allotted=Allotment(modules, chosen.rendezvous_port if job.may_move else 0))


def part_of(
    job: Job, paths: JobPaths, settings: Mapping[str, str], found: WorkerGroup, run: Run, kernel_root: str
) -> Part:
    """``settings`` are the variables of the job's environment files, ``found`` is its worker group before."""
    if job.device != HPU or job.engine == SLURM or job.is_witness:
        return WHOLE
    cards = node_cards(asker_of(job, paths), run, kernel_root)
    if not cards.modules:
        return WHOLE
    wanted = Wanted(job.processes_per_node, before=found.modules)
    named = "" if job.modules else _of_environment(job, settings)
    is_open = not (job.modules or named) and job.processes_per_node < len(cards.modules)
    try:
        if job.modules and settings.get(VARIABLE):
            raise GaudiError(
                f"modules names {', '.join(map(str, job.modules))}, and the environment files of {job.host} set "
                f"{VARIABLE}={settings[VARIABLE]} too; give one of them."
            )
        if named:
            return _by_environment(named, cards, wanted)
        if job.modules:
            refuse_named(cards, job.modules)
            return Part(job.modules, cards, is_whole=False)
        if is_open and job.part:
            refuse_taken(cards, job.part, wanted)
            return Part(job.part, cards, is_whole=False, is_open=True)
        if is_open:
            return Part(choose([cards], wanted), cards, is_whole=False, is_open=True)
        refuse_taken(cards, cards.modules, wanted)
        return Part(cards.modules, cards)
    except GaudiError as refusal:
        return Part((), cards, is_whole=False, is_open=is_open, refusal=refusal)


def asker_of(job: Job, paths: JobPaths) -> Asker:
    return Asker(job.host, job.name, job.node_rank is None, paths.state_directory)


def _of_environment(job: Job, settings: Mapping[str, str]) -> str:
    return visible_modules(replace(job, allotted=Allotment()), settings).strip()


def _by_environment(named: str, cards: NodeCards, wanted: Wanted) -> Part:
    """What cannot be meant is refused with what else is wrong with the cards (``binding.modules.check_share``)."""
    words = [word.strip() for word in named.split(",")][: wanted.count]
    modules = tuple(int(word) for word in words if word.isdecimal())
    refuse_taken(cards, modules, wanted)
    return Part(modules, cards, is_whole=False)


def allotted(job: Job, part: Part, *, may_choose: bool) -> Job:
    """The job as it is to run with this part. With several nodes it is not for one of them to choose."""
    if part.cards is not None and not part.is_open:
        # Whatever was chosen: its environment says which.
        return replace(job, allotted=replace(job.allotted, modules=()))
    if part.is_open and may_choose and not part.refusal:
        return replace(job, allotted=replace(job.allotted, modules=part.modules))
    return job


def is_alone(job: Job) -> bool:
    """Whether no other node has to have the same cards and ports."""
    return len(job.hosts) == 1 and not job.spares and not job.witness


def refuse_taken_since(job: Job, part: Part, paths: JobPaths, run: Run) -> None:
    """Raises GaudiError, with the fact ``taken``, for what another launch has taken after it was chosen."""
    if part.refusal:
        raise GaudiError(str(part.refusal), taken=True)
    port = job.allotted.rendezvous_port
    others = claims(asker_of(job, paths), run) if port else []
    users = [claim.job for claim in others if claim.port == port]
    if users:
        raise GaudiError(
            f"rendezvous_port {port} was free a moment ago, and is now that of {_OF_JOB}{users[0]}; launch again, or "
            "give this job another port.",
            taken=True,
        )


def offer(job: Job, part: Part, paths: JobPaths, run: Run, *, runs: bool, own_port: int = 0) -> dict[str, object]:
    """What a launch over all nodes chooses from; ``runs``: the job is there, and goes on with what it has. ``own_port``
    is that of a run of it that is to end.
    """
    cards = part.cards if part.is_open and not runs else None
    given: dict[str, object] = {"allotted": job.allotted.as_dict() if runs else {}}
    if cards is not None:
        given["cards"] = {
            "modules": list(cards.modules),
            "taken": {str(module): clause for module, clause in cards.taken.items()},
            "together": [list(one) for one in cards.together],
            "board": cards.board,
            "before": list(part.modules),
        }
    if job.may_move and not runs:
        ports = free_ports(job, paths, run, own_port)
        given["ports"] = ports
        given["port_holder"] = "" if DEFAULT_PORT in ports else port_taken_by(job, paths, run)
    return given


def free_ports(job: Job, paths: JobPaths, run: Run, own_port: int) -> list[int]:
    """The first of each pair that is free, of TCP and the next one of UDP, and that no other job here is to use."""
    theirs = {claim.port for claim in claims(asker_of(job, paths), run)}
    pairs = range(DEFAULT_PORT, DEFAULT_PORT + 2 * PAIRS, 2)
    return [port for port in pairs if port == own_port or (port not in theirs and _are_free(port))]


def _are_free(port: int) -> bool:
    return port_is_free(port) and port_is_free(port + 1, datagrams=True)


def port_taken_by(job: Job, paths: JobPaths, run: Run) -> str:
    """``job a`` for one of ours that has the usual ports; "" where somebody else has, or nobody."""
    for port, datagrams in ((DEFAULT_PORT, False), (DEFAULT_PORT + 1, True)):
        if not port_is_free(port, datagrams=datagrams):
            who = holder_of(port, datagrams=datagrams)
            return who.partition(" (")[0] if who.startswith(_OF_JOB) else ""
    theirs = (claim.job for claim in claims(asker_of(job, paths), run) if claim.port == DEFAULT_PORT)
    return next((f"{_OF_JOB}{name}" for name in theirs), "")
