# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The batch finder as a library: real models, real trials, a real limit."""

from __future__ import annotations

import copy
import warnings

import lightning.pytorch as lightning
import pytest
import torch

from gaudi3_scale.batch import AdaptiveBatchCallback, AdaptiveBatchFinder
from gaudi3_scale.batch.in_place import unchanged
from gaudi3_scale.batch.workload import TrainedModel, resized, training
from gaudi3_scale.core._errors import GaudiError
from own_models import FEATURES, Perceptron, PerceptronTask

MIB = 1 << 20
CPU = {"precision": "32-true", "device": "cpu", "memory_limit": 48 * MIB, "maximum": 4096}
# What a sample needs of it at least: its features, and the output or its gradient.
SAMPLE_BYTES = 2 * FEATURES * 4


pytestmark = pytest.mark.filterwarnings("ignore:You are trying to `self.log")


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def state(model):
    return copy.deepcopy([*model.state_dict().values(), *(parameter.grad for parameter in model.parameters())])


def assert_same(before, after):
    assert len(before) == len(after)
    for one, other in zip(before, after):
        assert (one is None and other is None) or torch.equal(one, other)


@pytest.mark.in_turn
def test_a_model_gets_its_batch_size_and_is_left_as_it_was(capsys):
    model = Perceptron().eval()
    model(torch.randn(4, FEATURES)).sum().backward()
    example = torch.randn(3, FEATURES)
    before, random_before = state(model), torch.get_rng_state()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        finder = AdaptiveBatchFinder(model, 0.95, batch=example, **CPU)
        found = finder.find()
    limit = 0.95 * 48 * MIB
    size = found.batch_size
    (trial,) = [trial for trial in found.trials if trial.batch_size == size and trial.outcome == "ok"][-1:]
    assert 0.9 * limit < trial.peak_memory_bytes <= limit
    assert size * SAMPLE_BYTES < limit
    assert sum(trial.outcome != "ok" for trial in found.trials) <= 1
    assert_same(before, state(model))
    assert torch.equal(random_before, torch.get_rng_state())
    assert not model.training
    reported = capsys.readouterr().err
    assert f"batch size {size}: ran, 0.0" in reported


def test_what_cannot_be_pickled_is_tried_here_and_put_back():
    model = PerceptronTask()
    model.model(torch.randn(4, FEATURES)).sum().backward()
    model.unpicklable = lambda: None
    before, random_before = state(model), torch.get_rng_state()
    with pytest.warns(UserWarning, match="The trials run in this process, since the model, its batch, loss or"):
        size = AdaptiveBatchFinder(model, **{**CPU, "maximum": 64}).find_optimal_batch_size()
    assert size == 64
    assert {2, 64} <= set(model.seen)
    assert_same(before, state(model))
    assert torch.equal(random_before, torch.get_rng_state())


def test_even_what_fails_is_put_back():
    model = Perceptron()
    before = state(model)
    with pytest.raises(ZeroDivisionError), unchanged(model):
        training(TrainedModel(model, torch.randn(2, FEATURES), "32"), 4, torch.device("cpu"))()
        assert not torch.equal(before[0], model.state_dict()["layers.0.weight"])
        raise ZeroDivisionError
    assert_same(before, state(model))


@pytest.mark.in_turn
def test_lightning_trains_with_what_the_callback_found():
    task = PerceptronTask()
    callback = AdaptiveBatchCallback(memory_limit=48 * MIB, multiple_of=8)
    trainer = lightning.Trainer(
        accelerator="cpu",
        max_steps=2,
        callbacks=[callback],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(task)
    assert callback.batch_size == task.batch_size
    assert callback.batch_size % 8 == 0
    assert 300 < callback.batch_size < 1000
    assert task.seen == [callback.batch_size] * 2
    assert trainer.global_step == 2


def test_a_callback_without_anything_to_set_says_so():
    task = PerceptronTask()
    trainer = lightning.Trainer(
        accelerator="cpu",
        max_steps=1,
        callbacks=[AdaptiveBatchCallback("size")],
        logger=False,
        enable_checkpointing=False,
    )
    with pytest.raises(GaudiError, match="Neither the model nor a data module has size, so there is nothing to set"):
        trainer.fit(task)


def test_a_batch_of_any_size_is_made_of_an_example():
    example = {"ids": torch.tensor([[1], [2], [3]]), "mask": (torch.ones(3), torch.ones(5)), "name": "x"}
    batch = resized(example, 7)
    assert batch["ids"].flatten().tolist() == [1, 2, 3, 1, 2, 3, 1]
    assert [len(part) for part in batch["mask"]] == [7, 5]
    assert batch["name"] == "x"
    with pytest.raises(GaudiError, match="The example batch holds no tensor with samples"):
        resized(["text"], 7)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"precision": "fp8"}, "precision fp8: choose bf16-mixed, 16-mixed, 32-true, 32"),
        ({"objective": "best"}, "objective best: choose largest or throughput"),
        ({"memory_limit": None}, "On the CPU only the node's memory limits the batch; give memory_limit"),
        (
            {"target_hpu_utilization": 95},
            "target_hpu_utilization is 95; give a fraction of the memory, above 0 and up to 1",
        ),
        ({"batch": None}, "batch is missing: give an example batch"),
        ({"minimum": 8, "maximum": 4}, "minimum 8 is above maximum 4"),
    ],
)
def test_bad_input_is_told_before_anything_runs(options, sentence):
    with pytest.raises(GaudiError, match=sentence):
        AdaptiveBatchFinder(Perceptron(), **{"batch": torch.ones(2, FEATURES), **CPU, **options})


def test_a_model_that_optimizes_by_hand_is_refused():
    task = PerceptronTask()
    task.automatic_optimization = False
    with pytest.raises(GaudiError, match="optimizes manually"):
        AdaptiveBatchFinder(task, **CPU)
