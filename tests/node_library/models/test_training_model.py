# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Local models of Hugging Face, tokens of their tokenizers, and activation checkpointing."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path

import pytest
import torch

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.data.indexed_dataset import beside, read_index
from gaudi3_scale.data.manifest import read_manifest
from gaudi3_scale.data.prepare import prepare
from gaudi3_scale.data.token_windows import StreamSampler, TrainingWindows
from gaudi3_scale.data.training_data import open_data
from gaudi3_scale.models.training_model import build_model, keeps_only_inputs
from job_runs import losses

PLAN = ["--max-steps", 3, "--learning-rate", 0.01]


def options(**values: object) -> argparse.Namespace:
    own = {"layers": 4, "width": 32, "heads": 2, "sequence_length": 32, "model": None, "from_scratch": False}
    return argparse.Namespace(**{**own, "checkpointing": "auto", **values})


def kept_bytes(module: torch.nn.Module) -> int:
    """What a forward pass keeps for the way back."""
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: kept.append(tensor.nbytes) or tensor, lambda t: t):
        module(torch.zeros(8, 32, dtype=torch.int64))
    return sum(kept)


@pytest.fixture(scope="module")
def llama(tmp_path_factory) -> Path:
    """A tiny model with weights, and a tokenizer of 400 tokens that was made from this repository's license."""
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    folder = tmp_path_factory.mktemp("llama")
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    training = tokenizers.trainers.BpeTrainer(vocab_size=400, special_tokens=["<end>"], initial_alphabet=alphabet)
    made.train([str(Path(__file__).parents[3] / "LICENSE")], training)
    transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<end>").save_pretrained(folder)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    configuration = transformers.LlamaConfig(vocab_size=400, max_position_embeddings=64, eos_token_id=0, **sizes)
    torch.manual_seed(1)
    transformers.AutoModelForCausalLM.from_config(configuration).save_pretrained(folder)
    return folder


@pytest.fixture
def tokens(llama, text, tmp_path) -> Path:
    prepare([text], tmp_path / "tokens", str(llama), 1, 1 << 20, lambda *_: None)
    return tmp_path / "tokens"


@pytest.mark.parametrize(
    ("choice", "parameters", "expected"),
    [("auto", 999_999_999, False), ("auto", 1_000_000_000, True), ("on", 1, True), ("off", 10**12, False)],
)
def test_activation_checkpointing_begins_by_itself_above_a_size(choice, parameters, expected):
    assert keeps_only_inputs(choice, parameters) is expected


def test_a_checkpointed_model_keeps_less(text, llama):
    data = open_data([text], None, 32)
    for model in ({}, {"model": llama, "from_scratch": True}):
        plain, checkpointed = (
            kept_bytes(build_model(options(checkpointing=choice, **model), data).module) for choice in ("off", "on")
        )
        assert checkpointed < plain / 2


@pytest.mark.parametrize("local", [False, True])
def test_an_empty_model_has_shapes_buffers_and_ties_and_no_memory(text, llama, tmp_path, local):
    tied = tmp_path / "tied"
    shutil.copytree(llama, tied)
    configuration = json.loads((tied / "config.json").read_text())
    (tied / "config.json").write_text(json.dumps({**configuration, "tie_word_embeddings": True}))
    asked = options(model=tied, from_scratch=True) if local else options()
    data = open_data([text], None, 32)
    whole, empty = build_model(asked, data), build_model(asked, data, empty=True)
    assert (empty.shape, empty.parameters) == (whole.shape, whole.parameters)
    assert all(parameter.is_meta for parameter in empty.module.parameters())
    assert not torch.nn.Linear(1, 1).weight.is_meta
    buffers = dict(whole.module.named_buffers())
    assert bool(buffers) is local
    for name, buffer in empty.module.named_buffers():
        assert torch.equal(buffer, buffers[name])


def test_the_start_line_says_how_the_model_is_kept(train_here):
    start = train_here("--max-steps", 1, "--checkpointing", "on")[0]
    assert (start["checkpointing"], start["sharding"], start["parameters"]) == (True, "ddp", 30_176)


def test_tokens_are_the_tokenizers_with_an_end_after_each_file(llama, text, tokens):
    from tokenizers import Tokenizer

    manifest = read_manifest(tokens)
    made = Tokenizer.from_file(str(llama / "tokenizer.json"))
    expected = [*made.encode(text.read_text(), add_special_tokens=False).ids, made.token_to_id("<end>")]
    found = torch.frombuffer(bytearray(beside(tokens, "bin").read_bytes()), dtype=torch.uint16).tolist()
    assert found == expected
    assert (manifest.vocabulary, read_index(tokens, "--data").dtype) == (400, "<u2")


@pytest.mark.parametrize("more", [[], ["--sharding", "fsdp2"], ["--checkpointing", "on"]])
def test_a_local_model_is_trained_from_its_weights(train_here, llama, tokens, more):
    from transformers import AutoModelForCausalLM

    found = losses(train_here(*PLAN, "--model", llama, *more, source=["--data", tokens]))
    model = AutoModelForCausalLM.from_pretrained(llama, dtype=torch.float32)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, betas=(0.9, 0.95))
    windows = TrainingWindows(open_data(None, tokens, 32).windows)
    # The cosine from 1 to a tenth over three steps.
    for step, rate, numbers in zip((1, 2, 3), (0.01, 0.00775, 0.00325), StreamSampler(len(windows), 8, seed=0)):
        batch = windows[numbers]
        loss = model(input_ids=batch, labels=batch).loss
        # Hugging Face's loss has the window's last token as an input too, which predicts nothing.
        assert found[step] == pytest.approx(loss.item(), rel=1e-5)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.param_groups[0]["lr"] = rate
        optimizer.step()
        optimizer.zero_grad()


def test_new_weights_come_from_the_seed(train_here, llama, tokens):
    def first_loss(*more: object, job: str) -> float:
        source = ["--data", tokens, "--model", llama]
        return losses(train_here("--max-steps", 1, *more, job=job, source=source))[1]

    new = first_loss("--from-scratch", job="new")
    assert first_loss("--from-scratch", job="again") == new
    assert len({new, first_loss("--from-scratch", "--seed", 1, job="seed"), first_loss(job="weights")}) == 3


def test_a_checkpoint_of_another_model_is_refused(train_here, llama, tokens):
    train_here("--max-steps", 1, source=["--data", tokens])
    with pytest.raises(
        GaudiError, match=r"^--model LlamaForCausalLM-\w+: the checkpoint's model has built-in; give th"
    ):
        train_here("--max-steps", 2, "--model", llama, source=["--data", tokens])


def test_tokens_of_an_unknown_tokenizer_are_taken_where_the_weights_have_as_many(train_here, llama, tokens):
    def first_loss(job: str) -> dict[int, float]:
        return losses(train_here("--max-steps", 1, "--model", llama, job=job, source=["--data", tokens]))

    known = first_loss("known")
    beside(tokens, "manifest.json").unlink()
    assert first_loss("unknown") == known
    with beside(tokens, "bin").open("r+b") as stream:
        stream.write((400).to_bytes(2, "little"))
    with pytest.raises(
        GaudiError, match=r"^--data: there are 401 tokens and .*llama\d* knows 400; prepare the data with"
    ):
        first_loss("too many")


def test_a_directory_that_is_no_models_is_one_sentence(train_here, llama, text, tmp_path):
    def refused(sentence: str, *more: object) -> None:
        with pytest.raises(GaudiError, match=sentence) as caught:
            train_here("--max-steps", 1, *more)
        assert "\n" not in str(caught.value)

    refused(r"^--model .*nothing: there is no config\.json; give the local directory", "--model", tmp_path / "nothing")
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "config.json").write_bytes((llama / "config.json").read_bytes())
    refused(r"^--model .*copy: there are no weights \(model\.safetensors\); copy them there, or", "--model", copy)
    refused(r"^--text: its tokens are not those of .*, whose weights know no others; prepare", "--model", llama)
    more = ["--model", llama, "--from-scratch", "--sequence-length", 128]
    refused(r"^--sequence-length 128: .* has 64 places; give at most that many\.$", *more)
    configuration = json.loads((llama / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**configuration, "vocab_size": 100}))
    refused(r"^--text: there are 256 tokens and .* knows 100; prepare the data", "--model", copy, "--from-scratch")
    (copy / "config.json").write_text(json.dumps({"model_type": "unheard_of"}))
    refused(
        r"^--model .*copy: transformers cannot make a causal language model of it: ", "--model", copy, "--from-scratch"
    )


@pytest.mark.parametrize("package", ["transformers", "tokenizers"])
def test_a_package_that_is_missing_is_one_sentence(train_here, text, tmp_path, monkeypatch, package):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "tokenizer.json").write_text("{}")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        GaudiError,
        match=rf"the package {package} is not in this Python; add hf to gaudi_venv_extras and run ",
    ):
        if package == "transformers":
            train_here("--max-steps", 1, "--model", tmp_path)
        else:
            prepare([text], tmp_path / "tokens", str(tmp_path), 1, 1 << 20, lambda *_: None)
