# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._job.log_lines import HEADER
from ansible_collections.gaudi3.scale.plugins.module_utils._job.rank_logs import (
    ABOUT_BYTES,
    MOST_LINKS,
    PIECE_BYTES,
    SEARCHED_BYTES,
    TAIL_BYTES,
    Exit,
    last_words,
    last_written,
    started_ranks,
    torchrun_failures,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._job.reported_failure import CAUSE, LEFT, LOST_PEER

CAUSED = "\nThe above exception was the direct cause of the following exception:\n\n"
RAISED = f'{HEADER}\n  File "/x/train.py", line 3, in <module>\n    main()\n'
LOST = f"{RAISED}RuntimeError: Connection closed by peer [192.0.2.1]:5\n"
NOTICE = "E1121 09:12:46.979000 1 torch/x.py:1002] failed (exitcode: 1) local_rank: {} (pid: 50) of binary: x\n"
SENT = "W1121 09:12:46.946000 1 torch/x.py:1028] Sending process {} closing signal SIGTERM\n"
TABLE = "rank.py FAILED\n---\nFailures:\n  <NO_OTHER_FAILURES>\n---\nRoot Cause (first observed failure):\n{}===\n"
ENTRY = (
    "[0]:\n  time      : 2026-11-21_09:12:46\n  host      : n1\n  rank      : {} (local_rank: {})\n"
    "  exitcode  : 1 (pid: {}) \n  error_file: <N/A>\n"
)


@pytest.mark.parametrize("size", [TAIL_BYTES, PIECE_BYTES, 3 * PIECE_BYTES + 17])
def test_the_beginning_of_a_long_message_is_found(tmp_path, size):
    log = tmp_path / "stderr.log"
    log.write_text("step\n" * 9 + RAISED + "ValueError: bad " + "k" * size + "\nclosing\n")
    said = last_words(str(log))
    assert "ValueError: bad k" in said and said.endswith("k\nclosing\n")
    assert len(said) <= TAIL_BYTES + 2 * ABOUT_BYTES + 1


@pytest.mark.parametrize("cut", range(0, len(HEADER) + 2, 5))
def test_it_is_found_where_two_pieces_meet(tmp_path, cut):
    log = tmp_path / "stderr.log"
    behind = RAISED.removeprefix(HEADER) + "ValueError: bad "
    # The header begins ``cut`` bytes before a piece.
    log.write_text(HEADER + behind + "k" * (TAIL_BYTES + PIECE_BYTES - len(HEADER) - len(behind) + cut))
    assert last_words(str(log)).startswith(HEADER)


def test_the_first_of_long_exceptions_that_led_to_each_other_is_found(tmp_path):
    log = tmp_path / "stderr.log"
    log.write_text(
        CAUSED.join(f"{RAISED}ValueError: {number} {'k' * (2 * TAIL_BYTES)}\n" for number in range(MOST_LINKS))
    )
    assert all(f"ValueError: {number} kk" in last_words(str(log)) for number in range(MOST_LINKS))


def test_a_log_without_an_exception_is_its_end(tmp_path):
    log = tmp_path / "stderr.log"
    with log.open("wb") as stream:
        stream.write(HEADER.encode())
        # The file has holes, and what is searched has a bound.
        stream.truncate(SEARCHED_BYTES + TAIL_BYTES + PIECE_BYTES)
    assert len(last_words(str(log))) == TAIL_BYTES
    assert last_words(str(tmp_path / "missing")) == ""
    os.mkfifo(tmp_path / "pipe")
    assert last_words(str(tmp_path / "pipe")) == ""


def ranks(place, **stderr):
    for local in range(3):
        (place / str(local)).mkdir()
        (place / f"{local}/stderr.log").write_text(stderr.get(f"rank{local}", ""))
    return str(place)


def first_of(agent_log, attempt, **seen):
    first = torchrun_failures(agent_log, attempt, 8, **seen)[0]
    return first.rank, first.echo, first.message


def test_who_is_not_in_the_table_and_was_told_nothing_has_left(tmp_path):
    attempt = ranks(tmp_path, rank0=LOST)
    log = SENT.format(52) + TABLE.format(ENTRY.format(8, 0, 50))
    said = "ended with exit status 0 while other ranks ran"
    assert first_of(TABLE.format(ENTRY.format(8, 0, 50)), attempt) == (9, LEFT, said)
    # One of the two was told to end, and ended well.
    assert first_of(log, attempt) == (9, LEFT, f"or rank 10 {said}")
    assert first_of(SENT.format(51) + log, attempt)[:2] == (8, LOST_PEER)


def test_what_was_seen_of_ranks_is_known_better(tmp_path):
    attempt = ranks(tmp_path, rank0=LOST, rank2=f"{RAISED}ValueError: bad\n")
    agent_log = NOTICE.format(0)
    seen = {1: Exit(1e9, True, 40), 2: Exit(2e9, False)}
    # The agent has named one rank of two that failed at once.
    assert first_of(agent_log, attempt, gone=seen) == (10, CAUSE, "bad")
    rank, echo, message = first_of(agent_log, attempt, gone={1: seen[1]})
    assert (rank, echo) == (9, LEFT) and message.endswith(" after step 40 while other ranks ran")
    # How it ended is not known, before the table is there.
    assert first_of(agent_log, attempt, gone={1: Exit(1e9, False)})[:2] == (8, LOST_PEER)
    assert first_of(TABLE.format(ENTRY.format(8, 0, 50)), attempt, gone={1: Exit(1e9, False)})[:2] == (9, LEFT)


def test_a_rank_that_says_nothing_as_an_error_has_said_it_elsewhere(tmp_path):
    attempt = ranks(tmp_path)
    (tmp_path / "0/stdout.log").write_text("no data left\n")
    (first,) = torchrun_failures(NOTICE.format(0), attempt, gone={})
    assert (first.message, first.path) == ("no data left", str(tmp_path / "0/stdout.log"))


def test_only_what_is_a_rank_is_one(tmp_path):
    ranks(tmp_path)
    for name in ("3x", "99999999999999999999"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "stderr.log").touch()
    assert started_ranks(str(tmp_path)) == [0, 1, 2]
    assert last_written(str(tmp_path), 7) == 0.0
