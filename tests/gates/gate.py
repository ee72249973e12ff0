# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a gate is, and how one ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .counting import Counts

# The runs, each with all of the one before: for whoever has just cloned, for a change that lands, and all.
FIRST, NODES_RUN, LONG_RUN = "first", "nodes", "long"
# A lane has its own gates first, and then whatever no other has taken.
ANY_LANE = "any"


@dataclass(frozen=True)
class Gate:
    """A command that must exit 0. ``needs`` names gates without whose success it cannot say anything: one that is
    chosen alone brings them. ``after`` names others that it waits for where they are chosen, too.

    Gates of one ``lane`` run one after the other, those of different lanes beside each other; ``ANY_LANE`` is one more,
    in whose gates the others help when their own are done. ``undo`` removes what the
    gate leaves on this machine, or would leave if it were interrupted. ``failed_again`` runs what failed, and nothing
    else; where there is none, all of the gate is run a second time. ``run``: the smallest run that plays it.
    ``programs``: what it starts of this machine's, beside what scripts/setup installs into .venv; ``processor``: what
    /proc/cpuinfo has to name; ``is_root``: only root can. ``covers``: git's pathspecs of what it proves, where it is
    recorded (``proved.py``). ``long_form``: the same with every row, from nodes of a known state on. ``variables`` are
    added to its environment.
    """

    name: str
    checks: str
    commands: tuple[tuple[str, ...], ...]
    needs: tuple[str, ...] = ()
    limit: float = 900
    lane: str = "checkout"
    undo: tuple[str, ...] = ()
    failed_again: tuple[tuple[str, ...], ...] = ()
    run: str = FIRST
    after: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    processor: tuple[str, ...] = ()
    is_root: bool = False
    is_last: bool = False
    covers: tuple[str, ...] = ()
    long_form: Gate | None = None
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """How one gate ended. ``verdict``: ``ok``, ``unsteady``, ``FAILED``, ``not run``, ``left out``, ``interrupted``, or
    ``no time`` for one of the long run that a server could not wait for. ``reason`` says why one did not run.
    ``is_new``: it is played in the time that was left, and has no record of ever having held.
    """

    gate: Gate
    verdict: str
    counts: Counts
    seconds: float = 0.0
    reason: str = ""
    is_new: bool = False

    @property
    def held(self) -> bool:
        """Maybe at its second run only."""
        return self.verdict in ("ok", "unsteady")

    @property
    def is_fault(self) -> bool:
        """Whether the run of all of them has failed by it."""
        # What never held is no fault of this change: it is shown, and overdue once the record is old enough.
        return not (self.held or self.is_new) and self.verdict not in ("left out", "no time")
