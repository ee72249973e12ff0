# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""A job is begun on all its nodes or on none: asked of all, started on those that can, undone where too few could.

Nodes are reached through ``ask`` alone, so that the order of things can be tested without any.
"""

from __future__ import annotations

import base64
import binascii
import json
import posixpath
import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Optional

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.worker_group import RUNNING
from ansible_collections.gaudi3.scale.plugins.module_utils._job.clocks import clocks_apart
from ansible_collections.gaudi3.scale.plugins.module_utils._job.supervision import check_count
from ansible_collections.gaudi3.scale.plugins.module_utils._node.screen_text import one_line
from ansible_collections.gaudi3.scale.plugins.plugin_utils._launch.allotment import Chosen, chosen, offer_of
from ansible_collections.gaudi3.scale.plugins.plugin_utils._launch.launch_nodes import launch_nodes
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_questions import Answer, Ask

JOB_MODULE, LOOK_MODULE = "gaudi3.scale.training_job", "gaudi3.scale.training_job_info"
READ_MODULE = "ansible.builtin.slurp"
SUPERVISED, SLURM = "torchrun", "slurm"
# Of what the nodes of a run know and nobody else does.
KEY_BYTES = 32
KEY = re.compile(rf"[0-9a-f]{{{2 * KEY_BYTES}}}")
# What the controller says to each node by itself.
_OF_A_RUN = ("key", "new_key", "controller_time", "allotted")
NOT_ITS_OWN = ("state", "host", "hosts", "supervision", "name", "engine", *_OF_A_RUN)
# So often it is chosen anew where another launch has taken since what was chosen.
MOST_CHOICES = 3


class TakenError(GaudiError):
    """Another launch has taken since what was chosen."""


@dataclass(frozen=True)
class LaunchedJob:
    """A job and its nodes by their names in the inventory. ``options`` are those of training_job beside these, which
    the operator has written with ``prefix``.
    """

    name: str
    hosts: Sequence[str]
    options: Mapping[str, Any]
    engine: str = SUPERVISED
    supervision: Optional[Mapping[str, Any]] = None
    prefix: str = ""

    @property
    def spares(self) -> Sequence[str]:
        return (self.supervision or {}).get("spares") or []

    @property
    def witness(self) -> str:
        return (self.supervision or {}).get("witness") or ""

    @property
    def min_nodes(self) -> int:
        return int((self.supervision or {}).get("min_nodes") or 0)

    @property
    def voters(self) -> list[str]:
        """All that take part in it, as hosts, spares or witness."""
        return [*self.hosts, *self.spares, *filter(None, [self.witness])]

    def check(self) -> None:
        """Refuse what no node has to be asked for; raises GaudiError."""
        if self.supervision is not None:
            check_count(self.voters)

    def arguments(self, state: str, nodes: Sequence[str], **more: Any) -> dict[str, dict[str, Any]]:
        """The options of training_job on each of ``nodes``."""
        whole = {**self.options, "name": self.name, "engine": self.engine, "hosts": list(self.hosts), **more}
        supervised = {} if self.supervision is None else {"supervision": dict(self.supervision)}
        return {node: {**whole, **supervised, "state": state, "host": node} for node in nodes}

    def chosen(self, answers: Mapping[str, Answer], left_out: Mapping[str, str]) -> dict[str, Any]:
        """See :func:`launch_nodes`; raises GaudiError where too few nodes are left."""
        found = launch_nodes(self.hosts, answers, self.spares, self.min_nodes, left_out, self.witness)
        if found["refusal"]:
            was_taken = any(answer.get("taken") is True for answer in answers.values())
            raise (TakenError if was_taken else GaudiError)(f"Job {self.name} was not started. {found['refusal']}")
        return found

    def allotment(self, start: Sequence[str], answers: Mapping[str, Answer]) -> Chosen:
        """The cards and ports of its run; raises GaudiError where the nodes have none in common."""
        # What is not asked of a node, or is a text that its own module reads, is nothing that it offers for.
        ranks = str(self.options.get("processes_per_node", ""))
        names = {name: f"{self.prefix}{name}" for name in ("processes_per_node", "rendezvous_port")}
        offers = [offer_of(node, answers.get(node, {})) for node in start]
        try:
            return chosen(offers, self.spares, int(ranks) if ranks.isdecimal() else 0, names)
        except GaudiError as error:
            raise GaudiError(f"Job {self.name} was not started. {error}") from error


def look(job: LaunchedJob, ask: Ask) -> dict[str, Any]:
    """Which nodes answer, before anything that takes long; raises GaudiError where they are too few."""
    job.check()
    question = {"name": job.name, "log_lines": 0}
    answers = ask(LOOK_MODULE, dict.fromkeys(job.voters, question))
    return job.chosen(answers, {})


def launch(
    job: LaunchedJob,
    ask: Ask,
    show: Callable[[str], None],
    *,
    left_out: Mapping[str, str],
    check_mode: bool,
    clock: Callable[[], float] = time.time,
    secret: Callable[[int], str] = secrets.token_hex,
) -> dict[str, Any]:
    """Begin the job, or join nodes to it where it runs; raises GaudiError where it was not begun.

    ``left_out``: nodes that are known to be away, and why. Returns ``start``, the nodes that it was begun on, the one
    that knows it best first; ``left_out``; and ``answers`` by node.
    """
    job.check()
    for _choice in range(MOST_CHOICES - 1):
        with suppress(TakenError):
            return _launched(job, ask, show, left_out, check_mode, clock, secret)
        show("Another launch has taken what was chosen; choosing again.")
    return _launched(job, ask, show, left_out, check_mode, clock, secret)


def _launched(
    job: LaunchedJob,
    ask: Ask,
    show: Callable[[str], None],
    left_out: Mapping[str, str],
    check_mode: bool,
    clock: Callable[[], float],
    secret: Callable[[int], str],
) -> dict[str, Any]:
    asked = [node for node in job.voters if node not in left_out]
    show(f"Asking {len(asked)} node(s) whether they have what job {job.name} needs.")
    prepared = ask(JOB_MODULE, job.arguments("prepared", asked, controller_time=clock))
    chosen = job.chosen(prepared, left_out)
    for remark, nodes in remarks_of({node: prepared.get(node, {}) for node in chosen["start"]}).items():
        show(f"{', '.join(nodes)}: {remark}")
    offsets = {node: prepared.get(node, {}).get("clock_offset") for node in chosen["start"]}
    apart = clocks_apart({node: offset for node, offset in offsets.items() if isinstance(offset, (int, float))})
    if apart:
        raise GaudiError(apart)
    allotted = job.allotment(chosen["start"], prepared)
    if allotted.left_out:
        chosen = job.chosen(prepared, {**chosen["left_out"], **allotted.left_out})
    for line in allotted.said:
        show(line)
    try:
        begun = _begin(job, ask, show, chosen, allotted.allotment.as_dict(), check_mode, secret)
    except GaudiError:
        _undo(job, ask, show, prepared, check_mode)
        raise
    for node, reason in begun["left_out"].items():
        show(f"Continuing without {node}: {reason}")
    return {**begun, "answers": {**prepared, **begun["answers"]}}


def remarks_of(answers: Mapping[str, Answer]) -> dict[str, list[str]]:
    """Sentence -> the nodes that say it, so that it is read once."""
    found: dict[str, list[str]] = {}
    for node, answer in answers.items():
        remarks = answer.get("remarks")
        for remark in remarks if isinstance(remarks, list) else ():
            found.setdefault(one_line(str(remark)), []).append(node)
    return found


def _begin(
    job: LaunchedJob,
    ask: Ask,
    show: Callable[[str], None],
    chosen: Mapping[str, Any],
    allotted: Mapping[str, Any],
    check_mode: bool,
    secret: Callable[[int], str],
) -> dict[str, Any]:
    """Start it on all at once where no node knows it. Else the one that does says which run it is, and others join."""
    if job.engine != SUPERVISED:
        # Slurm and mpirun reach the others from the first host by themselves.
        answers = ask(JOB_MODULE, job.arguments("started", job.hosts[:1], allotted=allotted))
        return {**job.chosen(answers, chosen["left_out"]), "answers": dict(answers)}
    # All nodes of a run have it, and nobody else; where a node has begun a run already, that one's counts.
    starting = job.arguments("started", chosen["starting"], new_key=secret(KEY_BYTES), allotted=allotted)
    show(f"Starting it on {', '.join(starting)}.")
    answers = dict(ask(JOB_MODULE, starting))
    chosen = job.chosen(answers, chosen["left_out"])
    first = chosen["start"][0]
    if "state" not in answers.get(first, {}):
        # Of a job that others are to join, the node that was asked first may have been left out.
        reported = " ".join(f"{node}: {reason}" for node, reason in chosen["left_out"].items())
        raise GaudiError(f"Job {job.name} was not started. {reported}")
    if chosen["joining"]:
        key = {} if check_mode else {"key": _key_of(job, first, answers[first], ask)}
        show(f"It runs on {first}; joining {', '.join(chosen['joining'])}.")
        answers.update(ask(JOB_MODULE, job.arguments("started", chosen["joining"], allotted=allotted, **key)))
        chosen = job.chosen(answers, chosen["left_out"])
    return {**chosen, "start": sorted(chosen["start"], key=lambda node: node != first), "answers": answers}


def _key_of(job: LaunchedJob, node: str, answer: Answer, ask: Ask) -> str:
    """The secret of the run that ``node`` has; raises GaudiError where it has none."""
    path = posixpath.join(str(answer.get("control_directory")), "supervision.json")
    read = ask(READ_MODULE, {node: {"src": path}})[node]
    try:
        key = str(json.loads(base64.b64decode(read["content"], validate=True))["key"])
    except (KeyError, TypeError, ValueError, binascii.Error):
        key = ""
    if not KEY.fullmatch(key):
        why = str(read.get("msg") or "it has no key")
        raise GaudiError(f"Job {job.name} runs on {node}, and its {path} could not be read: {why}; look at the node.")
    return key


def _undo(
    job: LaunchedJob, ask: Ask, show: Callable[[str], None], prepared: Mapping[str, Answer], check_mode: bool
) -> None:
    """End what was begun. What ran before stays, and Slurm has the whole job or none of it: what its queue has under
    this name may be a job that was not to be touched."""
    begun = [node for node, answer in prepared.items() if answer.get("state") not in (None, RUNNING)]
    if job.engine == SLURM or check_mode or not begun:
        return
    options = {"name": job.name, "state": "stopped"}
    for node, answer in ask(JOB_MODULE, dict.fromkeys(begun, options)).items():
        if "state" not in answer:
            show(f"{node} could not be asked to stop job {job.name}: {answer.get('msg')}")
