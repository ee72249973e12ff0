# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The module's own door: what no instance can be is one sentence, and the node is not asked."""

from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.tests.unit.module_call import call

CHAT = {"name": "chat", "model": "llama@production", "cards": 1, "port": 8000}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"instances": [{**CHAT, "model": "llama"}]}, "give NAME@ALIAS or NAME@VERSION"),
        ({"instances": [CHAT, CHAT]}, "chat is described twice"),
        ({"instances": [{**CHAT, "address": "192.0.2.7"}]}, "everyone in the network could ask it"),
        ({"instances": [CHAT], "only": ["draft"]}, "only has 'draft'"),
        ({"instances": [CHAT], "certificate": "/etc/hostname"}, "certificate and certificate_key belong together"),
        ({"instances": [{**CHAT, "flags": {"device": "hpu"}}]}, "only HabanaAI/vllm-fork knew"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_the_node_is_asked(options, sentence):
    told, status = call("model_serving", False, release="1.24.1", **options)
    assert status == 1
    assert sentence in told["msg"]
