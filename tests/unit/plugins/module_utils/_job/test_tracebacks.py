# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Shapes of tracebacks beyond those that were recorded (test_endings), and texts that somebody made up."""

from __future__ import annotations

import time

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._job.agent_table import AgentEntry
from ansible_collections.gaudi3.scale.plugins.module_utils._job.failure import rank_failure
from ansible_collections.gaudi3.scale.plugins.module_utils._job.log_lines import (
    HEADER,
    MOST_LINE,
    cut_middle,
    log_lines,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._job.reported_failure import CAUSE, LOST_PEER
from ansible_collections.gaudi3.scale.plugins.module_utils._job.tracebacks import uncaught

RAISED = f'{HEADER}\n  File "/x/train.py", line 3, in <module>\n    main()\nValueError: bad\n'
LOST = RAISED.replace("ValueError: bad", "RuntimeError: Connection closed by peer [192.0.2.1]:5")
CAUSED = "\nThe above exception was the direct cause of the following exception:\n\n"
WHILE = "\nDuring handling of the above exception, another exception occurred:\n\n"


def of_rank(text):
    return "".join(f"[rank1]: {line}" for line in text.splitlines(keepends=True))


def reason(stderr, exit_code=1):
    failure = rank_failure(AgentEntry(1, 1, exit_code, 1.0, wrote_error=False), None, stderr, "/log")
    return failure.exception, failure.message, failure.echo


@pytest.mark.parametrize(
    ("stderr", "exit_code", "exception", "message"),
    [
        # What follows is no part of it, whether torch marks it or not.
        (f"{RAISED}wandb: Find logs at: x\n", 1, "ValueError", "bad"),
        (of_rank(RAISED) + "closing\n" * 1000, 1, "ValueError", "bad"),
        (f"{of_rank(RAISED)}wandb: syncing\n", -15, "ValueError", "bad; then killed by SIGTERM"),
        # Without the mark a long text after it says that it was caught, and so does any at a signal.
        (RAISED + "step\n" * 1000 + "no data\n", 1, "", "no data"),
        (f"{RAISED}step 4\n", -9, "", "killed by SIGKILL"),
        # A bar and the exception in one line.
        (f" 50%|███  | 1/2 [00:01<00:01, 1it/s]{RAISED}", 1, "ValueError", "bad"),
        (f" 50%|███  | 1/2 [00:01<00:01, 1it/s]{of_rank(RAISED)}", -15, "ValueError", "bad; then killed by SIGTERM"),
        # The last of several that was raised by the program itself.
        (RAISED.replace("bad", "caught") + RAISED, 1, "ValueError", "bad"),
        (RAISED + f"Exception ignored in: <function X.__del__>\n{LOST}", 1, "ValueError", "bad"),
        (RAISED + f"Exception in thread Thread-1 (f):\n{LOST}", 1, "ValueError", "bad"),
        (f"Exception ignored in: <function X.__del__>\n{LOST}no text\n", 1, "", "no text"),
        (f"Exception in thread Thread-1 (f):\n{RAISED}no text\n", 1, "ValueError", "bad"),
        # Stacks that were asked for, and errors that a library logged, before it.
        (
            "Thread 0x1 (most recent call first):\n" + '  File "/x/y.py", line 3 in f\n' * 40 + RAISED,
            1,
            "ValueError",
            "bad",
        ),
        (f"E1128 api.py:1] {HEADER}\nE1128 api.py:1]   File x\n" * 20 + RAISED, 1, "ValueError", "bad"),
        # An abort right behind an exception is of the end that it brought about.
        (f"{RAISED}free(): invalid pointer\n", -6, "ValueError", "bad; then killed by SIGABRT"),
        (f"{RAISED}loss 2\nfree(): invalid pointer\n", -6, "", "free(): invalid pointer; then killed by SIGABRT"),
        # Who asks for what there is not says so last.
        (f"{RAISED}usage: train.py\ntrain.py: error: no such option\n", 2, "", "train.py: error: no such option"),
        # Not the headline of a traceback that was cut off, nor one that begins in a log's line.
        (f"INFO {HEADER}\nValueError: no\nexit\n", 1, "", "exit"),
        (f"done\n{HEADER}\n  File x\n", 1, "", "File x"),
        # A message that begins with the end of a line, one without a type, a type without a message.
        (RAISED.replace(" bad", "\nfield lr"), 1, "ValueError", "field lr"),
        (RAISED.replace("ValueError: bad", "something broke"), 1, "", "something broke"),
        (RAISED.replace(": bad", ""), 1, "ValueError", "train.py, line 3: main()"),
        (RAISED.replace("ValueError", "a.f.<locals>.OddError"), 1, "OddError", "bad"),
        # loguru marks a frame.
        (RAISED.replace("  File", "> File"), 1, "ValueError", "bad"),
        # A level of a log is no exception.
        ("ERROR: no data\n", 1, "", "ERROR: no data"),
        ("Loader: no data\n", 1, "Loader", "no data"),
    ],
)
def test_the_headline(stderr, exit_code, exception, message):
    assert reason(stderr, exit_code)[:2] == (exception, message)


@pytest.mark.parametrize(
    ("stderr", "exception", "message", "echo"),
    [
        (LOST + CAUSED + RAISED, "ValueError", "bad (caused by RuntimeError: Connection", LOST_PEER),
        (LOST + WHILE + RAISED, "ValueError", "bad (while handling RuntimeError: Connection", LOST_PEER),
        # Its own error came first; that it then lost its peers is why nobody may read of that.
        (RAISED + WHILE + LOST, "ValueError", "bad", CAUSE),
        (RAISED + CAUSED + RAISED, "ValueError", "bad", CAUSE),
        # A server of the program's own is no peer.
        (RAISED.replace("ValueError: bad", "ConnectionResetError: Connection reset by peer"), "Conn", "Conn", CAUSE),
        (RAISED.replace("ValueError: bad", "requests.exceptions.X: broken pipe"), "X", "broken", CAUSE),
        # A rank's retries, its own error, and one that says no more than the retries.
        ("retry: Connection reset by peer\n" * 9 + RAISED, "ValueError", "bad", CAUSE),
        ("retry: Connection reset by peer\n", "", "retry", LOST_PEER),
    ],
)
def test_the_echo_is_judged_by_what_was_raised_first(stderr, exception, message, echo):
    found = reason(stderr)
    assert found[0].startswith(exception) and found[1].startswith(message) and found[2] == echo


def test_a_signal_is_a_cause_whatever_was_said_before():
    assert reason("retry: Connection reset by peer\n", -9) == ("", "killed by SIGKILL", CAUSE)


def test_what_is_shown_has_the_exception_and_the_end():
    before = "".join(f"step {number}\n" for number in range(50))
    stderr = before + RAISED + "".join(f"closing {number}\n" for number in range(50))
    lines = rank_failure(AgentEntry(1, 1, 1, 1.0, wrote_error=False), None, stderr, "/log").lines
    assert len(lines) == 15
    assert "ValueError: bad" in lines
    assert lines[-4:] == ("…", "closing 47", "closing 48", "closing 49")


def test_of_a_long_line_the_middle_is_left_out():
    assert cut_middle("a" * 50 + "b" * 50, 40) == "a" * 27 + " … " + "b" * 10
    assert cut_middle("short", 40) == "short"
    (line,) = log_lines("k" * 100_000)
    assert len(line.text) == MOST_LINE
    failure = rank_failure(AgentEntry(1, 1, 1, 1.0, wrote_error=False), None, RAISED[:-1] + "k" * 100_000, "/log")
    assert failure.message.startswith("badkkk") and len(failure.message) <= 600
    assert max(map(len, failure.lines)) <= 400


@pytest.mark.parametrize(
    "text",
    [
        f"{HEADER}\n",
        f"x{HEADER}\n",
        f"    x{HEADER}\n",
        f"{HEADER}\n  File x\n",
        f"[rank1]: {HEADER}\n[rank1]: ValueError: x\n",
        f"  + Exception Group {HEADER}\n",
        f"    | {HEADER}\n    | ValueError: x\n",
        "  +-+---------------- 1 ----------------\n",
        f"╭── {HEADER[:-1]} ──╮\n",
        '  File "x", line 1\n',
        "terminate called after throwing an instance of 'x'\n",
        "Fatal Python error: x\n",
        "Assertion `x' failed\n",
        "a." * 30 + ": x\n",
        " " * 100 + "\n",
        "[rank1]: " * 20 + "\n",
        "\r 10%|",
    ],
)
def test_a_log_of_whatever_is_read_quickly(text):
    stderr = text * (200_000 // len(text))
    begun = time.process_time()
    for exit_code in (1, -6, -15, None):
        uncaught(log_lines(stderr), exit_code)
    rank_failure(AgentEntry(1, 1, -6, 1.0, wrote_error=False), None, stderr, "/log")
    # On a machine with other work a second is a few hundred milliseconds of it; a square takes minutes.
    assert time.process_time() - begun < 10
