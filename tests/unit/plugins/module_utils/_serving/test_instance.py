# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.instance import (
    Model,
    parse_instance,
    parse_instances,
)

CHAT = {"name": "chat", "model": "llama@production", "cards": 2, "port": 8000}


def test_what_is_written_is_what_is_meant():
    found = parse_instance({**CHAT, "flags": {"enable_prefix_caching": False}, "environment": {"OMP_NUM_THREADS": 8}})
    assert (found.model, found.count, found.address, found.is_local) == (
        Model("llama", "production"),
        2,
        "127.0.0.1",
        True,
    )
    assert (found.flags, found.environment) == ({"enable-prefix-caching": False}, {"OMP_NUM_THREADS": "8"})
    assert parse_instance({**CHAT, "model": "/srv/exports/llama-7b"}).model.served_name == "llama-7b"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"name": "Chat 1"}, "'Chat 1' is not a valid name; use 1 to 40 lower-case"),
        ({"name": "../x"}, "is not a valid name"),
        ({"model": "llama"}, "give NAME@ALIAS or NAME@VERSION of the registry"),
        ({"model": "llama@"}, "give NAME@ALIAS"),
        ({"model": "/srv/../etc"}, "give a plain absolute path"),
        ({"cards": 0}, "neither cards nor modules is given"),
        ({"cards": 2, "modules": [1]}, "cards is 2 and modules names 1"),
        ({"cards": 0, "modules": [1, 1]}, "modules names a card twice"),
        ({"port": 0}, "port is 0, which is not a port"),
        ({"port": 70000}, "port is 70000, which is not a port"),
        ({"address": "gaudi-01"}, "is not an address"),
        ({"address": "0.0.0.0"}, "which is every network of the node"),
        ({"max_model_len": 1 << 30}, "max_model_len is 1073741824"),
        ({"flags": {"device": "hpu"}}, "which only HabanaAI/vllm-fork knew, and that has ended"),
        ({"flags": {"--num_scheduler_steps": 8}}, "which only HabanaAI/vllm-fork knew"),
        ({"flags": {"use-padding-aware-scheduling": True}}, "which only HabanaAI/vllm-fork knew"),
        ({"flags": {"api-key": "x"}}, "which gaudi_serving_key_file decides"),
        ({"flags": {"tensor-parallel-size": 2}}, "which cards decides"),
        ({"flags": {"pipeline-parallel-size": 2}}, "serves on one node alone"),
        ({"flags": {"distributed-executor-backend": "ray"}}, "serves on one node alone"),
        ({"flags": {"nnodes": 2}}, "serves on one node alone"),
        ({"flags": {"a b": 1}}, "give an option of vllm serve by its name"),
        ({"flags": {"seed": {"a": 1}}}, "give text, a number, a boolean or a list"),
        ({"flags": {"seed": 1, "--seed": 2}}, "flags has seed twice"),
        ({"environment": {"VLLM_DELAYED_SAMPLING": "true"}}, "VLLM_DELAYED_SAMPLING: async-scheduling"),
        ({"environment": {"VLLM_EXPONENTIAL_BUCKETING": "false"}}, "it overrules VLLM_BUCKETING_STRATEGY"),
        ({"environment": {"VLLM_API_KEY": "x"}}, "which gaudi_serving_key_file decides"),
        ({"environment": {"HABANA_VISIBLE_MODULES": "0"}}, "which cards or modules decides"),
        ({"environment": {"VLLM_SERVER_DEV_MODE": "1"}}, "opens the server's debugging to clients"),
        ({"environment": {"VLLM_BUCKETING_STRATEGY": "log"}}, "use exp, lin, pad"),
        (
            {"environment": {"VLLM_BUCKETING_STRATEGY": "exp", "VLLM_DECODE_BS_BUCKET_MAX": "64"}},
            "has VLLM_DECODE_BS_BUCKET_MAX, which VLLM_BUCKETING_STRATEGY=exp ignores",
        ),
        ({"environment": {"VLLM_SKIP_WARMUP": "true"}}, "the first requests wait for graphs to be compiled"),
        ({"environment": {"A": "x\ny"}}, "which an environment file cannot"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(given, sentence):
    with pytest.raises(GaudiError) as refused:
        parse_instance({**CHAT, **given})
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)
    assert str(refused.value).endswith(".")


@pytest.mark.parametrize(
    ("others", "sentence"),
    [
        ({"port": 8001}, "chat is described twice"),
        ({"name": "draft"}, "draft and chat both have port 8000"),
        ({"name": "draft", "port": 8001, "cards": 0, "modules": [3]}, "draft and chat both have module 3"),
    ],
)
def test_two_that_get_in_each_other_s_way_are_refused(others, sentence):
    first = {**CHAT, "cards": 0, "modules": [2, 3]}
    with pytest.raises(GaudiError, match=sentence):
        parse_instances([first, {**first, **others}])


def test_the_real_prefill_batch_and_a_warm_up_that_is_skipped_by_name_are_taken():
    found = parse_instance({**CHAT, "environment": {"VLLM_PROMPT_BS_BUCKET_MAX": 4, "VLLM_BUCKETING_STRATEGY": "exp"}})
    assert found.environment["VLLM_PROMPT_BS_BUCKET_MAX"] == "4"
    assert parse_instance({**CHAT, "skip_warm_up": True, "environment": {"VLLM_SKIP_WARMUP": True}}).skip_warm_up
