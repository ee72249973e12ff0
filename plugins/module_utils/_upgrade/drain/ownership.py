# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Who keeps a node out of service, and what may be done about it, as values.

A drain of ours says so in its reason: ``gaudi3_scale: TEXT #DIGEST``. The digest is over the node and the text, so a
reason that a person has changed or copied to another node is not ours any more, whatever it begins with, and nothing
has to be remembered between draining and resuming.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import asdict, dataclass
from typing import Protocol

from ..._errors import GaudiError

MARK = "gaudi3_scale:"
DIGEST_LENGTH = 6

NOBODY, US, OTHER = "nobody", "us", "other"
DRAIN, RESUME, NOTHING = "drain", "resume", "nothing"

# One node: no list, no range, no word that a program would read as an option or a path.
_NODE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Job:
    """A job that is on the node."""

    id: str
    user: str
    name: str


@dataclass(frozen=True)
class NodeService:
    """What the scheduler has of a node. ``blocked``: it gets no new jobs. ``busy``: jobs are still on it."""

    blocked: bool
    drained_by: str
    reason: str
    jobs: tuple[Job, ...] = ()
    busy: bool = False

    @property
    def state(self) -> str:
        """``resumed``, ``draining`` or ``drained``."""
        if not self.blocked:
            return "resumed"
        return "draining" if self.busy else "drained"

    def facts(self, changed: bool) -> dict[str, object]:
        """What the module returns."""
        return {
            "state": self.state,
            "drained_by": self.drained_by,
            "reason": self.reason,
            "jobs": [asdict(job) for job in self.jobs],
            "changed": changed,
        }


IN_SERVICE = NodeService(blocked=False, drained_by=NOBODY, reason="")


class Scheduler(Protocol):
    """What can be asked of a scheduler about one node; each raises a :class:`GaudiError` of one sentence."""

    def observe(self) -> NodeService:
        """The node as it is."""

    def drain(self, reason: str) -> None:
        """Let the node get no new jobs."""

    def resume(self) -> None:
        """Take our drain back."""


def require_node_name(node: str) -> None:
    """Refuse what is not the name of one node: ``node[1-8]`` would drain eight."""
    if not _NODE_NAME.fullmatch(node):
        raise GaudiError(f"{node!r} is not the name of one node; give the name that the scheduler has for it.")


def our_reason(node: str, text: str) -> str:
    """The reason with our mark. Double quotes and line breaks, which schedulers do not keep, are replaced."""
    words = " ".join(text.replace('"', "'").split())
    return f"{MARK} {words} #{_digest(node, words)}"


def is_ours(node: str, reason: str) -> bool:
    """Whether :func:`our_reason` made this reason for this node."""
    words, _mark, digest = reason.removeprefix(MARK).strip().rpartition(" #")
    return reason.startswith(f"{MARK} ") and digest == _digest(node, words)


def _digest(node: str, words: str) -> str:
    return hashlib.sha256(f"{node}\n{words}".encode(errors="replace")).hexdigest()[:DIGEST_LENGTH]


def decide(wanted: str, found: NodeService, only_reason: str = "") -> str:
    """What to do for ``wanted`` (``drained`` or ``resumed``): :data:`DRAIN`, :data:`RESUME` or :data:`NOTHING`.

    What somebody else has drained stays as it is, in either case. A drain of ours is lifted where its text begins with
    ``only_reason``.
    """
    if found.drained_by == OTHER:
        return NOTHING
    if wanted == "drained":
        return NOTHING if found.blocked else DRAIN
    return RESUME if found.drained_by == US and found.reason.startswith(f"{MARK} {only_reason}") else NOTHING


def foresee(action: str, found: NodeService, reason: str) -> NodeService:
    """The node as it will be after ``action``."""
    if action == DRAIN:
        return NodeService(True, US, reason, found.jobs, found.busy)
    if action == RESUME:
        return NodeService(False, NOBODY, "", found.jobs, found.busy)
    return found


def describe_jobs(jobs: tuple[Job, ...]) -> str:
    """``2 jobs: 7 (alice, train), 8 (bob, eval)``."""
    if not jobs:
        return "something that its list of jobs does not show"
    names = ", ".join(f"{job.id} ({job.user}, {job.name})" for job in jobs)
    return f"{len(jobs)} job{'s' if len(jobs) > 1 else ''}: {names}"
