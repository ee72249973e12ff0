# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math

import pytest
import torch

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.models.language_model import LanguageModel, ModelShape
from gaudi3_scale.workloads import causal_language_model

TINY = {"layers": 1, "width": 16, "heads": 2, "sequence_length": 8}


@pytest.mark.parametrize("precision", ["bf16", "fp32"])
def test_a_workload_gives_a_step_that_can_be_repeated(precision):
    step = causal_language_model(batch_size=2, device=torch.device("cpu"), precision=precision, **TINY)
    first, second = float(step()), float(step())
    assert second < first < 6


def test_as_many_tokens_are_told_apart_as_the_vocabulary_has():
    step = causal_language_model(batch_size=2, device=torch.device("cpu"), precision="fp32", vocabulary=5000, **TINY)
    # Before anything is learned each token is as likely as any other.
    assert float(step()) == pytest.approx(math.log(5000), rel=0.1)
    with pytest.raises(GaudiError, match="vocabulary is 1; give at least 2 tokens"):
        causal_language_model(batch_size=2, device=torch.device("cpu"), vocabulary=1, **TINY)


@pytest.mark.parametrize(
    "options", [{"accumulation": 3}, {"checkpointing": True}, {"sharding": "ddp"}, {"sharding": "fsdp2"}]
)
def test_how_a_step_is_made_does_not_change_what_it_learns(options, alone):
    losses = []
    for more in ({}, options):
        torch.manual_seed(0)
        step = causal_language_model(batch_size=2, device=torch.device("cpu"), precision="fp32", **TINY, **more)
        losses.append([float(step()) for _ in range(3)])
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)


@pytest.mark.parametrize("name", ["fp16", "bf16", "powersgd"])
def test_compressed_gradients_are_measured_as_the_trainer_sends_them(name, alone):
    torch.manual_seed(0)
    options = {"batch_size": 2, "device": torch.device("cpu"), "precision": "fp32", "sharding": "ddp"}
    step = causal_language_model(**options, gradient_compression=name, **TINY)
    first, second = float(step()), float(step())
    assert second < first < 6
    with pytest.raises(GaudiError, match=f"gradient_compression {name} is of what ddp sends; set sharding to ddp too"):
        causal_language_model(**{**options, "sharding": "fsdp2"}, gradient_compression=name, **TINY)


def test_a_compiled_model_is_what_is_trained(monkeypatch):
    backends = []
    monkeypatch.setattr(torch, "compile", lambda model, backend: backends.append(backend) or model)
    step = causal_language_model(batch_size=2, device=torch.device("cpu"), compile=True, **TINY)
    assert float(step()) > 0
    assert backends == ["inductor"]


@pytest.fixture
def alone(monkeypatch):
    """The only rank; whatever group it joins is left again."""
    monkeypatch.delenv("RANK", raising=False)
    yield
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def test_options_that_cannot_be_are_refused():
    with pytest.raises(GaudiError, match="precision fp8: choose bf16 or fp32"):
        causal_language_model(batch_size=2, device=torch.device("cpu"), precision="fp8", **TINY)
    with pytest.raises(GaudiError, match="sharding zero: choose none or ddp or fsdp2"):
        causal_language_model(batch_size=2, device=torch.device("cpu"), sharding="zero", **TINY)
    with pytest.raises(GaudiError, match="accumulation is 0; give at least 1"):
        causal_language_model(batch_size=2, device=torch.device("cpu"), accumulation=0, **TINY)
    with pytest.raises(GaudiError, match="width 16 is not a multiple of heads 3"):
        causal_language_model(batch_size=2, device=torch.device("cpu"), **{**TINY, "heads": 3})


def test_a_prediction_depends_on_what_came_before_alone():
    torch.manual_seed(0)
    model = LanguageModel(ModelShape(**TINY)).eval()
    one = torch.randint(256, (1, 8))
    other = one.clone()
    other[0, 5] += 1
    with torch.no_grad():
        first, second = model(one)[0], model(other)[0]
    torch.testing.assert_close(first[:5], second[:5])
    assert not torch.allclose(first[5:], second[5:])
