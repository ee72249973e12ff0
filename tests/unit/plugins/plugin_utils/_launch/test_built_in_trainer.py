# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._launch.built_in_trainer import (
    BuiltInTrainer,
    batch_refusal,
    command,
    probe_options,
    refusal,
    typed,
    vocabulary_in,
    without_manifest,
)

TEXT = BuiltInTrainer(text=["/srv/text", "/srv/more"])
TOKENS = BuiltInTrainer(data="/srv/tokens")


def test_the_command_has_all_that_differs_and_all_that_does_not():
    words = "-m gaudi3_scale.train --text /srv/text /srv/more --max-steps 200 --device hpu --precision bf16"
    assert command(TEXT) == [
        *words.split(),
        *["--layers", "4", "--width", "256", "--heads", "4", "--sequence-length", "256"],
    ]


def test_what_was_found_comes_before_the_operator_s_own_words():
    trainer = BuiltInTrainer(
        text=["t"], batch_size=8, accumulation_steps=2, learning_rate=0.0003, arguments=["--batch-size", "4"]
    )
    assert command(trainer)[-8:] == [
        "--batch-size",
        "8",
        "--accumulate",
        "2",
        "--learning-rate",
        "0.0003",
        *trainer.arguments,
    ]


def test_what_was_typed_is_taken_as_it_is_meant():
    """Ansible has split both at the commas."""
    given = {"text": ["/srv/a", " /srv/b ", ""], "model": {"layers": "2", "width": 64, "name": "x"}, "data": ""}
    assert typed(given) == {"text": ["/srv/a", "/srv/b"], "model": {"layers": 2, "width": 64, "name": "x"}, "data": ""}


@pytest.mark.parametrize(
    ("arguments", "refused"), [([], False), (["--model", "x"], True), (["--model=x"], True), (["--models"], False)]
)
def test_another_model_is_not_probed(arguments, refused):
    assert ("set gaudi_training_batch_size" in batch_refusal(BuiltInTrainer(arguments=arguments))) == refused


def test_tokens_take_the_place_of_text():
    assert command(TOKENS)[2:4] == ["--data", "/srv/tokens"]


def test_a_cpu_has_its_own_precision_unless_one_is_given():
    assert "fp32" in command(BuiltInTrainer(text=["t"], device="cpu"))
    assert "bf16" in command(BuiltInTrainer(text=["t"], device="cpu", precision="bf16"))


@pytest.mark.parametrize(
    ("trainer", "said"),
    [
        (BuiltInTrainer(), "gaudi_training_text is empty; name files or directories with text on the hosts"),
        (BuiltInTrainer(text_upload="here"), "gaudi_training_text is empty"),
        (BuiltInTrainer(data="/d", text=["t"]), "gaudi_training_data /d cannot be combined with gaudi_training_text"),
        (
            BuiltInTrainer(data="/d", text_upload="t"),
            "gaudi_training_data /d cannot be combined with gaudi_training_text",
        ),
    ],
)
def test_nothing_to_train_on_is_one_sentence(trainer, said):
    assert refusal(trainer).startswith(said)


def test_tokens_in_a_bucket_need_a_batch_size():
    said = batch_refusal(BuiltInTrainer(data="s3://bucket/tokens"))
    assert said.startswith("gaudi_training_data s3://bucket/tokens: only a training reads tokens in a bucket; set ")
    assert batch_refusal(TOKENS) == ""


@pytest.mark.parametrize("trainer", [TEXT, TOKENS, BuiltInTrainer(text=["t"], text_upload="here")])
def test_something_to_train_on(trainer):
    assert refusal(trainer) == ""


def test_the_probe_measures_copies_and_the_tokens_that_there_are():
    model = {"layers": 2, "width": 256, "heads": 4, "sequence_length": 256, "precision": "bf16"}
    trainer = BuiltInTrainer(model={"layers": 2})
    assert probe_options(trainer, 1, None) == model
    assert probe_options(trainer, 8, 65) == {**model, "sharding": "ddp", "vocabulary": 65}


@pytest.mark.parametrize(
    ("text", "count"),
    [('{"vocabulary": 65}', 65), ("", None), ("[]", None), ("{}", None), ('{"vocabulary": "x"}', None)],
)
def test_what_a_node_has_written_is_a_number_or_nothing(text, count):
    assert vocabulary_in(text) == count


def test_tokens_that_nobody_described_are_one_sentence():
    said = str(without_manifest("/data/books", "gaudi", "node1"))
    assert said.startswith(
        "gaudi_training_data /data/books: there is no /data/books.manifest.json that gaudi can read on "
    )
    assert "write one with gaudi3_scale data check --data /data/books, and copy it to every host" in said
