# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from ansible_collections.gaudi3.scale.plugins.module_utils._job.agent_table import AgentEntry
from ansible_collections.gaudi3.scale.plugins.module_utils._job.failure import left_early, rank_failure
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.first_error import first_error

RAISED = (
    "Traceback (most recent call last):\n"
    '  File "/opt/train/train.py", line 12, in main\n    raise ValueError("bad")\nValueError: bad\n'
)

WORDS = "".join(f"batch {number}\n" for number in range(7)) + "no batch left\n"


def failed(rank, time=10.0, stderr=RAISED):
    return rank_failure(AgentEntry(rank, 0, 1, time, wrote_error=False), None, stderr, "/log").as_dict()


def test_the_first_of_all_nodes_is_on_top_without_the_lines_of_its_log():
    infos = {
        "n1": {"failure": failed(0, 9.0, "RuntimeError: Connection closed by peer\n")},
        "n2": {"failure": failed(1)},
    }
    assert first_error(infos, "n1") == [
        "rank 1 on n2 failed first: ValueError: bad",
        "In the user's code: train.py, line 12, in main",
        "rank 0 on n1 followed: it lost a peer",
        "The whole log is /log on n2.",
    ]


def test_what_ended_without_an_exception_has_its_last_words():
    left = left_early(rank_failure(AgentEntry(1, 0, 0, 5.0, wrote_error=False), None, WORDS, "/log"))
    assert first_error({"n1": {"failure": left.as_dict()}}, "n1") == [
        "rank 1 on n1 ended with exit status 0 while other ranks ran",
        *[f"    batch {number}" for number in range(3, 7)],
        "    no batch left",
        "The whole log is /log on n1.",
    ]


def test_what_supervisors_agreed_upon_is_said_once():
    info = {"failure": {**failed(1), "host": "n2"}, "supervision": {"outcome": "failed"}}
    said = first_error({"n1": info, "n2": info}, "n1")
    assert said[0] == "rank 1 on n2 failed first: ValueError: bad"
    assert not [line for line in said if "followed" in line]


def test_a_job_that_did_not_fail_has_none():
    assert first_error({"n1": {"failure": None, "supervision": {"outcome": "succeeded"}}}, "n1") == []
    assert first_error({"n1": {}}, "n1") == []
    assert first_error({}, "") == []
