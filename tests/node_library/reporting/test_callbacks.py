# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The trainers of Hugging Face and Lightning tell their steps by a callback, on two real ranks."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
import torch
from transformers import TrainerControl, TrainerState

from forked_ranks import ends_of, said_in, start_script
from gaudi3_scale import LightningCallback, TransformersCallback
from job_runs import read_lines

# A rank that is slow in its forward pass alone.
TRANSFORMERS = """
import os, sys, time, torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments
from gaudi3_scale import TransformersCallback

class Blocks(torch.utils.data.Dataset):
    def __len__(self): return 400
    def __getitem__(self, index): return dict.fromkeys(("input_ids", "labels"), torch.full((8,), index % 50))

class Model(GPT2LMHeadModel):
    def forward(self, input_ids=None, labels=None, **named):
        time.sleep(0.1 * int(os.environ["RANK"]))
        return super().forward(input_ids, labels=labels, **named)

arguments = TrainingArguments(
    sys.argv[1], max_steps=int(sys.argv[2]), save_steps=8, logging_steps=4, per_device_train_batch_size=2,
    gradient_accumulation_steps=2, eval_strategy="steps", eval_steps=8, use_cpu=True, ddp_backend="gloo",
    report_to="none", disable_tqdm=True, max_grad_norm=1.0, include_num_input_tokens_seen=True,
)
model = Model(GPT2Config(vocab_size=64, n_positions=8, n_embd=8, n_layer=1, n_head=1))
few = torch.utils.data.Subset(Blocks(), range(4))
trainer = Trainer(model, arguments, train_dataset=Blocks(), eval_dataset=few, callbacks=[TransformersCallback()])
trainer.train(resume_from_checkpoint=len(sys.argv) > 3)
# As PyTorch asks for: gloo's threads can abort a process that ends without it.
torch.distributed.destroy_process_group()
"""
LIGHTNING = """
import os, sys, time, torch
import lightning.pytorch as lightning
from gaudi3_scale import LightningCallback

class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(4, 1)
    def training_step(self, batch, _index):
        time.sleep(0.1 * int(os.environ["RANK"]))
        return self.net(batch).square().mean()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.125)

trainer = lightning.Trainer(
    accelerator="cpu", devices=2, strategy="ddp", max_steps=int(sys.argv[2]), max_epochs=-1, accumulate_grad_batches=2,
    callbacks=[LightningCallback(samples=len, tokens=lambda batch: 1 / 0)],
    default_root_dir=sys.argv[1], logger=False, enable_progress_bar=False,
)
data = torch.utils.data.DataLoader(torch.ones(64, 4), batch_size=4)
trainer.fit(Model(), data, ckpt_path=sys.argv[3] if len(sys.argv) > 3 else None)
trainer.save_checkpoint(sys.argv[1] + "/whole.ckpt")
"""


@pytest.fixture
def run(tmp_path):
    """``run(script, *arguments)`` on two ranks; returns the metric lines of this run and both progress files."""
    (tmp_path / "progress").mkdir()
    # By the last of them Lightning sees that torchrun has started its ranks.
    variables = {"GAUDI3_SCALE_PROGRESS_DIR": str(tmp_path / "progress"), "TORCHELASTIC_RUN_ID": "test"}

    def ran(script, *arguments):
        path, before = tmp_path / "script.py", len(read_lines(tmp_path / "metrics.jsonl"))
        path.write_text(script)
        ranks = start_script(tmp_path, path, tmp_path / "out", *arguments, variables=variables)
        assert ends_of(ranks, timeout=300) == [0, 0], said_in(tmp_path)
        progress = [json.loads((tmp_path / "progress" / f"{rank}.json").read_text()) for rank in (0, 1)]
        return read_lines(tmp_path / "metrics.jsonl")[before:], progress

    return ran


def of_kind(lines, kind):
    return [line for line in lines if line["kind"] == kind]


def test_hugging_faces_trainer(run):
    lines, progress = run(TRANSFORMERS, 16)
    start, *_ = lines
    assert (start["step"], start["resumed_from"], start["max_steps"], start["world_size"]) == (0, None, 16, 2)
    assert (start["device"], start["batch_size"], start["accumulate"]) == ("cpu", 2, 2)
    steps = of_kind(lines, "step")
    assert (steps[0]["step"], steps[-1]["step"]) == (1, 16)
    assert any("loss" in line for line in steps)
    # Rank 1 takes at least 0.2 s in two passes: two samples each on two ranks.
    assert all(0 < line["samples_per_second"] < 40 for line in steps[1:])
    assert all(
        line["tokens_per_second"] == pytest.approx(8 * line["samples_per_second"], rel=0.3) for line in steps[1:]
    )
    assert 0 < steps[1]["lr"] < 1e-4
    assert [line["step"] for line in of_kind(lines, "checkpoint")] == [8, 16]
    assert [line["step"] for line in of_kind(lines, "evaluation")] == [8, 16]
    assert all(line["eval_loss"] > 0 for line in of_kind(lines, "evaluation"))
    (end,) = of_kind(lines, "end")
    assert (end["step"], end["max_steps"]) == (16, 16)
    assert [one["step"] for one in progress] == [16, 16]
    # Its forward passes, and not the waiting of the other rank for it.
    assert progress[1]["busy_seconds"] > 0.2
    assert progress[0]["busy_seconds"] < progress[1]["busy_seconds"] - 0.05

    lines, _progress = run(TRANSFORMERS, 20, "resume")
    assert (lines[0]["step"], lines[0]["resumed_from"]) == (16, 16)
    assert [line["step"] for line in of_kind(lines, "step")][-1] == 20


def test_lightnings_trainer(run, tmp_path):
    lines, progress = run(LIGHTNING, 12)
    start, *_ = lines
    assert (start["step"], start["max_steps"], start["world_size"], start["accumulate"]) == (0, 12, 2, 2)
    steps = of_kind(lines, "step")
    assert (steps[0]["step"], steps[-1]["step"], steps[-1]["lr"]) == (1, 12, 0.125)
    assert steps[-1]["loss"] < steps[0]["loss"]
    (warning,) = of_kind(lines, "warning")
    assert "LightningCallback: tokens cannot count a batch (ZeroDivisionError: " in warning["message"]
    assert all(0 < line["samples_per_second"] < 90 for line in steps[1:])
    assert of_kind(lines, "end")[0]["last_loss"] == steps[-1]["loss"]
    assert [one["step"] for one in progress] == [12, 12]
    assert progress[1]["busy_seconds"] > 0.2
    assert progress[0]["busy_seconds"] < progress[1]["busy_seconds"] - 0.05

    lines, _progress = run(LIGHTNING, 14, tmp_path / "out" / "whole.ckpt")
    assert (lines[0]["step"], lines[0]["resumed_from"]) == (12, 12)


def test_outside_a_job_they_do_nothing(monkeypatch):
    for name in ("GAUDI3_SCALE_PROGRESS_DIR", "GAUDI3_SCALE_METRICS"):
        monkeypatch.delenv(name, raising=False)
    model = torch.nn.Linear(1, 1)
    arguments, state, control = SimpleNamespace(torch_compile=False, output_dir="out"), TrainerState(), TrainerControl()
    hugging_face = TransformersCallback()
    for event in ("on_train_begin", "on_step_begin", "on_step_end", "on_log", "on_save", "on_evaluate", "on_train_end"):
        getattr(hugging_face, event)(arguments, state, control, model=model, logs={"loss": 1.0})
    # No hook either.
    assert not model._forward_hooks
    trainer = SimpleNamespace(global_step=0)
    lightnings = LightningCallback(samples=lambda _batch: 1 / 0)
    lightnings.on_train_start(trainer, model)
    lightnings.on_train_batch_start(trainer, model, None, 0)
    lightnings.on_train_batch_end(trainer, model, {"loss": None}, None, 0)
    lightnings.on_train_end(trainer, model)
