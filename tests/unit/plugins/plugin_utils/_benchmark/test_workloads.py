# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Workloads as an operator writes them, and what cannot be meant by them."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._benchmark.workloads import Site, read_workloads

SITE = Site("cpu", ["/text"], batch_sizes=(4,))


def one(**given: Any) -> Any:
    return read_workloads([{"name": "w", **given}], SITE)[0]


def test_a_size_is_the_trainer_without_checkpoints_and_loggers() -> None:
    command = " ".join(one(size="tiny").command(60, 4, 5))
    assert command.startswith("-m gaudi3_scale.train --text /text --max-steps 60 --batch-size 4 --metrics-every 5")
    assert "--checkpoint-every 0 --resume never --loggers none --device cpu" in command
    assert command.endswith("--layers 2 --width 64 --heads 2 --sequence-length 64 --precision fp32")


def test_data_takes_the_place_of_text_and_a_card_that_of_the_processor() -> None:
    (found,) = read_workloads([{"size": "small"}], Site("hpu", ["/text"], "/data/tokens"))
    assert (found.name, found.precision) == ("small", "bf16")
    assert found.words[2:4] == ("--data", "/data/tokens")


def test_a_model_and_a_command_are_taken_as_they_are() -> None:
    assert "--model /m --precision bf16 --from-scratch" in " ".join(
        one(model="/m", precision="bf16", arguments="--from-scratch").words
    )
    own = one(command="train.py --steps {max_steps} -b {batch_size}", precision="bf16", batch_sizes=[2, 8])
    assert own.command(7, 8, 1) == ["train.py", "--steps", "7", "-b", "8"]
    assert own.batch_sizes == (2, 8)


def test_another_command_is_another_definition_and_other_steps_are_not() -> None:
    assert one(size="tiny").definition == one(size="tiny", batch_sizes=[9]).definition
    assert one(size="tiny").definition != one(size="tiny", arguments=["--compile"]).definition


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"size": "tiny", "precision": ["bf16", "fp32"]}, "precision of w is bf16, fp32; a row has one precision"),
        ({"size": "tiny", "precision": "fp8"}, "precision of w is 'fp8'; give bf16 or fp32"),
        ({"command": "a {max_steps} {batch_size}"}, "w is a command without a precision"),
        ({"command": "a {batch_size}", "precision": "bf16"}, "has no {max_steps}"),
        ({"command": "a {max_steps}", "precision": "bf16"}, "has no {batch_size}"),
        ({"command": "a '{max_steps}", "precision": "bf16"}, "quotation mark"),
        ({"size": "huge"}, "size of w is 'huge'; give one of tiny, small, medium, large"),
        ({}, "w has none of them; give one of size, model and command"),
        ({"size": "tiny", "model": "/m"}, "w has size and model; give one of"),
        ({"size": "tiny", "steps": 4}, "w has 'steps'; it may have name, size"),
        ({"size": "tiny", "batch_sizes": [0]}, "batch_sizes of w is [0]"),
        ({"size": "tiny", "arguments": "--precision=bf16"}, "has --precision; leave it out, and set precision"),
        ({"size": "tiny", "name": "a\nb"}, "name is 'a\\nb'"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(given: dict[str, Any], words: str) -> None:
    with pytest.raises(GaudiError) as refused:
        one(**given)
    assert words in str(refused.value) and str(refused.value).startswith("workloads: ")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "workloads is []; give a list"),
        ("small", "workloads is 'small'; give a list"),
        ([{"size": "tiny"}] * 2, "workloads has tiny twice"),
    ],
)
def test_no_list_of_them_is_one_sentence(given: Any, words: str) -> None:
    with pytest.raises(GaudiError, match=words.replace("[", r"\[").replace("]", r"\]")):
        read_workloads(given, SITE)
