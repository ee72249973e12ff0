# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.warm_up import (
    WarmUp,
    read_warm_up,
    reason_of,
    remaining_seconds,
)

LOG = [
    "INFO [Warmup][Prompt][1/24] batch_size:4 seq_len:1024 free_mem:79.16 GiB",
    "INFO [Warmup][Prompt][24/24] batch_size:1 seq_len:128 free_mem:55.43 GiB",
    "INFO [Warmup][Decode][6/48] batch_size:4 num_blocks:128 free_mem:55.43 GiB",
]


def test_the_last_line_says_how_far_it_is():
    assert read_warm_up(LOG[:1]).text == "warm-up Prompt 1/24"
    assert read_warm_up(LOG) == WarmUp("Decode", 6, 48)
    assert (
        read_warm_up([*LOG, "INFO Warmup finished in 49 secs, allocated 14.19 GiB"]).text == "warm-up finished in 49 s"
    )
    assert read_warm_up(["INFO loading"]).text == "starting"


def test_what_is_left_follows_from_the_pace():
    assert remaining_seconds(WarmUp("Decode", 6, 48), WarmUp("Decode", 12, 48), 3.0) == 18.0
    assert remaining_seconds(WarmUp("Prompt", 6, 24), WarmUp("Decode", 12, 48), 3.0) is None
    assert remaining_seconds(WarmUp("Decode", 6, 48), WarmUp("Decode", 6, 48), 3.0) is None


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            ["usage: vllm", "vllm: error: unrecognized arguments: --foo", "", "exit"],
            "vllm: error: unrecognized arguments: --foo",
        ),
        (
            ["  File x", "RuntimeError: synStatus=8 Device acquire failed."],
            "RuntimeError: synStatus=8 Device acquire failed",
        ),
        (
            ["gaudi3_scale: model /x is refused: a is missing; serve another.", "Failed"],
            "gaudi3_scale: model /x is refused: a is missing; serve another",
        ),
        (["it just ended"], "it just ended"),
        ([], "no message"),
    ],
)
def test_the_reason_of_an_end_is_its_last_error(lines, expected):
    assert reason_of(lines) == expected
