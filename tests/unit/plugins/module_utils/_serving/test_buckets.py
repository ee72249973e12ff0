# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.buckets import (
    Dimension,
    are_given,
    buckets_for,
)


# Of the documentation and the source of vllm-gaudi.
@pytest.mark.parametrize(
    ("dimension", "expected"),
    [
        (Dimension(0, 8, 64, 64, 0), [0, 1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64]),
        (Dimension(0, 8, 64, 64, 50), [0, 1, 2, 4, 8, 16, 32, 64]),
        (Dimension(0, 8, 64, 16, 50), [0, 1, 2, 4, 8, 16, 32, 48, 64]),
        (Dimension(16, 16, 128, 32, 25), [16, 32, 48, 64, 80, 96, 128]),
        (Dimension(1, 2, 1, 1), [1]),
    ],
)
def test_sizes_are_the_plug_in_s(dimension, expected):
    assert list(dimension.sizes()) == expected


def test_they_are_cut_to_what_is_asked_for():
    short, long = buckets_for(512, 8, 2048), buckets_for(32768, 128, 2048)
    assert short.prompt_query.most == 512
    assert short.graphs(512) < long.graphs(32768) / 5
    variables = short.variables()
    assert variables["VLLM_BUCKETING_STRATEGY"] == "pad"
    assert variables["VLLM_PROMPT_QUERY_BUCKET_MAX"] == "512"
    assert variables["VLLM_DECODE_BS_BUCKET_MAX"] == "8"
    assert variables["VLLM_DECODE_BLOCK_BUCKET_MAX"] == "128"


def test_an_operator_s_own_are_left_alone():
    assert are_given({"VLLM_DECODE_BS_BUCKET_MAX": "8"})
    assert are_given({"VLLM_BUCKETING_STRATEGY": "exp"})
    assert not are_given({"OMP_NUM_THREADS": "8"})
