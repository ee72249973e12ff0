# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""The cards and ports of a job's run, alike on all of its nodes, by what each of them offers; pure.

A node offers nothing where there is nothing to choose: the job has whole nodes, or somebody has said which cards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Optional

from ansible_collections.gaudi3.scale.plugins.module_utils._cards.part import NodeCards, Wanted, choose, modules_text
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._job.description import Allotment, allotment_from
from ansible_collections.gaudi3.scale.plugins.module_utils._job.plan import DEFAULT_PORT
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import (
    by_name,
    maybe,
    record,
    said,
    several,
    taken,
    whole,
    word,
)

# More cards and ports than any node has.
_MOST = 1024
_MODULE, _PORT = whole(0, _MOST), whole(0, 65535)
_MODULES = several(_MODULE, _MOST)
_CARDS = record(
    {
        "modules": _MODULES,
        "taken": by_name(said, _MOST),
        "together": several(_MODULES, _MOST),
        "board": word,
        "before": _MODULES,
    }
)
_OFFER = record(
    {},
    {
        "allotted": record({}, {"modules": _MODULES, "rendezvous_port": _PORT}),
        "cards": maybe(_CARDS),
        "ports": maybe(several(_PORT, _MOST)),
        "port_holder": maybe(said),
    },
)


@dataclass(frozen=True)
class Offer:
    """What a node said. ``running``: what the job has there. ``ports`` None: its ports are not to be chosen."""

    host: str
    running: Allotment = field(default_factory=Allotment)
    cards: Optional[NodeCards] = None
    before: tuple[int, ...] = ()
    ports: Optional[Sequence[int]] = None
    port_holder: str = ""


@dataclass(frozen=True)
class Chosen:
    """``left_out``: the spares that have not what the others take, and why. ``said`` is for the screen."""

    allotment: Allotment = field(default_factory=Allotment)
    left_out: Mapping[str, str] = field(default_factory=dict)
    said: Sequence[str] = ()


def offer_of(host: str, answer: Mapping[str, Any]) -> Offer:
    """By what the node answered; raises GaudiError for what no node of ours says."""
    given = taken(host, "training_job", partial(_known, _OFFER), answer.get("offer") or {})
    cards = given.get("cards")
    known = None
    if cards:
        held = {int(module): clause for module, clause in cards["taken"].items() if module.isdecimal()}
        together = tuple(tuple(one) for one in cards["together"])
        known = NodeCards(host, tuple(cards["modules"]), held, together, cards["board"])
    return Offer(
        host,
        allotment_from(given.get("allotted")),
        known,
        tuple(cards["before"]) if cards else (),
        given.get("ports"),
        given.get("port_holder") or "",
    )


def _known(kind: Any, value: Any, name: str) -> dict[str, Any]:
    found: dict[str, Any] = kind(value, name)
    return found


def chosen(offers: Sequence[Offer], spares: Sequence[str], ranks: int, options: Mapping[str, str]) -> Chosen:
    """What a run of so many ``ranks`` on each of the nodes takes; raises GaudiError where there is no such thing.

    Where the job runs on one of them, it is what it has there. ``options`` are the names of the options
    ``processes_per_node`` and ``rendezvous_port`` as the operator writes them.
    """
    running = next((one.running for one in offers if one.running != Allotment()), None)
    if running:
        return Chosen(running)
    port, said_of_port = _port(offers, options["rendezvous_port"])
    offering = [one for one in offers if one.cards is not None]
    if not offering:
        return Chosen(Allotment((), port), said=said_of_port)
    modules, left_out = _modules(offering, spares, Wanted(ranks, options["processes_per_node"], offering[0].before))
    where = "on each of its nodes" if len(offering) > 1 else f"on {offering[0].host}"
    return Chosen(Allotment(modules, port), left_out, [f"It takes {modules_text(modules)} {where}.", *said_of_port])


def _modules(
    offering: Sequence[Offer], spares: Sequence[str], wanted: Wanted
) -> tuple[tuple[int, ...], dict[str, str]]:
    """Those that all have free; else those that all but the spares have."""
    every = [one.cards for one in offering if one.cards is not None]
    hosts = [cards for cards in every if cards.host not in spares] or every
    try:
        return choose(every, wanted), {}
    except GaudiError:
        if len(hosts) == len(every):
            raise
    modules = choose(hosts, wanted)
    without = [cards for cards in every if cards.host in spares and not set(modules) <= set(cards.free)]
    return modules, {
        cards.host: f"{modules_text(modules)}, which the job takes on each node, are not all free there"
        for cards in without
    }


def _port(offers: Sequence[Offer], option: str) -> tuple[int, list[str]]:
    """The rendezvous port, 0 where it is not for a launch to choose; and what there is to say of it."""
    lists = [one.ports for one in offers if one.ports is not None]
    if not lists:
        return 0, []
    free = next((port for port in lists[0] if all(port in one for one in lists[1:])), None)
    if free is None:
        raise GaudiError(
            f"{option} is {DEFAULT_PORT}, which another job has, and none of the next ports is free on all nodes; give "
            "one that is."
        )
    if free == DEFAULT_PORT:
        return free, []
    holder = next((one for one in offers if one.port_holder), None)
    who = f"{holder.port_holder} has port {DEFAULT_PORT} on {holder.host}" if holder else "others have its usual ports"
    return free, [f"It meets at port {free} (and {free + 1}), since {who}."]
