# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The trainer's own model becomes a GPT-2 that Transformers loads, with the same logits to the last bit."""

from __future__ import annotations

import hashlib
import json
import os
import shutil

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.export.checkpoint import open_checkpoint
from gaudi3_scale.models.language_model import LanguageModel, ModelShape


def loaded(directory, **options):
    """As anybody loads it, strictly."""
    model, about = AutoModelForCausalLM.from_pretrained(
        directory, local_files_only=True, output_loading_info=True, **options
    )
    assert not any(about.values()), about
    return model.eval()


def as_trained(checkpoint):
    """The model of a checkpoint, put together by torch alone."""
    opened = open_checkpoint(checkpoint)
    model = LanguageModel(ModelShape(**{name: value for name, value in opened.shape.items() if name != "model"}))
    names = {name: f"model.model.{name}" for name in model.state_dict()}
    weights = opened.weights.read(names.values())
    model.load_state_dict({name: weights[full] for name, full in names.items()})
    return model.eval()


def test_what_was_trained_is_what_is_loaded(trained, exported, tmp_path):
    told = exported(trained)
    assert any("equal bit for bit" in line for line in told)
    windows = torch.randint(256, (3, 32))
    with torch.inference_mode():
        torch.testing.assert_close(
            loaded(tmp_path / "out")(windows).logits, as_trained(trained)(windows), rtol=0, atol=0
        )
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert (config["model_type"], config["architectures"], config["dtype"]) == ("gpt2", ["GPT2LMHeadModel"], "float32")
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith((".out", "out"))) == ["out"]


def test_its_tokenizer_is_the_bytes_that_it_was_trained_on(trained, exported, tmp_path):
    exported(trained)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out", local_files_only=True)
    for text in ("To be, or not", "Grüße, 東京 🚆\n\t  two  spaces\n", "\x00\x7f"):
        assert tokenizer(text)["input_ids"] == list(text.encode())
        assert tokenizer.decode(list(text.encode())) == text


def test_in_shards_and_in_another_type(trained, exported, tmp_path):
    exported(trained, dtype=torch.bfloat16, shard_bytes=20_000)
    index = json.loads((tmp_path / "out" / "model.safetensors.index.json").read_text())
    files = {path.name for path in (tmp_path / "out").glob("*.safetensors")}
    assert set(index["weight_map"].values()) == files and len(files) > 2
    model = loaded(tmp_path / "out")
    assert model.dtype == torch.bfloat16
    windows = torch.randint(256, (2, 32))
    with torch.inference_mode():
        torch.testing.assert_close(
            model(windows).logits, as_trained(trained).to(torch.bfloat16)(windows), rtol=0, atol=0
        )


def test_whoever_may_read_what_the_account_writes_may_read_all_of_it(trained, exported, tmp_path):
    before = os.umask(0o027)
    try:
        exported(trained)
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "out").iterdir()} == {0o640}


def test_the_record_has_the_digest_of_each_file(trained, exported, tmp_path):
    exported(trained)
    record = json.loads((tmp_path / "out" / "gaudi3_scale_export.json").read_text())
    there = {path.name for path in (tmp_path / "out").iterdir()} - {"gaudi3_scale_export.json"}
    assert set(record["files"]) == there
    for name, about in record["files"].items():
        content = (tmp_path / "out" / name).read_bytes()
        assert about == {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    assert record["checkpoint"]["step"] == 2 and record["architecture"] == "GPT2LMHeadModel"


def test_the_newest_checkpoint_of_a_job_is_exported_once(trained, exported, tmp_path):
    exported(trained.parent.parent)
    before = (tmp_path / "out" / "model.safetensors").stat().st_mtime_ns
    assert exported(trained) == [f"{tmp_path / 'out'}: exported before, and as it was then"]
    assert (tmp_path / "out" / "model.safetensors").stat().st_mtime_ns == before


def test_what_is_there_is_left_alone(trained, exported, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").touch()
    with pytest.raises(GaudiError, match="is there already, and is something else; name another directory"):
        exported(trained)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine"]


def test_another_export_is_not_replaced(trained, exported):
    exported(trained)
    with pytest.raises(GaudiError, match="is there already, and is another export"):
        exported(trained, dtype=torch.bfloat16)


def test_an_export_that_was_changed_is_not_taken_for_whole(trained, exported, tmp_path):
    exported(trained)
    path = tmp_path / "out" / "tokenizer.json"
    content = bytearray(path.read_bytes())
    content[20] ^= 1
    path.write_bytes(content)
    with pytest.raises(GaudiError, match=r"tokenizer.json has other bytes than were exported; export the model again"):
        exported(trained)


def test_a_shard_of_another_run_is_refused(train_here, trained, exported, tmp_path):
    train_here("--max-steps", 2, "--layers", 2, "--seed", 1, job="other")
    other = tmp_path / "other" / "checkpoints" / trained.name / "__0_0.distcp"
    if other.stat().st_size == (trained / other.name).stat().st_size:
        said = "__0_0.distcp has another checksum than manifest.json"
    else:
        said = "__0_0.distcp has .* bytes instead of"
    shutil.copy(other, trained / other.name)
    with pytest.raises(GaudiError, match=f"is damaged: {said}.*; export another checkpoint"):
        exported(trained)
    assert not (tmp_path / "out").exists()


def test_a_truncated_file_is_refused(trained, exported, tmp_path):
    path = trained / "__0_0.distcp"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(GaudiError, match=r"is damaged: __0_0.distcp has \d+ bytes instead of \d+"):
        exported(trained)
    assert not (tmp_path / "out").exists()


def test_a_model_of_the_trainer_needs_no_directory(trained, exported, tmp_path):
    with pytest.raises(GaudiError, match="is of the built-in model; leave it out"):
        exported(trained, model=tmp_path)


def test_a_checkpoint_that_is_none(exported, tmp_path):
    with pytest.raises(GaudiError, match="there is no such checkpoint"):
        exported(tmp_path / "nothing")
    with pytest.raises(GaudiError, match="there is no checkpoint in it"):
        exported(tmp_path)
