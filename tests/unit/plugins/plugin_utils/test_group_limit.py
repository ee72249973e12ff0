# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What real ranks said when something was over: their patience with others is a limit, and a device that did not answer
its driver is a fault. Texts are as the threads have them, shortened.
"""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_limit import (
    Late,
    Limits,
    Measured,
    evidence,
    late_of,
    spoke_of_itself,
)

LIMITS = Limits(300, "group", "start")
PATIENCE = {
    "OpenRLHF/OpenRLHF#1040": (
        "DistStoreError",
        "Timed out after 1801 seconds waiting for clients. 1/3 clients joined.",
    ),
    "alibaba/Pai-Megatron-Patch#468": ("DistStoreError", "Socket Timeout"),
    "facebookresearch/metaseq#52": (
        "RuntimeError",
        "Timed out initializing process group in store based barrier on rank: 4330 (world_size=2048, timeout=0:30:00)",
    ),
    "facebookresearch/detectron2#5121": (
        "RuntimeError",
        "[../gloo/transport/tcp/unbound_buffer.cc:136] Timed out waiting 1800000ms for send operation to complete",
    ),
    "sehoffmann/dmlcloud#47": (
        "RuntimeError",
        "Gloo connectFullMesh failed with [../third_party/gloo/gloo/transport/tcp/pair.h:301] Connect timeout [none]",
    ),
    "pytorch/gloo#148": ("RuntimeError", "Wait timeout"),
}
FAULTS = {
    "HabanaAI/Setup_and_Install#1": ("RuntimeError", "CPU-CP timeout"),
    "Purfview/whisper-standalone-win#411": ("RuntimeError", "CUDA error: the launch timed out and was terminated"),
    "sgl-project/sglang#3226": (
        "RuntimeError",
        "Gloo connectFullMesh failed with [../third_party/gloo/gloo/transport/tcp/pair.cc:144] no error",
    ),
    "a wrong card": (
        "GaudiError",
        "the card of rank 1 computes wrongly: 3 of 4 elements are wrong; have it inspected.",
    ),
}


def failed(said: tuple[str, str], echo: int = 0) -> dict[str, Any]:
    return {"state": "failed", "failure": {"exception": said[0], "message": said[1], "echo": echo}}


@pytest.mark.parametrize("thread", PATIENCE)
def test_patience_with_other_ranks_is_a_limit(thread: str) -> None:
    answer = failed(PATIENCE[thread])
    assert not spoke_of_itself(answer["failure"])
    late = late_of(("a", "b"), {"a": answer, "b": {"state": "running"}}, 60, LIMITS)
    assert late is not None and PATIENCE[thread][1][:40] in late.sentence("job")


@pytest.mark.parametrize("thread", FAULTS)
def test_what_a_rank_says_of_its_device_is_a_fault(thread: str) -> None:
    answer = failed(FAULTS[thread])
    assert spoke_of_itself(answer["failure"])
    assert late_of(("a", "b"), {"a": answer, "b": {"state": "running"}}, 60, LIMITS) is None


def test_ranks_that_lost_each_other_have_said_so() -> None:
    lost = failed(("RuntimeError", "Connection closed by peer"), echo=1)
    assert not spoke_of_itself(lost["failure"])
    assert late_of(("a", "b"), {"a": lost, "b": lost}, 60, LIMITS) is None


def test_a_group_that_ended_well_is_not_late() -> None:
    assert late_of(("a",), {"a": {"state": "succeeded"}}, 60, LIMITS) is None


@pytest.mark.parametrize("reached", [None, [], "measuring", {}, {"measuring": "8"}, {"started": 7}])
def test_ranks_of_which_it_is_not_known_whether_they_started_are_told_as_that(reached: object) -> None:
    answer = {"state": "running", "reached": reached, "description": {"processes_per_node": 8}}
    late = late_of(("a",), {"a": answer}, 60, LIMITS)
    assert late is not None
    assert ("did not report" in late.sentence("job")) is not isinstance(reached, dict)
    assert (late.option, late.seconds) == (("start", 300) if isinstance(reached, dict) else ("group", 60))


def hung(*nodes: str, stage: str = "measuring", seconds: float = 100.0) -> Measured:
    return Measured(nodes, None, Late(dict.fromkeys(nodes, stage), seconds, "group"))


@pytest.mark.parametrize(
    ("measured", "found"),
    [
        # A quarter of the limit, for more than half of them.
        ([hung("a"), Measured(("b",), 25.0, None), Measured(("c",), 25.0, None)], [True, False, False]),
        ([hung("a"), Measured(("b",), 26.0, None), Measured(("c",), 25.0, None)], [False, False, False]),
        ([hung("a"), hung("b"), Measured(("c",), 5.0, None), Measured(("d",), 5.0, None)], [False] * 4),
        # One of its nodes was quick with another.
        ([hung("a", "b"), hung("c", "d"), Measured(("b", "e"), 5.0, None)], [True, False, False]),
        # It had not started, and nobody knows that it can.
        ([hung("a", "b", stage="not started"), Measured(("b", "c"), 5.0, None)], [False, False]),
        (
            [hung("a", "b", stage="not started"), Measured(("b", "c"), 5.0, None), hung("a", "d")],
            [True, False, False],
        ),
        # Of one, of two, of none.
        ([hung("a")], [False]),
        ([hung("a"), Measured(("b",), 1.0, None)], [False, False]),
        ([], []),
    ],
)
def test_a_limit_is_evidence_by_comparison_alone(measured: list[Measured], found: list[bool]) -> None:
    assert evidence(measured) == found


def test_an_answer_that_did_not_come_is_never_evidence() -> None:
    silent = Measured(("a",), None, Late({}, 100.0, "group", {"a": "no answer within 300 s"}))
    assert evidence([silent, Measured(("b",), 1.0, None), Measured(("c",), 1.0, None)]) == [False] * 3
