# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The shipped decisions behind what a simulated node needs of them: only this file calls them."""

from __future__ import annotations

from gaudi3_scale.supervisor.decision import advance, begin
from gaudi3_scale.supervisor.generation import Generation
from gaudi3_scale.supervisor.state import Facts, Rules
from gaudi3_scale.supervisor.votes import Votes, first_votes, votes_of
from gaudi3_scale.supervisor.words import tell


class Supervisor:
    """One life of a supervisor. ``disk``: the votes that were kept; None where they are lost."""

    def __init__(self, rules: Rules, incarnation: int, disk: Votes | None, now: float) -> None:
        self._rules = rules
        self.state = begin(rules, incarnation, disk, now)

    def look(self, facts: Facts, messages, now: float):
        self.state, order, events = advance(self.state, self._rules, facts, messages, now)
        return order, events

    def word(self, now: float, asks: bool = False):
        self.state, message = tell(self.state, self._rules, now, asks=asks)
        return message

    @property
    def disk(self) -> Votes:
        """What is durable before anybody hears of it."""
        return votes_of(self.state)

    def votes_on(self, generation: Generation) -> bool:
        """Whether it votes on what comes after ``generation``."""
        return generation.has_vote(self._rules.index, self.state.remembers)

    @property
    def said(self):
        """What the others are told at once when it has changed."""
        state, report = self.state, self.state.report
        return (
            (
                state.committed.number,
                state.promised,
                state.accepted,
                state.interruption,
                state.stop,
                state.gone,
                state.leads,
            ),
            (report.phase, report.fit, report.stuck, report.failure, report.leaving),
        )


def blank_disk(rules: Rules) -> Votes:
    """Of a node on which this launch has begun nothing yet."""
    return first_votes(rules)
