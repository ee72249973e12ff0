# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import hmac
import random
import zlib
from dataclasses import replace

import pytest

from gaudi3_scale.core._job.supervision import launch_of
from gaudi3_scale.supervisor.datagram import Decoder, encode
from gaudi3_scale.supervisor.generation import ANY, END, RUN, WAIT, Generation, first_generation
from gaudi3_scale.supervisor.messages import Interruption, Message, Ping, Report, short_failure
from gaudi3_scale.supervisor.pieces import DIGEST_BYTES, MOST_BYTES, MOST_PIECES, PIECE_BYTES, PROTOCOL

KEY = bytes(range(32))
NODES = 5
FAILURE = {"rank": 3, "echo": 0, "exception": "ValueError", "message": "m", "lines": ["a", "b"], "path": "/p"}
# Milliseconds since 1970, as incarnations are.
STARTED = 1795302442153
# Characters: letters, what JSON writes as twelve, and what it writes as six.
ALPHABETS = {"ascii": (33, 126), "astral": (0x1F300, 0x1FAFF), "control": (0, 31)}


def generation_of(hosts, number=3, **values):
    places = tuple((index, STARTED + 977 * index) for index in range(hosts))
    reported = {"restarts": 2, "early_failures": 1, "has_run": True, "left_out": (4,), **values}
    return Generation(number, RUN, places, reason="rank 3 on n1 failed first: killed", **reported)


def message_of(hosts=4, nodes=NODES, **values):
    return Message(
        **{
            "index": 1,
            "incarnation": STARTED,
            "sequence": 7,
            "committed": generation_of(hosts),
            "promised": (2, 1),
            "accepted": None,
            "acks": (None, (STARTED, 7), *((STARTED + 977 * index, 6 + index) for index in range(2, nodes))),
            "links": (0.4, None, *(index / 10 for index in range(2, nodes))),
            "report": Report("running", True, steps=(12, None), busy=(0.1, None), step_age=1.5),
            **values,
        }
    )


def ping_of(message, **values):
    said = {name: getattr(message, name) for name in ("index", "incarnation", "sequence", "acks", "links", "asks")}
    return Ping(**{**said, **values})


def steady(hosts, chance, spares=0):
    """What a node of a job that has run for three days says: nodes began within seconds and count differently."""
    nodes = hosts + spares
    incarnations = [STARTED + chance.randrange(8000) for _node in range(nodes)]
    sequences = [86400 * 3 + chance.randrange(6000) for _node in range(nodes)]
    return Message(
        index=1,
        incarnation=incarnations[1],
        sequence=sequences[1],
        committed=replace(generation_of(hosts), places=tuple(enumerate(incarnations[:hosts])), step=120_000),
        promised=(0, -1),
        accepted=None,
        acks=tuple(zip(incarnations, sequences)),
        links=tuple(chance.randrange(12) / 10 for _node in range(nodes)),
        report=Report(
            "running",
            True,
            steps=(123456,) * 8,
            busy=tuple(round(0.4 + chance.random() / 100, 6) for _rank in range(8)),
            step_age=round(chance.random(), 6),
        ),
        leads=hosts + 1,
    )


def failure_of(text, chance):
    """One of the largest size, with nothing twice."""

    def part(length):
        start = chance.randrange(len(text) - length)
        return text[start : start + length]

    texts = {name: part(5000) for name in ("exception", "message", "path", "host")}
    numbers = {"rank": 511, "local_rank": 7, "exit_code": -9, "time": 1795302442.531, "echo": 0}
    return short_failure({**numbers, **texts, "lines": [part(3000) for _line in range(99)]})


def text_of(alphabet, chance):
    return "".join(chr(chance.randint(*ALPHABETS[alphabet])) for _character in range(60_000))


def come(datagrams, nodes, key=KEY):
    """All that is understood of them, in turn."""
    decoder = Decoder(key, nodes)
    found = [decoder.take(datagram) for datagram in datagrams]
    return [said for said in found if said is not None]


@pytest.mark.parametrize(
    "message",
    [
        message_of(),
        message_of(accepted=((2, 1), generation_of(4, 4))),
        message_of(interruption=Interruption(3, "hang", 2, "no step for 9 s"), stop=True, asks=True, remembers=STARTED),
        message_of(committed=first_generation(4), promised=(0, -1), report=Report()),
        message_of(report=Report("gone", False, "a card is missing", True, failure=FAILURE, failure_age=2.5)),
        message_of(committed=generation_of(4, witness=(4, STARTED + 4)), gone=frozenset({0, 3}), leads=NODES + 1),
        # Acknowledged are an earlier life of a member, a node that runs nothing, and one that is ahead by far.
        message_of(3, acks=((STARTED - 9, 2**40), None, (STARTED + 1954, 0), (STARTED + 5, 8), (1, 2**53))),
        message_of(acks=(None,) * NODES, links=(None,) * NODES),
        ping_of(message_of()),
        ping_of(message_of(), acks=(None,) * NODES, asks=True),
    ],
)
def test_what_is_sent_is_what_comes(message):
    assert come(encode(message, KEY), NODES) == [message]


def test_only_what_carries_the_key_is_a_message():
    (datagram,) = encode(message_of(), KEY)
    for other in (datagram[:-1], bytes([datagram[0] ^ 1]) + datagram[1:], b""):
        assert come([other], NODES) == []
    assert come([datagram], NODES, bytes(32)) == []


def test_another_protocol_is_no_message():
    for datagram in (*encode(message_of(), KEY), *encode(ping_of(message_of()), KEY)):
        said = datagram[DIGEST_BYTES:]
        assert said[0] == PROTOCOL
        for version in (0, PROTOCOL + 1, 255):
            other = bytes([version]) + said[1:]
            # Neither with a signature of its own, nor with that of this version.
            assert come([hmac.digest(KEY, other, "sha256") + other], NODES) == []
            assert come([datagram[:DIGEST_BYTES] + other], NODES) == []


@pytest.mark.parametrize(("hosts", "spares", "most"), [(8, 0, 400), (64, 0, 900), (64, 8, 1000)])
def test_a_steady_job_needs_one_datagram_a_message(hosts, spares, most):
    chance = random.Random(hosts)
    for _time in range(20):
        message = steady(hosts, chance, spares)
        (datagram,) = encode(message, KEY)
        assert len(datagram) < most < PIECE_BYTES
        assert come([datagram], hosts + spares) == [message]


def test_before_the_first_generation_it_is_one_datagram_too():
    """It names no incarnations, so acknowledgments do."""
    message = replace(steady(64, random.Random(1)), committed=first_generation(64), sequence=9, leads=0)
    message = replace(message, acks=tuple((incarnation, 12) for incarnation, _sequence in message.acks))
    (datagram,) = encode(message, KEY)
    assert come([datagram], 64) == [message]


def largest(text, chance):
    """A vote on the end of a job of 64 nodes that cuts nothing short yet."""
    message = steady(64, chance)
    end = {"kind": END, "outcome": "failed", "reason": text[:5000]}
    committed = replace(message.committed, failure=failure_of(text, chance), **end)
    accepted = replace(message.committed, number=4, failure=failure_of(text, chance), **end)
    report = replace(message.report, unfit=text[:1000], failure=failure_of(text, chance), failure_age=0.5)
    return replace(
        message,
        committed=committed,
        accepted=((5, 3), accepted),
        report=report,
        interruption=Interruption(3, "hang", 2, text[-5000:]),
        gone=frozenset(range(64)),
    )


@pytest.mark.parametrize("alphabet", ALPHABETS)
def test_what_is_long_comes_in_pieces_that_no_network_cuts(alphabet):
    chance = random.Random(5)
    text = text_of(alphabet, chance)
    message = largest(text, chance)
    datagrams = encode(message, KEY)
    assert 2 < len(datagrams) <= 1 + MOST_PIECES
    assert max(map(len, datagrams)) <= PIECE_BYTES
    ping, whole = come(datagrams, 64)
    assert ping == ping_of(message)
    assert (whole.sequence, whole.acks, whole.gone) == (message.sequence, message.acks, message.gone)
    assert whole.report.failure["rank"] == 511 and whole.report.unfit and text.startswith(whole.report.unfit)
    assert whole.accepted[1].failure["lines"] and text.startswith(whole.accepted[1].reason)


def test_a_failure_of_the_largest_size_is_not_cut():
    chance = random.Random(6)
    message = steady(64, chance)
    failure = failure_of(text_of("ascii", chance), chance)
    message = replace(message, report=replace(message.report, failure=failure))
    assert come(encode(message, KEY), 64) == [ping_of(message), message]


def test_a_ping_is_short_whatever_it_acknowledges():
    """Numbers of ten years, and ages of an hour, of which no two are alike."""
    chance = random.Random(7)
    acks = tuple((STARTED + chance.randrange(10 * 365 * 86_400_000), chance.randrange(10**9)) for _node in range(64))
    ping = Ping(1, STARTED, 10**9, acks, tuple(chance.randrange(36_000) / 10 for _node in range(64)))
    (datagram,) = encode(ping, KEY)
    assert len(datagram) <= MOST_BYTES
    assert come([datagram], 64) == [ping]


@pytest.fixture
def long():
    chance = random.Random(8)
    return largest(text_of("ascii", chance), chance)


def test_pieces_come_in_any_order_and_again(long):
    chance = random.Random(9)
    for _round in range(20):
        _ping, *pieces = encode(long, KEY)
        again = [*pieces, *chance.choices(pieces, k=20)]
        chance.shuffle(again)
        (found,) = come(again, 64)
        assert (found.sequence, found.gone) == (long.sequence, long.gone)


def test_a_piece_that_is_lost_is_made_up_by_the_next_message(long):
    _ping, *pieces = encode(long, KEY)
    _ping, *later = encode(replace(long, sequence=long.sequence + 1), KEY)
    for lost in range(len(pieces)):
        rest = pieces[:lost] + pieces[lost + 1 :]
        assert come(rest, 64) == []
        (found,) = come([*rest, *later], 64)
        assert found.sequence == long.sequence + 1


def test_pieces_of_two_messages_make_none(long):
    _ping, *pieces = encode(long, KEY)
    for other in (
        replace(long, sequence=long.sequence + 1),
        replace(long, incarnation=long.incarnation + 1),
        replace(long, index=2),
    ):
        _ping, *theirs = encode(other, KEY)
        assert come([*pieces[:3], *theirs[3:]], 64) == []


def test_the_pieces_of_the_newest_message_are_kept_and_no_others(long):
    _ping, *pieces = encode(long, KEY)
    _ping, *later = encode(replace(long, sequence=long.sequence + 1), KEY)
    (found,) = come([*pieces[:-1], later[0], pieces[-1], *later[1:]], 64)
    assert found.sequence == long.sequence + 1
    # One that was started again counts from the beginning.
    _ping, *anew = encode(replace(long, incarnation=long.incarnation + 1, sequence=1), KEY)
    (found,) = come([*later[:-1], anew[0], later[-1], *anew[1:]], 64)
    assert (found.incarnation, found.sequence) == (long.incarnation + 1, 1)


def test_messages_of_several_nodes_are_put_together_side_by_side(long):
    sent = [encode(replace(long, index=index), KEY)[1:] for index in range(64)]
    woven = [piece for pieces in zip(*sent) for piece in pieces]
    assert [message.index for message in come(woven, 64)] == list(range(64))


def test_generations_that_are_equal_are_one_object():
    chance = random.Random(1)
    one = steady(64, chance)
    datagrams = [encode(replace(one, index=index, sequence=index), KEY)[0] for index in range(64)]
    found = come(datagrams, 64)
    assert len({id(message.committed) for message in found}) == 1
    assert found[-1].committed == one.committed


def test_the_launch_is_named_without_its_key():
    assert launch_of(KEY) != launch_of(bytes(32))
    assert KEY.hex() not in launch_of(KEY)


@pytest.mark.parametrize(
    ("members", "voters", "expected"),
    [
        (4, {0, 1, 2}, True),
        (4, {1, 2, 3}, True),
        (4, {0, 3}, True),
        (4, {1, 2}, False),
        (4, {0}, False),
        (3, {1, 2}, True),
        (3, {0}, False),
        (1, {0}, True),
        (2, {0}, True),
        (2, {1}, False),
        (2, {1, 7, 8}, False),
    ],
)
def test_a_quorum_is_a_majority_or_half_with_the_first(members, voters, expected):
    assert generation_of(members).is_quorum(voters) is expected


def test_the_first_question_is_for_all_hosts_whatever_their_incarnation():
    first = first_generation(3)
    assert (first.kind, first.members) == (WAIT, ((0, ANY), (1, ANY), (2, ANY)))
    assert first.has(2, STARTED) and not first.has(3, STARTED)
    assert generation_of(3).has(0, STARTED) and not generation_of(3).has(0, STARTED + 1)


def test_what_came_before_or_is_older_is_not_looked_into(monkeypatch):
    decoder = Decoder(KEY, NODES)
    sent = [encode(message_of(sequence=sequence), KEY)[0] for sequence in range(5)]
    pings = [encode(ping_of(message_of(sequence=sequence)), KEY)[0] for sequence in range(5)]
    # A ping goes before the message of its number, and may come after it.
    assert decoder.take(sent[3]).sequence == decoder.take(pings[3]).sequence == 3
    looked = []
    monkeypatch.setattr(zlib, "decompressobj", lambda: looked.append(1))
    assert [decoder.take(one) for one in (*sent[:4], *pings[:4])] == [None] * 8
    monkeypatch.undo()
    assert not looked
    assert decoder.take(sent[4]).sequence == decoder.take(pings[4]).sequence == 4
    # One that was started again counts from the beginning.
    assert decoder.take(encode(message_of(incarnation=STARTED + 1, sequence=0), KEY)[0]).sequence == 0


def test_what_is_no_message_keeps_none_away():
    decoder = Decoder(KEY, NODES)
    assert decoder.take(encode(message_of(sequence=9, leads=NODES + 2), KEY)[0]) is None
    assert decoder.take(encode(message_of(sequence=8), KEY)[0]).sequence == 8
