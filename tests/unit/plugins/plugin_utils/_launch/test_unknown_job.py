# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._launch.unknown_job import stopped_line, unknown_job


def absent(*jobs):
    return {"state": "absent", "jobs": list(jobs)}


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (
            {"n1": absent("llama", "books"), "n2": absent("llama")},
            "lama: no host has such a job; did you mean llama?",
        ),
        ({"n1": absent("llama-2", "llama")}, "lama: no host has such a job; did you mean llama or llama-2?"),
        ({"n1": absent("books"), "n2": absent("tune-x")}, "lama: no host has such a job; there are books, tune-x."),
        (
            {"n1": absent(*(f"job{n:02}" for n in range(10)))},
            "lama: no host has such a job; there are " + ", ".join(f"job{n:02}" for n in range(8)) + " and 2 more.",
        ),
        (
            {"n1": absent()},
            "lama: no host has such a job; there is none on these hosts: give the hosts that it was launched on.",
        ),
        (
            {"n1": absent("llama"), "n2": {"unreachable": True}, "n3": {"failed": True, "msg": "x"}},
            "lama: no host that answers (n2, n3 did not) has such a job; did you mean llama?",
        ),
        # A node may say anything.
        (
            {"n1": {"state": "absent", "jobs": ["{{ x }}", "\x1b[2J", 5, "llama"]}},
            "lama: no host has such a job; did you mean llama?",
        ),
        (
            {"n1": {"state": "absent", "jobs": "llama"}},
            "lama: no host has such a job; there is none on these hosts: give the hosts that it was launched on.",
        ),
        # It is known somewhere, whatever it came to; or nobody answered, which is said elsewhere.
        ({"n1": absent("llama"), "n2": {"state": "stopped"}}, ""),
        ({"n1": {"state": "succeeded"}, "n2": {}}, ""),
        ({"n1": {"unreachable": True}, "n2": "nothing"}, ""),
        ({}, ""),
    ],
)
def test_a_name_that_no_node_knows_is_refused_once_with_those_that_are_near(answers, said):
    assert unknown_job("lama", answers, "gaudi_training_name") == (said and f"gaudi_training_name {said}")


def test_what_ended_where_is_one_line() -> None:
    answers = {"n1": {"state": "stopped"}, "n2": absent(), "n3": {}}
    resumed = "Launch it again to resume from its last checkpoint."
    assert stopped_line("llama", answers) == f"Job llama has ended on n1; no answer from n3. {resumed}"
    assert (
        stopped_line("llama", {"n3": None}) == f"Job llama runs on no node that answered; no answer from n3. {resumed}"
    )
