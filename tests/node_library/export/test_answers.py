# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The record says what the trained model answers, so that whoever serves it can be asked the same."""

from __future__ import annotations

import json
import math

import pytest
import torch
from transformers import AutoModelForCausalLM

from gaudi3_scale.export.answers import DECIMALS, TOP, answers_of
from gaudi3_scale.export.publish import windows_of


@pytest.fixture
def answers(trained, exported, tmp_path):
    exported(trained)
    return json.loads((tmp_path / "out" / "gaudi3_scale_export.json").read_text())["answers"]


def test_the_record_has_the_next_tokens_of_the_trained_model(answers, tmp_path):
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "out", local_files_only=True).eval()
    assert answers["decimals"] == DECIMALS and len(answers["windows"]) > 3
    for window in answers["windows"]:
        with torch.inference_mode():
            logits = model(torch.tensor([window["tokens"]])).logits[0, -1]
        expected = torch.log_softmax(logits.double(), dim=-1)
        assert [token for token, _value in window["top"]] == torch.topk(expected, TOP).indices.tolist()
        for token, value in window["top"]:
            assert value == pytest.approx(expected[token].item(), abs=10**-DECIMALS)


def test_windows_have_several_lengths_and_fit_the_model(answers):
    lengths = {len(window["tokens"]) for window in answers["windows"]}
    assert len(lengths) == 3 and max(lengths) <= 64


def test_a_tiny_vocabulary_and_context_have_answers_too():
    windows = windows_of(3, 1)
    found = answers_of(windows, torch.zeros(windows.shape[0], 1, 3))
    assert [len(window["top"]) for window in found["windows"]] == [3, 3]
    assert found["windows"][0]["top"][0][1] == round(-math.log(3), DECIMALS)


def test_answers_are_computed_in_double_precision():
    """In bfloat16 the logarithm of a sum of a hundred thousand numbers would be far from it."""
    vocabulary = 100_000
    found = answers_of(torch.zeros(1, 1, dtype=torch.int64), torch.zeros(1, 1, vocabulary, dtype=torch.bfloat16))
    assert found["windows"][0]["top"][0][1] == round(-math.log(vocabulary), DECIMALS)
