# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A hundred failures of jobs (tests/scripted_failures): what is named first, why, and where in the user's code."""

from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._job.failure_kinds import LIES, kind_of_exception, last_step
from ansible_collections.gaudi3.scale.plugins.module_utils._job.reported_failure import failure_sentence
from ansible_collections.gaudi3.scale.plugins.module_utils._job.tracebacks import Raised

from tests.scripted_failures.answers import answer, is_right
from tests.scripted_failures.cases import CASES
from tests.scripted_failures.written import write

# Of a terminal.
SCREEN_LINES = 24


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_first_real_error_is_on_one_screen(case, tmp_path):
    found = answer(case, write(case, tmp_path))
    assert found is not None
    host, failure = found
    assert is_right(case, host, failure) == []
    screen = failure_sentence(host, failure).splitlines()
    assert len(screen) <= SCREEN_LINES
    if failure["at"]:
        assert f"In the user's code: {case.expected.frame}" in screen
    if case.expected.row:
        assert sum(line.startswith("Cause: ") and " Remedy: " in line for line in screen) == 1
    followed = [line for line in failure["others"] if " followed" in line]
    assert followed == failure["others"]
    assert len(set(followed)) == len(followed)


def test_there_are_a_hundred():
    assert len(CASES) == len({case.name for case in CASES}) == 100


def test_each_of_many_that_followed_is_counted(tmp_path):
    (case,) = [case for case in CASES if case.name == "eight_ranks_a_node"]
    host, failure = answer(case, write(case, tmp_path))
    assert len(failure["others"]) == 15
    assert failure["others"][0] == "rank 0 on node1 followed: it lost a peer"
    screen = failure_sentence(host, failure).splitlines()
    assert [line for line in screen if "followed" in line][-1] == "12 more followed"


@pytest.mark.parametrize(
    ("name", "message", "kind"),
    [
        ("ValueError", "timeout must be positive", "exception"),
        ("TypeError", "main() got an unexpected keyword argument 'timeout'", "exception"),
        ("RuntimeError", "the bucket timed out", "server"),
        ("requests.exceptions.ReadTimeout", "x", "server"),
        ("socket.gaierror", "[Errno -3] Temporary failure in name resolution", "server"),
        ("RuntimeError", "synStatus=synStatus 41 [Unheard of]", "device"),
        ("OSError", "[Errno 24] Too many open files", "storage"),
        ("ValueError", "finance is no field", "exception"),
        ("RuntimeError", "probability tensor contains either `inf`, `nan` or element < 0", "nan"),
        ("MemoryError", "", "memory"),
    ],
)
def test_what_kind_an_exception_is(name, message, kind):
    assert kind_of_exception([Raised(name, message)])[0] == kind
    assert kind in LIES


@pytest.mark.parametrize(
    ("lines", "step"),
    [
        (["step 40 loss 2", "step: 41 loss nan", "see the log"], 41),
        (["global_step=7"], 7),
        (["epoch 1/3 | 17/200 [00:01<00:09]"], 17),
        (["steps", "no figure"], None),
    ],
)
def test_the_last_step_of_a_log(lines, step):
    assert last_step(lines) == step
