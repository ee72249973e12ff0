# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils.supervisor.generation import (
    ANY,
    RUN,
    WAIT,
    Generation,
    first_generation,
)
from ansible_collections.gaudi3.scale.plugins.module_utils.supervisor.messages import (
    Halt,
    Message,
    Report,
    decode,
    encode,
    launch_of,
    short_failure,
)

KEY = bytes(range(32))
# Milliseconds since 1970, as incarnations are.
STARTED = 1795302442153


def generation_of(hosts, number=3):
    places = tuple((index, STARTED + 977 * index) for index in range(hosts))
    told = {"restarts": 2, "early_failures": 1, "has_run": True, "left_out": (4,)}
    return Generation(number, RUN, places, reason="rank 3 on n1 failed first: killed", **told)


def message_of(hosts=4, **values):
    return Message(
        **{
            "index": 1,
            "incarnation": STARTED,
            "sequence": 7,
            "committed": generation_of(hosts),
            "promised": (2, 1),
            "accepted": None,
            "heard": (0.4, None, *(index / 10 for index in range(2, hosts))),
            "report": Report("running", True, steps=(12, None), busy=(0.1, None), step_age=1.5),
            **values,
        }
    )


@pytest.mark.parametrize(
    "message",
    [
        message_of(),
        message_of(accepted=((2, 1), generation_of(4, 4))),
        message_of(halt=Halt(3, "hang", 2, "no step for 9 s"), stop=True, voter=False),
        message_of(committed=first_generation(4), promised=(0, -1), report=Report()),
        message_of(report=Report("gone", False, "a card is missing", True, failure={"rank": 3}, failure_age=2.5)),
    ],
)
def test_what_is_sent_is_what_comes(message):
    assert decode(encode(message, KEY), KEY) == message


def test_only_what_carries_the_key_is_a_message():
    datagram = encode(message_of(), KEY)
    assert decode(datagram, bytes(32)) is None
    assert decode(datagram[:-1], KEY) is None
    assert decode(bytes([datagram[0] ^ 1]) + datagram[1:], KEY) is None
    assert decode(b"", KEY) is None


def test_a_message_of_72_nodes_fits_into_one_frame():
    """1500 bytes of Ethernet, less the headers of IPv6 and UDP."""
    heard = tuple(index % 13 / 10 for index in range(72))
    report = Report("running", True, steps=(123456,) * 8, busy=(0.123, 0.124) * 4, step_age=0.321)
    quiet = message_of(64, heard=heard, report=report)
    assert len(encode(quiet, KEY)) < 1452
    # One that votes, and tells of a failure with all its lines, may take a few.
    failure = short_failure({"message": "m" * 5000, "lines": [f"{n} " + "x" * 3000 for n in range(99)], "path": "/p"})
    busy = replace(quiet, accepted=((5, 3), generation_of(64)), report=replace(report, failure=failure))
    assert len(encode(busy, KEY)) < 8000


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
