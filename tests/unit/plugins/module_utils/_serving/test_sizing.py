# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.sizing import (
    refuse_architecture,
    refuse_cards,
    shape_of,
    size_of,
)

from .conftest import CONFIG

GAUDI2, GAUDI3 = 98304, 131072
LLAMA_8B = shape_of("x", CONFIG, 16_060_522_496)


def size(shape=LLAMA_8B, **others):
    told = {"cards": 1, "hbm_mib": GAUDI3, "max_model_len": 4352, "max_num_seqs": 0, "flags": {}, "environment": {}}
    return size_of("instances: chat", shape, **{**told, **others})


def test_the_sum_of_an_8b_model_is_the_vendor_s():
    found = size()
    # 128 - 2 - 14.96 = 111.04; 1 - 3/111.04 = 0.97 in use; 0.9 of that; 2*4352*32*128*8*2 bytes a request.
    assert found.sums[0] == (
        "128.00 GiB of a card - 2.00 unavailable - 14.96 of weights = 111.04 usable; x 0.97 in use x 0.90 without "
        "graphs = 96.94 GiB for the KV cache"
    )
    assert found.sums[1].endswith("= 0.5312 GiB a request, so that 182 fit")
    assert (found.max_num_seqs, found.max_model_len) == (160, 4352)
    assert size(hbm_mib=GAUDI2).max_num_seqs == 128


@pytest.mark.parametrize(("cards", "heads", "fits"), [(2, 4, 389), (8, 1, 1631)])
def test_heads_are_shared_among_cards(cards, heads, fits):
    assert f"{heads} heads of 128" in size(cards=cards).sums[1]
    assert size(cards=cards).sums[1].endswith(f"{fits} fit")


def test_half_the_bytes_hold_twice_the_requests():
    assert size(flags={"kv-cache-dtype": "fp8_inc"}).sums[1].endswith("364 fit")
    assert (
        size(environment={"VLLM_GRAPH_RESERVED_MEM": "0.4"})
        .sums[0]
        .endswith("0.60 without graphs = 64.63 GiB for the KV cache")
    )
    assert size(flags={"gpu-memory-utilization": 0.5}).utilization == 0.5


def test_lengths_are_whole_blocks_and_never_more_than_the_model_knows():
    assert size(max_model_len=4000).max_model_len == 4096
    assert size(replace(LLAMA_8B, positions=200), max_model_len=0).max_model_len == 200


@pytest.mark.parametrize(
    ("others", "sentence"),
    [
        ({"max_num_seqs": 500}, "max_num_seqs is 500, and 128.00 GiB of a card - 2.00 unavailable - 14.96 of weights"),
        (
            {"max_model_len": 131072, "max_num_seqs": 8},
            "2 (K and V) x 131072 tokens x 32 layers x 8 heads of 128 x 2 bytes",
        ),
        ({"max_model_len": 200000}, "max_model_len is 200000, and the model knows 131072 positions"),
    ],
)
def test_what_goes_beyond_the_memory_is_refused_with_the_sum(others, sentence):
    with pytest.raises(GaudiError) as refused:
        size(**others)
    assert sentence in str(refused.value)


def test_a_model_that_is_larger_than_its_cards_fits_no_request():
    with pytest.raises(GaudiError, match="not one request of 4352 tokens fits") as refused:
        size(replace(LLAMA_8B, weight_bytes=140 << 30))
    assert len(refused.value.facts["sum"]) == 2


@pytest.mark.parametrize(
    ("cards", "sentence"),
    [
        (3, "3 cards do not divide the 32 attention heads of the model; use 1, 2, 4, 8, 16, 32 cards"),
        (5, "5 cards do not divide"),
    ],
)
def test_cards_that_do_not_divide_the_heads_are_refused(cards, sentence):
    with pytest.raises(GaudiError, match=sentence):
        refuse_cards("instances: chat", LLAMA_8B, cards)
    with pytest.raises(GaudiError, match="6 cards do not divide the 8 key and value heads"):
        refuse_cards("instances: chat", replace(LLAMA_8B, heads=48), 6)


def test_an_architecture_that_vllm_does_not_have_is_refused():
    ours = replace(LLAMA_8B, architectures=("Gaudi3ScaleGPT",))
    with pytest.raises(GaudiError, match="vLLM has no architecture Gaudi3ScaleGPT"):
        refuse_architecture("instances: chat", ours, {})
    refuse_architecture("instances: chat", ours, {"model-impl": "transformers"})
    refuse_architecture("instances: chat", LLAMA_8B, {})


def test_a_gpt2_says_it_in_its_own_words_and_a_checkpoint_says_nothing():
    found = shape_of(
        "x", {"architectures": ["GPT2LMHeadModel"], "n_layer": 2, "n_head": 4, "n_embd": 64, "n_positions": 256}, 1
    )
    assert (found.layers, found.heads, found.kv_heads, found.head_dim, found.positions) == (2, 4, 4, 16, 256)
    with pytest.raises(GaudiError, match="does not say how many layers and heads"):
        shape_of("instances: chat", {"width": 64}, 1)
