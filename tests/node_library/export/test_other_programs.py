# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Models of Transformers, in the formats of this trainer, Transformers, Lightning, FSDP2 programs and torch.save."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
import torch.distributed.checkpoint as distributed_checkpoint
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from torch import nn
from transformers import AutoModelForCausalLM, GPT2Config, LlamaConfig, MixtralConfig, PreTrainedTokenizerFast

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.export.checkpoint import newest_in

LLAMA = {
    "vocab_size": 300,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
}


def made(directory: Path, tied: bool = False, **options: object) -> nn.Module:
    """A Llama with random weights in ``directory``, with a tokenizer."""
    torch.manual_seed(3)
    model = AutoModelForCausalLM.from_config(LlamaConfig(**LLAMA, tie_word_embeddings=tied)).eval()
    model.save_pretrained(directory, **options)
    return model


def loaded(directory: Path) -> nn.Module:
    model, about = AutoModelForCausalLM.from_pretrained(directory, local_files_only=True, output_loading_info=True)
    assert not any(about.values()), about
    return model.eval()


def same_logits(model: nn.Module, directory: Path) -> None:
    windows = torch.randint(300, (2, 40))
    with torch.inference_mode():
        torch.testing.assert_close(loaded(directory)(windows).logits, model(windows).logits, rtol=0, atol=0)


def save_lightning(model: nn.Module, path: Path) -> None:
    # It brings torch._dynamo, which cannot be imported in a process that has ansible-core's patch of sys.intern.
    import lightning.pytorch as lightning

    class Task(lightning.LightningModule):
        """As users wrap a model of Transformers."""

        def __init__(self) -> None:
            super().__init__()
            self.model = model
            self.scale = nn.Parameter(torch.ones(1))

    trainer = lightning.Trainer(accelerator="cpu", logger=False, enable_checkpointing=False)
    trainer.strategy.connect(Task())
    trainer.save_checkpoint(path)


WRITERS = {
    "transformers": lambda model, path: model.save_pretrained(path),
    "shards": lambda model, path: model.save_pretrained(path, max_shard_size="20KB"),
    "state-dict": lambda model, path: torch.save(model.state_dict(), path),
    "with-optimizer": lambda model, path: torch.save(
        {"model": model.state_dict(), "optimizer": {"state": {0: {"exp_avg": torch.ones(3)}}}, "step": 7}, path
    ),
    "compiled": lambda model, path: torch.save(
        {f"module._orig_mod.{name}": one for name, one in model.state_dict().items()}, path
    ),
    "safetensors": lambda model, path: save_file(
        {name: one.clone() for name, one in model.state_dict().items()}, path.with_suffix(".safetensors")
    ),
    "lightning": save_lightning,
    "dcp": lambda model, path: distributed_checkpoint.save(
        {"app": {"model": model.state_dict(), "step": 3}}, checkpoint_id=path, no_dist=True
    ),
}


@pytest.mark.parametrize("tied", [False, True], ids=["untied", "tied"])
@pytest.mark.parametrize("form", WRITERS)
def test_each_format_is_exported(exported, tmp_path, form, tied):
    model = made(tmp_path / "base", tied)
    path = tmp_path / "saved"
    WRITERS[form](model, path)
    if form == "safetensors":
        path = path.with_suffix(".safetensors")
    told = exported(path, model=tmp_path / "base", shard_bytes=15_000)
    assert any("equal bit for bit" in line for line in told)
    same_logits(model, tmp_path / "out")
    index = json.loads((tmp_path / "out" / "model.safetensors.index.json").read_text())
    assert ("lm_head.weight" in index["weight_map"]) is not tied
    sizes = [one.nbytes for one in model.state_dict().values()]
    assert index["metadata"]["total_size"] == sum(sizes) - (model.lm_head.weight.nbytes if tied else 0)


def test_the_newest_of_several_is_the_one_with_the_highest_number(tmp_path):
    """Numbers, and not words: Transformers' checkpoint-1000 comes after checkpoint-200."""
    for name in ("checkpoint-200", "checkpoint-1000", "checkpoint-3000"):
        (tmp_path / name).mkdir()
        (tmp_path / name / ("model.safetensors" if name != "checkpoint-3000" else "optimizer.pt")).touch()
    assert newest_in(tmp_path) == tmp_path / "checkpoint-1000"


def test_a_model_that_the_trainer_trained(exported, train_here, tmp_path):
    """From tokens of its own tokenizer, which the export finds again and holds against them."""
    base = tmp_path / "base"
    made(base)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    text = tmp_path / "text" / "license.txt"
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train([str(text)], trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer).save_pretrained(base)
    from gaudi3_scale.data.prepare import prepare

    prepare([text], tmp_path / "tokens", str(base), 1, 1 << 20, lambda *_: None)
    train_here("--max-steps", 2, "--model", base, source=["--data", tmp_path / "tokens"])
    told = exported(tmp_path / "job")
    assert "no tokenizer" not in told[-1]
    assert (tmp_path / "out" / "tokenizer.json").read_bytes() == (base / "tokenizer.json").read_bytes()
    assert not torch.equal(loaded(tmp_path / "out").lm_head.weight, loaded(base).lm_head.weight)
    content = bytearray((base / "tokenizer.json").read_bytes())
    content[-2:-2] = b" "
    (base / "tokenizer.json").write_bytes(content)
    with pytest.raises(GaudiError, match=r"is another tokenizer than the one whose tokens .* was trained on"):
        exported(tmp_path / "job", out="again")
    shutil.rmtree(base)
    AutoModelForCausalLM.from_config(LlamaConfig(**{**LLAMA, "num_hidden_layers": 1})).save_pretrained(base)
    with pytest.raises(GaudiError, match=r"it is LlamaForCausalLM-.*, and .* is of LlamaForCausalLM-"):
        exported(tmp_path / "job", out="again")
    shutil.rmtree(base)
    with pytest.raises(GaudiError, match=r"there is no config.json; name the model's directory with --model"):
        exported(tmp_path / "job", out="again")


def changed(directory: Path, change) -> None:
    """The one file of a model, with other weights."""
    weights = load_file(directory / "model.safetensors")
    change(weights)
    save_file(weights, directory / "model.safetensors", metadata={"format": "pt"})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda weights: weights.pop("model.norm.weight"), "has no model.norm.weight, of LlamaForCausalLM"),
        (
            lambda weights: weights.update({"model.more.weight": torch.ones(2)}),
            "has model.more.weight, which LlamaForCausalLM has not",
        ),
        (
            lambda weights: weights.update({"model.norm.weight": torch.ones(31)}),
            r"model.norm.weight is \[31\] in it and \[32\] in LlamaForCausalLM",
        ),
        (
            lambda weights: weights.update({"model.norm.weight": torch.ones(32, dtype=torch.bfloat16)}),
            "has weights of type bfloat16 and float32, and a served model has one; choose it with --dtype",
        ),
        (
            lambda weights: weights.update({"model.norm.weight": torch.ones(32, dtype=torch.int64)}),
            "has weights of type int64, and trained ones are float32, bfloat16 or float16",
        ),
        (
            lambda weights: weights["model.norm.weight"].fill_(float("nan")),
            "model.norm.weight has numbers that are infinite or NaN: its training diverged",
        ),
    ],
)
def test_weights_that_are_not_the_models_are_refused(exported, tmp_path, change, said):
    made(tmp_path / "base")
    changed(tmp_path / "base", change)
    with pytest.raises(GaudiError, match=said):
        exported(tmp_path / "base")
    assert not (tmp_path / "out").exists()


def test_a_number_beyond_the_wanted_type_is_refused(exported, tmp_path):
    made(tmp_path / "base")
    changed(tmp_path / "base", lambda weights: weights["model.norm.weight"].fill_(1e6))
    with pytest.raises(GaudiError, match=r"model.norm.weight has numbers beyond float16; choose bfloat16 or float32"):
        exported(tmp_path / "base", dtype=torch.float16)


def test_several_types_become_the_one_that_is_asked_for(exported, tmp_path):
    made(tmp_path / "base")
    changed(tmp_path / "base", lambda weights: weights.update({"model.norm.weight": torch.ones(32).bfloat16()}))
    exported(tmp_path / "base", dtype=torch.bfloat16)
    assert {one.dtype for one in loaded(tmp_path / "out").state_dict().values()} == {torch.bfloat16}


def test_weights_that_should_be_tied_and_are_not_are_refused(exported, tmp_path):
    """transformers#38870: such a model loads without a word, and is another."""
    made(tmp_path / "base", tied=True)
    changed(tmp_path / "base", lambda weights: weights.update({"lm_head.weight": torch.ones(300, 32)}))
    with pytest.raises(GaudiError, match=r"lm_head.weight is another than model.embed_tokens.weight, and config.json"):
        exported(tmp_path / "base")


def test_weights_in_one_place_that_are_not_tied_are_written_twice(exported, tmp_path):
    """torchtitan#3764: a file that safetensors refuses."""
    model = made(tmp_path / "base")
    model.lm_head.weight = model.model.embed_tokens.weight
    torch.save(model.state_dict(), tmp_path / "saved.pt")
    exported(tmp_path / "saved.pt", model=tmp_path / "base")
    same_logits(model, tmp_path / "out")


def test_either_name_of_a_tied_weight_will_do(exported, tmp_path):
    model = made(tmp_path / "base", tied=True)
    changed(
        tmp_path / "base", lambda weights: weights.update({"lm_head.weight": weights.pop("model.embed_tokens.weight")})
    )
    exported(tmp_path / "base")
    same_logits(model, tmp_path / "out")


def index_of(directory: Path) -> dict:
    return json.loads((directory / "model.safetensors.index.json").read_text())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda shards: shards.update({"model.ghost.weight": next(iter(shards.values()))}),
            "model.safetensors.index.json names model.ghost.weight in model-0000.-of-.*, and no file has it",
        ),
        (
            lambda shards: shards.pop("model.norm.weight"),
            "model.safetensors.index.json does not name model.norm.weight, and it is in",
        ),
        (
            lambda shards: shards.update({"model.norm.weight": "model-00001-of-00009.safetensors"}),
            "model-00001-of-00009.safetensors cannot be read: No such file",
        ),
        (
            lambda shards: shards.update({"model.norm.weight": "../elsewhere.safetensors"}),
            "does not say which file has which weight: it names files elsewhere",
        ),
    ],
)
def test_an_index_that_is_not_so_is_refused(exported, tmp_path, change, said):
    """Relax#148: ghosts in an index."""
    base = tmp_path / "base"
    made(base, max_shard_size="20KB")
    index = index_of(base)
    change(index["weight_map"])
    (base / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(GaudiError, match=said):
        exported(base)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("form", ["transformers", "shards", "state-dict", "lightning", "dcp"])
@pytest.mark.parametrize("kept", [0.0, 0.3, 0.999])
def test_a_truncated_file_is_refused(exported, tmp_path, form, kept):
    model = made(tmp_path / "base")
    path = tmp_path / "saved"
    WRITERS[form](model, path)
    file = path if path.is_file() else max(path.glob("*.*"), key=lambda one: one.stat().st_size)
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * kept)])
    with pytest.raises(GaudiError, match=f"{file.name}|cannot be"):
        exported(path, model=tmp_path / "base")
    assert not (tmp_path / "out").exists()


def test_a_part_of_a_tensor_that_no_file_has_is_refused(exported, tmp_path, monkeypatch):
    """PyTorch would leave there what the memory had."""
    model = made(tmp_path / "base")
    WRITERS["dcp"](model, tmp_path / "saved")
    from torch.distributed.checkpoint import FileSystemReader

    metadata = FileSystemReader(tmp_path / "saved").read_metadata()
    name = "app.model.model.norm.weight"
    metadata.state_dict_metadata[name].chunks.clear()
    import pickle

    (tmp_path / "saved" / ".metadata").write_bytes(pickle.dumps(metadata))
    with pytest.raises(GaudiError, match=f"{name} has 0 of 32 numbers in its files"):
        exported(tmp_path / "saved", model=tmp_path / "base")


def test_code_in_a_file_is_never_run(exported, tmp_path):
    made(tmp_path / "base")

    class Hostile:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "touched",))

    torch.save({"model": Hostile()}, tmp_path / "saved.pt")
    with pytest.raises(GaudiError, match="a value in it is not plain data; save its state_dict alone"):
        exported(tmp_path / "saved.pt", model=tmp_path / "base")
    assert not (tmp_path / "touched").exists()


def test_several_models_in_one_file_have_to_be_told_apart(exported, tmp_path):
    model = made(tmp_path / "base")
    average = {name: one * 2 for name, one in model.state_dict().items()}
    torch.save({"model": model.state_dict(), "average": average}, tmp_path / "saved.pt")
    with pytest.raises(GaudiError, match=r"stand average\., model\.; choose one with --prefix"):
        exported(tmp_path / "saved.pt", model=tmp_path / "base")
    exported(tmp_path / "saved.pt", model=tmp_path / "base", prefix="average.")
    assert torch.equal(loaded(tmp_path / "out").lm_head.weight, average["lm_head.weight"])


def test_what_says_nothing_of_its_model_needs_a_directory(exported, tmp_path):
    torch.save(made(tmp_path / "base").state_dict(), tmp_path / "saved.pt")
    with pytest.raises(GaudiError, match="does not say what its model is built like; name the directory"):
        exported(tmp_path / "saved.pt")


def test_names_that_transformers_changes_are_refused(exported, tmp_path):
    config = MixtralConfig(**LLAMA, num_local_experts=2)
    AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path / "base")
    with pytest.raises(GaudiError, match="Transformers stores a mixtral under other names than it computes with"):
        exported(tmp_path / "base")


def test_a_gpt2_of_transformers(exported, tmp_path):
    model = AutoModelForCausalLM.from_config(
        GPT2Config(vocab_size=300, n_embd=32, n_layer=2, n_head=4, n_positions=64)
    ).eval()
    model.save_pretrained(tmp_path / "base")
    exported(tmp_path / "base")
    same_logits(model, tmp_path / "out")


def test_what_older_releases_have_saved_and_none_wants_is_left_out(exported, tmp_path):
    model = made(tmp_path / "base")
    old = {"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(4)}
    changed(tmp_path / "base", lambda weights: weights.update(old))
    exported(tmp_path / "base")
    same_logits(model, tmp_path / "out")


def test_a_quantized_model_is_refused(exported, tmp_path):
    made(tmp_path / "base")
    config = json.loads((tmp_path / "base" / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "fp8"}
    (tmp_path / "base" / "config.json").write_text(json.dumps(config))
    with pytest.raises(GaudiError, match="its weights are quantized"):
        exported(tmp_path / "base")
