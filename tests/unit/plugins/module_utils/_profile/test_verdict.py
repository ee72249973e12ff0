# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which causes are said of which records, with which share, and when nothing is said."""

from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._profile.lines import verdict_data, verdict_lines
from ansible_collections.gaudi3.scale.plugins.module_utils._profile.records import Link, RankRecord
from ansible_collections.gaudi3.scale.plugins.module_utils._profile.trace_summary import TraceSummary
from ansible_collections.gaudi3.scale.plugins.module_utils._profile.verdict import judge

from tests.unit.plugins.module_utils._profile.made_records import all_ranks, ranks


def said(records, traces=None) -> dict[str, int]:
    """Word to per cent."""
    verdict = judge(records, traces)
    assert not verdict.missing
    return {cause.word: round(100 * cause.share) for cause in verdict.causes}


def trace(gap: float = 0.002, moved: float = 0.005, events: int = 1000) -> TraceSummary:
    """Of three steps."""
    computed, communication = 0.08, 0.01
    seconds = gap + moved + computed + communication + 0.002
    three = [3 * part for part in (seconds, 0.002, communication, moved, computed, gap)]
    return TraceSummary(3, *three, False, events, (), (("aten::copy_", 0.1),))


@pytest.mark.parametrize("count", [1, 2, 4, 16])
def test_sound_ranks_are_compute_bound(count):
    assert set(said(ranks(count))) == {"compute"}


@pytest.mark.parametrize("exchange", [0.0, 0.010])
def test_a_little_of_everything_is_no_cause(exchange):
    few = {0: {"backward": 0.006}, 3: {"data": 0.006}}
    assert set(said(ranks(4, more=few, exchange=exchange))) == {"compute"}


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (all_ranks(4, data=0.1), {"data": 51}),
        (all_ranks(4, compile=0.1), {"compile": 50}),
        ({2: {"backward": 0.05}}, {"slow rank": 33}),
        ({2: {"data": 0.05}}, {"slow rank": 33}),
        ({2: {"backward": 0.05}, 3: {"backward": 0.06}}, {"slow node": 31}),
    ],
)
def test_a_single_cause_is_said_with_its_share(more, expected):
    assert said(ranks(4, more=more)) == expected


def test_a_slow_exchange_is_all_ranks_waiting():
    assert said(ranks(4, exchange=0.1)) == {"communication": 53}


@pytest.mark.parametrize("count", [2, 4])
def test_a_slow_rank_and_slow_data_are_both_said(count):
    more = {rank: {"data": 0.1, "backward": 0.05 if rank == 1 else 0.0} for rank in range(count)}
    assert said(ranks(count, more=more)) == {"data": 41, "slow rank": 20}


def test_a_slow_rank_beside_a_slow_node_is_named_beside_it():
    verdict = judge(ranks(4, more={0: {"forward": 0.04}, 2: {"backward": 0.06}, 3: {"backward": 0.06}}))
    assert [(cause.word, cause.ranks, cause.node) for cause in verdict.causes] == [
        ("slow node", (2, 3), "n1"),
        ("slow rank", (0,), "n0"),
    ]


def test_a_slow_rank_on_a_slow_node_is_named_too():
    verdict = judge(ranks(4, more={2: {"backward": 0.06}, 3: {"backward": 0.12}}))
    assert [(cause.word, cause.ranks) for cause in verdict.causes] == [("slow node", (2, 3)), ("slow rank", (3,))]
    assert [round(cause.share, 2) for cause in verdict.causes] == [0.27, 0.27]


def test_ranks_that_differ_evenly_are_of_a_busy_host_and_none_is_slow():
    uneven = {1: {"forward": 0.004}, 2: {"forward": 0.008}, 3: {"forward": 0.012}}
    assert set(said(ranks(4, more=uneven))) == {"compute"}
    assert set(said(ranks(4, more={**uneven, 3: {"forward": 0.020}}))) == {"slow rank"}


@pytest.mark.parametrize(("seconds", "word"), [(0.012, "compute"), (0.030, "slow rank")])
def test_a_tenth_of_a_step_alone_is_no_slow_rank(seconds, word):
    assert set(said(ranks(4, more={1: {"forward": seconds}}))) == {word}


def test_a_rank_that_waits_for_a_processor_is_not_slow_but_told_of():
    more = {2: {"forward": 0.05}}
    assert set(said(ranks(4, more=more, queued={2: 0.05}))) == {"compute"}
    (told,) = [note for note in judge(ranks(4, more=more, queued={2: 0.05})).notes if "processor" in note]
    assert told.startswith("rank 2 on n1 waited 50.0 ms a step for a processor of its host; end what else runs there")
    # What is its own stays.
    slow = {2: {"forward": 0.1}}
    assert set(said(ranks(4, more=slow, queued={2: 0.05}))) == {"slow rank"}
    assert not [note for note in judge(ranks(4, queued={1: 0.005})).notes if "processor" in note]


def test_the_rank_its_node_and_the_part_are_named():
    cause = judge(ranks(4, more={1: {"backward": 0.05}})).causes[0]
    assert (cause.ranks, cause.node, cause.part) == ((1,), "n0", "backward")
    assert "rank 1 on n0: 50.0 ms a step more than a rank without a fault, most of it in backward" in cause.evidence
    assert "--limit n0" in cause.next


def test_a_rank_that_was_late_in_a_few_steps_is_not_named():
    assert set(said(ranks(4, more={1: {"backward": 0.2}}, every=5))) == {"compute"}


def test_one_accident_is_left_out():
    assert set(said(ranks(4, more=all_ranks(4, data=5.0), every=20))) == {"compute"}


def test_a_slow_link_is_told_from_a_slow_network():
    def links(rank):
        return [Link((rank - 1) % 4, 0.010 if rank == 2 else 0.001 if rank == 0 else 0.0001)]

    verdict = judge(ranks(4, exchange=0.1, links=links))
    assert [(cause.word, cause.ranks) for cause in verdict.causes] == [("slow link", (1, 2))]
    assert (
        "rank 1 (n0) to rank 2 (n1): 10.0 ms, 10.0 times the fastest link between nodes" in verdict.causes[0].evidence
    )
    # Links between nodes that are alike are slower than those within one, which is no fault.
    equal = judge(ranks(4, exchange=0.1, links=lambda rank: [Link((rank - 1) % 4, 0.001 if rank % 2 else 0.01)]))
    assert [cause.word for cause in equal.causes] == ["communication"]


def test_gaps_of_a_trace_are_the_hosts():
    records = ranks(4, more=all_ranks(4, forward=0.06), traced=3)
    found = said(records, {0: trace(gap=0.062)})
    assert found == {"host": 39}
    # Without the trace nobody knows what the time of a forward pass went into.
    assert set(said(records)) == {"compute"}


def test_gaps_that_tracing_made_are_nobodys():
    assert set(said(ranks(4, traced=3), {0: trace(gap=0.062, events=20_000)})) == {"compute"}


def test_gaps_of_a_slow_rank_are_its_own():
    records = ranks(4, more={0: {"backward": 0.06}}, traced=3)
    assert said(records, {0: trace(gap=0.062)}) == {"slow rank": 38}


def test_moved_bytes_are_memory():
    records = ranks(4, more=all_ranks(4, forward=0.06), traced=3)
    verdict = judge(records, {0: trace(moved=0.065)})
    assert [(cause.word, round(cause.share, 2)) for cause in verdict.causes] == [("memory", 0.41)]
    assert "aten::copy_" in verdict.causes[0].evidence


def test_a_card_that_is_still_at_work_does_not_wait_for_its_host():
    records = [
        RankRecord(**{**vars(one), "steps": tuple(type(step)(**{**vars(step), "drain": 0.02}) for step in one.steps)})
        for one in ranks(4, more=all_ranks(4, forward=0.06), traced=3)
    ]
    assert set(said(records, {0: trace(gap=0.062)})) == {"compute"}


@pytest.mark.parametrize(
    ("records", "missing"),
    [
        ([], "no rank has written a profile"),
        (ranks(4, steps=4), "4 steps without a trace are common to all ranks, 5 are needed"),
        (ranks(4, steps=8, traced=7), "1 step without a trace are common"),
        (ranks(8)[:4], "4 of 8 ranks have a profile; gather those of all nodes"),
    ],
)
def test_not_enough_seen_is_an_answer(records, missing):
    verdict = judge(records)
    assert verdict.causes == ()
    assert missing in verdict.missing
    assert verdict_lines(verdict)[0].startswith("Not enough seen: ")


def test_where_nothing_tells_of_waiting_it_is_said():
    verdict = judge(ranks(4, more={1: {"backward": 0.05}}, knows=False))
    assert [cause.word for cause in verdict.causes] == ["compute"]
    assert any("a rank slow in backward, and links, are not seen" in note for note in verdict.notes)
    # What it does before it needs another rank is known all the same.
    assert said(ranks(4, more={1: {"data": 0.05}}, knows=False)) == {"slow rank": 33}


def test_full_memory_is_noted():
    full = [RankRecord(**{**vars(one), "memory_peak": 97, "memory_limit": 100}) for one in ranks(1)]
    assert "rank 0 on n0: memory is full to 97%" in judge(full).notes


def test_as_lines_and_as_data():
    verdict = judge(ranks(2, more={1: {"backward": 0.05}}))
    lines = verdict_lines(verdict)
    assert lines[0] == "19 steps of 150.0 ms, 2 of 2 ranks"
    assert lines[1].startswith(" 33%  a slow rank")
    assert lines[3].startswith("      next: ansible-playbook gaudi3.scale.verify --limit n1")
    data = verdict_data(verdict)
    assert data["causes"][0]["ranks"] == [1]
    assert set(data) == {"causes", "steps", "seconds", "ranks", "world_size", "missing", "notes"}
