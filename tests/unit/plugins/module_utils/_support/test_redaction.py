# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Secrets in whatever form a log may have them: none is left, and what helps to find a fault is."""

from __future__ import annotations

import json

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._node.secret_words import HIDDEN
from ansible_collections.gaudi3.scale.plugins.module_utils._support.redaction import how_many_hidden, redacted

PLANTED = "Zq7pLantEd0Value"
PEM = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj"
KEY = f"-----BEGIN OPENSSH PRIVATE KEY-----\n{PEM}\n{PEM}\n-----END OPENSSH PRIVATE KEY-----"


@pytest.mark.parametrize(
    "text",
    [
        f"WANDB_API_KEY={PLANTED}",
        f"export HF_TOKEN='{PLANTED}'",
        f"Nov 30 02:31:18 node1 start.sh[12]: env WANDB_API_KEY={PLANTED} python train.py",
        f"Nov 30 02:31:18 node1 sh[12]: password: {PLANTED}",
        f"login failed, api_key = {PLANTED}, again",
        f"config {{'db_password': '{PLANTED}', 'lr': 0.1}}",
        f'config {{\\"auth_token\\": \\"{PLANTED}\\"}}',
        f"GET https://user:{PLANTED}@mlflow.example.org/api",
        f"GET https://mlflow.example.org/api?access_token={PLANTED}&x=1",
        f"Authorization: Bearer {PLANTED}",
        f"train.py --wandb-key {PLANTED} --lr 0.1",
        f"train.py +logger.api_key={PLANTED}",
        "token hf_abcdefghijklmnopqrstuvwxyz0123",
        "key AKIAABCDEFGHIJKLMNOP in use",
        KEY,
        KEY.rpartition("\n")[0],
        "\n".join(f"Nov 30 02:31:18 node1 sh[12]: {line}" for line in KEY.split("\n")),
        "root:$6$saltsalt$abcdefghijklmnopqrstuvwxyz0123456789./ABCDEFGHIJ:19000:0:99999:7:::",
    ],
)
def test_a_secret_is_hidden_wherever_it_stands(text: str) -> None:
    found = redacted(f"the line before\n{text}\nthe line after\n", "x.log")
    for secret in (PLANTED, PEM, "hf_abc", "AKIAABC", "abcdefghijklmnopqrstuvwxyz0123456789"):
        assert secret not in found
    assert how_many_hidden(found) >= 1
    assert found.startswith("the line before\n")
    # A key without an end may go on as far as the text.
    assert found.endswith("\nthe line after\n") or ("BEGIN" in text and "END" not in text.partition("KEY")[2])


def test_the_rest_of_a_key_is_hidden_where_its_beginning_was_cut_off() -> None:
    for prefix in ("", "Nov 30 02:31:18 node1 sh[12]: "):
        rest = "".join(f"{prefix}{line}\n" for line in KEY.split("\n")[2:])
        assert redacted(f"{rest}the line after\n", "x.log") == f"{HIDDEN}\nthe line after\n"
    assert redacted(f"before\n{KEY}\nafter\n", "x.log") == f"before\n{HIDDEN}\nafter\n"


def test_a_value_that_the_node_knows_is_hidden_in_any_form() -> None:
    text = f"the program said <{PLANTED}> and x{PLANTED}y, and abc\n"
    found = redacted(text, "x.log", {PLANTED, "abc"})
    assert found == f"the program said <{HIDDEN}> and x{HIDDEN}y, and abc\n"


def test_documents_are_read_by_their_keys_and_what_is_none_as_text() -> None:
    told = {
        "command": ["train.py", "--api-key", PLANTED],
        "environment": {"ANY": PLANTED, "NCCL_DEBUG": "INFO"},
        "n": 1,
    }
    found = json.loads(redacted(json.dumps(told), "jobs/llama/job.json"))
    assert PLANTED not in json.dumps(found)
    assert (found["n"], found["environment"]["NCCL_DEBUG"], found["command"][0]) == (1, "INFO", "train.py")
    lines = redacted(json.dumps(told) + "\n{half a line with token=" + PLANTED, "events.jsonl")
    assert PLANTED not in lines and json.loads(lines.partition("\n")[0])["n"] == 1


@pytest.mark.parametrize(
    "text",
    [
        "habanalabs 0000:19:00.0: Successfully added device hl0 to habanalabs driver\n",
        "| 0  HL-325L  1.24.1  0000:19:00.0 | 38C  226W / 850W |  1056MiB / 131072MiB | 0% |\n",
        "Preboot version hl-gaudi3-1.22.0-fw-61.3.2-sec-3 (Apr 01 2025 - 10:00:00)\n",
        "PT_HPU_LAZY_MODE=0\nPT_HPU_RECIPE_CACHE_CONFIG=/x,true,8192\n",
        "CPU-CP timeout at init, PASS: f2, tokens_per_second: 812, key_frames are none\n",
        "",
    ],
)
def test_what_helps_stays_as_it_is(text: str) -> None:
    assert redacted(text, "x.log") == text
