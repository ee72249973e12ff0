# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from dataclasses import replace

import pytest

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.supervisor.decision import begin
from gaudi3_scale.supervisor.generation import RUN, Generation
from gaudi3_scale.supervisor.state import Rules
from gaudi3_scale.supervisor.vote_file import keep_votes, read_votes
from gaudi3_scale.supervisor.votes import Votes, first_votes, votes_of

RULES = Rules(names=("a", "b", "c", "w"), hosts=2, index=1, witness=3)
KEPT = Votes(
    incarnation=1700000000123,
    remembers=7,
    committed=Generation(4, RUN, ((0, 5), None), witness=(3, 9), step=12, grown=(1, 1), reason="b was lost"),
    promised=(3, 2),
    accepted=((2, 0), Generation(5, RUN, ((0, 5), (2, 8)), witness=(3, 9))),
)


def test_what_is_kept_is_read_again(tmp_path):
    path = str(tmp_path / "votes.json")
    keep_votes(path, "launch", KEPT)
    assert read_votes(path, "launch", RULES) == KEPT
    keep_votes(path, "launch", replace(KEPT, accepted=None))
    assert read_votes(path, "launch", RULES) == replace(KEPT, accepted=None)
    assert [place.name for place in tmp_path.iterdir()] == ["votes.json"]


def test_the_launch_begins_with_none(tmp_path):
    path = tmp_path / "votes.json"
    path.write_text('{"launch": "launch"}\n')
    assert read_votes(str(path), "launch", RULES) == first_votes(RULES)
    state = begin(RULES, 5, first_votes(RULES), 0.0)
    assert (state.remembers, state.committed.has_vote(1, 0), state.committed.has_vote(3, 0)) == (0, True, True)
    assert votes_of(state) == replace(first_votes(RULES), incarnation=5)


def test_a_file_of_another_run_is_refused(tmp_path):
    path = tmp_path / "votes.json"
    keep_votes(str(path), "other", KEPT)
    with pytest.raises(GaudiError, match=r"votes.json belongs to another run of this job; launch the job again\.$"):
        read_votes(str(path), "launch", RULES)


@pytest.mark.parametrize(
    "change",
    [
        None,
        "",
        "[]",
        "[" * 100000,
        {"promised": [1]},
        {"promised": "x"},
        {"accepted": [1]},
        {"accepted": {}},
        {"committed": [1]},
        {"incarnation": -1},
        {"remembers": 1.5},
    ],
)
def test_votes_that_are_lost_are_not_made_up(tmp_path, change):
    path = tmp_path / "votes.json"
    if isinstance(change, str):
        path.write_text(change)
    elif change is not None:
        keep_votes(str(path), "launch", KEPT)
        path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    assert read_votes(str(path), "launch", RULES) is None
    state = begin(RULES, 11, None, 0.0)
    # It has no vote on what others may have agreed upon with it before.
    assert not state.committed.has_vote(1, state.remembers)
    assert Generation(1, RUN, ((1, 11),)).has_vote(1, state.remembers)
