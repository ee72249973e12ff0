# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
import yaml
from ansible_collections.gaudi3.scale.plugins.plugin_utils._batch.variables_block import refusal, with_block

OWN = "gaudi_training_text: [/srv/text]\n"
FOUND = {"gaudi_training_batch_size": 96, "gaudi_training_learning_rate": 0.0003}


def test_the_operator_s_lines_stay_as_they_are():
    text = with_block(OWN, "a workload on n1", FOUND)
    assert text.startswith(OWN)
    assert yaml.safe_load(text) == {"gaudi_training_text": ["/srv/text"], **FOUND}


def test_a_second_answer_takes_the_place_of_the_first():
    first = with_block(OWN, "a", {"gaudi_training_batch_size": 8}) + "gaudi_training_name: x\n"
    second = with_block(first, "b", FOUND)
    assert second.count("BEGIN") == 1
    assert second.endswith("gaudi_training_name: x\n")
    assert with_block(second, "b", FOUND) == second


def test_a_file_without_a_last_line_end_gets_one():
    assert with_block("a: 1", "h", {}).startswith("a: 1\n# BEGIN")


@pytest.mark.parametrize(
    ("given", "text", "said"),
    [
        ("s3://b/x.yml", "", "so it must be a file on the controller; name one."),
        ("x.yml", "$ANSIBLE_VAULT;1.1;AES256\n61", "x.yml is encrypted; name another file, beside it."),
        ("x.yml", "'gaudi_training_batch_size' : 8\n", "sets gaudi_training_batch_size in a line of your own"),
    ],
)
def test_what_cannot_take_the_block(given, text, said):
    assert said in refusal(given, given, text)


def test_our_own_block_is_no_line_of_the_operator():
    assert refusal("x.yml", "x.yml", with_block(OWN, "a", FOUND)) == ""
