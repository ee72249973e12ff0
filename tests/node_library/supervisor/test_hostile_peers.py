# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What peers with the key send that nobody of this program says: no decision raises by it, and nothing grows."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

from gaudi3_scale.core._job.agent_table import AgentEntry
from gaudi3_scale.core._job.failure import rank_failure
from gaudi3_scale.supervisor.datagram import Decoder, encode
from gaudi3_scale.supervisor.decision import advance, begin
from gaudi3_scale.supervisor.events import MOST_REPORTED
from gaudi3_scale.supervisor.generation import END
from gaudi3_scale.supervisor.loop import status_of
from gaudi3_scale.supervisor.messages import Message, Report
from gaudi3_scale.supervisor.pieces import PIECE_BYTES
from gaudi3_scale.supervisor.state import Facts, Rules
from gaudi3_scale.supervisor.view import heard
from gaudi3_scale.supervisor.votes import first_votes
from gaudi3_scale.supervisor.words import tell
from hostile_messages import (
    FAILURE,
    KEY,
    MESSAGES,
    NAMES,
    NODES,
    STARTED,
    generation,
    message,
    understood,
    with_each_value,
    with_many_values,
    with_missing_and_unknown,
)

RULES = Rules(NAMES, 3, 0, 2, hang_timeout=30.0, straggler_ratio=1.5, start_timeout=60.0, exclude_stragglers=True)


def hear(*messages: Message) -> None:
    """A node that runs its worker group hears them, and goes on through all that follows."""
    state = begin(RULES, STARTED, first_votes(RULES), 0.0)
    state = replace(state, committed=generation(1), changed=0.0)
    facts = Facts(1, True, reports=True, steps=(5, 6), busy=(0.1, 0.1), step_age=40.0, fit=None)
    for now in (1.0, 2.0, 20.0, 60.0):
        state, order, _events = advance(state, RULES, facts, messages if now < 3 else (), now)
        if order.end:
            facts = replace(facts, alive=False, rank_died=True, failure=FAILURE, fit=True)
        state, reported = tell(state, RULES, now)
        assert max(map(len, encode(reported, KEY))) <= PIECE_BYTES
        json.dumps(status_of(state, RULES, "x", now).reason)


@pytest.mark.parametrize("one", MESSAGES, ids=range(len(MESSAGES)))
def test_what_peers_say_rightly_is_heard(one: Message) -> None:
    hear(understood(encode(one, KEY)))


@pytest.mark.parametrize("one", MESSAGES, ids=range(len(MESSAGES)))
def test_each_value_may_be_any_other(one: Message) -> None:
    for datagrams in with_each_value(one):
        found = understood(datagrams)
        if found is not None:
            hear(found)


def test_values_may_be_missing_and_unknown_ones_there() -> None:
    for datagrams in with_missing_and_unknown(MESSAGES[0]):
        found = understood(datagrams)
        if found is not None:
            hear(found)


def test_many_values_may_change_at_once() -> None:
    for datagrams in with_many_values(random.Random(29501), 700):
        found = understood(datagrams)
        if isinstance(found, Message):
            hear(found)


def test_however_they_come_again_the_newest_counts() -> None:
    chance = random.Random(3)
    sent = [message(sequence=sequence, stop=False) for sequence in range(20)]
    for _round in range(200):
        peers = {}
        came = chance.choices(sent, k=30)
        for now, one in enumerate(came):
            peers = heard(peers, one, None, float(now))
        newest = max(one.sequence for one in came)
        assert peers[1].message.sequence == newest
        # A replay does not make a peer look alive.
        assert peers[1].received == next(now for now, one in enumerate(came) if one.sequence == newest)


def test_a_peer_that_tells_something_new_each_time_fills_no_memory() -> None:
    state = replace(begin(RULES, STARTED, first_votes(RULES), 0.0), committed=generation(1))
    noted = 0
    for number in range(2 * MOST_REPORTED):
        report = Report("gone", False, f"card {number}", failure={**FAILURE, "message": f"no {number}"})
        one = message(sequence=number, report=report, accepted=None, interruption=None)
        state, _order, events = advance(state, RULES, Facts(1, True), [one], 1.0)
        noted += len(events)
    assert len(state.reported) <= MOST_REPORTED + 10
    assert noted <= MOST_REPORTED + 10


@pytest.mark.parametrize("alphabet", ["ascii", "astral", "control"])
def test_an_error_file_of_any_size_is_told_in_pieces(alphabet: str) -> None:
    chance = random.Random(5)
    ranges = {"ascii": (33, 126), "astral": (0x1F300, 0x1FAFF), "control": (0, 31)}
    text = "".join(chr(chance.randint(*ranges[alphabet])) for _char in range(120_000))
    error = json.dumps({"message": {"message": f"X{'y' * 60_000}: {text}"}})
    entry = AgentEntry(3, 1, 1, 1795302442.0, wrote_error=True)
    failure = rank_failure(entry, error, text.replace("\n", " "), "/" + text[:4000]).as_dict()
    worst = generation(2, END, outcome="failed", failure=failure, reason=text)
    report = Report("gone", False, text, failure=failure, failure_age=1.0)
    datagrams = encode(message(committed=worst, accepted=((2, 1), worst), report=report), KEY)
    assert max(map(len, datagrams)) <= PIECE_BYTES
    decoder = Decoder(KEY, NODES)
    _ping, found = (said for said in map(decoder.take, datagrams) if said is not None)
    assert found.report.failure["rank"] == 3
    assert text.startswith(found.report.unfit) and found.report.unfit
    hear(found)
