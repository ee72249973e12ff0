# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The first words of a run of the gates and its last: how each ended and why, what was left out, what is proved."""

from __future__ import annotations

from collections.abc import Sequence

from .counting import Counts, reasons
from .gate import FIRST, LONG_RUN, NODES_RUN, Gate, Outcome
from .proved import MOST_COMMITS, Standing
from .runner import NAME_WIDTH, junit_of, log_of, missing

# On two cores of this year, what has to be fetched for .venv apart (docs/performance.md).
TAKES = {FIRST: "a quarter of an hour", NODES_RUN: "an hour", LONG_RUN: "hours"}


def announced(gates: Sequence[Gate], name: str, seed: int, minutes: float) -> str:
    """What is played, how long it takes, and what this machine lacks for some of it; ``name`` is the run's, if any."""
    takes = f", {TAKES[name]} on two cores" if name else ""
    on_nodes = sum(gate.is_root for gate in gates)
    needs = f"; {on_nodes} of them on nodes, which are containers and need root" if on_nodes else ""
    more = f", then some of the long run until {minutes:.0f} minutes are gone" if minutes else ""
    lacks = dict.fromkeys(reason for reason in map(missing, gates) if reason)
    without = f" Left out is what this machine cannot do: {'; '.join(lacks)}." if lacks else ""
    return f"{len(gates)} gates{takes}{needs}{more}. SEED={seed} draws the same rows again.{without}"


def summary(
    outcomes: Sequence[Outcome],
    timing: str,
    standings: Sequence[Standing],
    unsteady: Sequence[str],
    *,
    is_server: bool,
) -> str:
    """Its last line is the sum; on a server a gate that has not held for too long counts as a failure."""
    overdue = [one for one in standings if one.is_overdue] if is_server else []
    total = sum((outcome.counts for outcome in outcomes), Counts(failed=len(overdue)))
    parts = (
        [*map(_row, outcomes), f"{len(outcomes)} gates in {timing}"],
        [
            f"{'of the long run':<{NAME_WIDTH}} {'last held (UTC)':<16} {'on the files':<16} which are",
            *map(Standing.row, standings),
        ],
        ["Tests that held at their second run only, ever (tests/gates/unsteady.json):", *unsteady] if unsteady else [],
        _left_out(outcomes),
        [*_why(outcomes), *map(_overdue, overdue)],
        [str(total)],
    )
    return "\n".join(f"\n{line}" if at == 0 else line for part in parts for at, line in enumerate(part))


def _row(outcome: Outcome) -> str:
    said = "it never held yet" if outcome.is_new else outcome.reason or outcome.counts
    return f"{_name(outcome.gate):<{NAME_WIDTH}} {outcome.verdict:<11} {outcome.seconds:>6.0f} s  {said}"


def _name(gate: Gate) -> str:
    return f"{gate.name} long" if gate.run == LONG_RUN else gate.name


def _left_out(outcomes: Sequence[Outcome]) -> list[str]:
    names = [f"{one.gate.name} ({one.reason})" for one in outcomes if one.verdict == "left out"]
    skipped = sum(one.counts.skipped for one in outcomes)
    inside = f"Left out inside of gates: {skipped} tests; build/test-logs/NAME.log says why."
    return [*([f"Left out: {', '.join(names)}."] if names else []), *([inside] if skipped else [])]


def _why(outcomes: Sequence[Outcome]) -> list[str]:
    return [
        f"{_name(outcome.gate)}: {'passed when run again: ' if outcome.held else ''}{line}"
        for outcome in outcomes
        if outcome.verdict in ("FAILED", "unsteady")
        for line in reasons(junit_of(outcome.gate), log_of(outcome.gate).read_text(errors="replace"))
    ]


def _overdue(one: Standing) -> str:
    return (
        f"{one.gate.name} long: what it covers was changed, and it has not held for {MOST_COMMITS} commits; play it by "
        f"`python -m tests.gates --long {one.gate.name}`, and commit tests/gates/proved.json."
    )
