# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What is shared out among the ranks of a checkpoint, which model it is of, and the numbers that it need not hold."""

from __future__ import annotations

import random
from types import SimpleNamespace

import numpy
import pytest
import torch

from gaudi3_scale.checkpoints.state import share_of
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.models.training_model import build_model
from gaudi3_scale.trainer.seeded_batches import SeededBatches

STATE = {
    "model": {"a": torch.zeros(100), "b": torch.zeros(60), "c": torch.zeros(40), "d": torch.zeros(())},
    "optimizer": {"a": {"step": torch.zeros(()), "exp_avg": torch.zeros(100)}},
    "progress": b"packed",
}


def names(state: dict, prefix: str = "") -> set[str]:
    found = set()
    for name, value in state.items():
        found |= names(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name}
    return found


@pytest.mark.parametrize("members", [1, 2, 3, 8])
def test_each_tensor_is_one_members_and_the_rest_is_the_firsts(members):
    shares = [names(share_of(STATE, number, members)) for number in range(members)]
    assert sum(map(len, shares)) == len(set.union(*shares))
    assert set.union(*shares) == names(STATE)
    assert "progress" in shares[0]


def test_the_shares_are_about_as_large():
    sizes = [sum(value.nbytes for value in share_of(STATE, number, 2)["model"].values()) for number in range(2)]
    of_optimizer = [share_of(STATE, number, 2)["optimizer"]["a"].get("exp_avg") for number in range(2)]
    total = [size + (0 if moment is None else moment.nbytes) for size, moment in zip(sizes, of_optimizer)]
    assert max(total) <= 0.55 * sum(total)


def draw(seed: int, step: int, batch: int, rank: int) -> tuple[float, float, float]:
    """What a batch draws, whatever was drawn before."""
    torch.rand(step + 1)
    trainer = SimpleNamespace(global_step=step, accumulate_grad_batches=2)
    SeededBatches(seed, rank).on_train_batch_start(trainer, SimpleNamespace(device=torch.device("cpu")), None, batch)
    return torch.rand(()).item(), random.random(), numpy.random.random()


def test_a_batch_draws_the_same_numbers_again():
    first = draw(7, 5, 1, 3)
    assert draw(7, 5, 1, 3) == first
    # The batch counts within its step: how many were before it depends on when the run began.
    assert draw(7, 5, 11, 3) == first
    for other in (draw(8, 5, 1, 3), draw(7, 6, 1, 3), draw(7, 5, 0, 3), draw(7, 5, 1, 2)):
        assert not set(first) & set(other)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda net: setattr(net, "head", torch.nn.Linear(32, 5, bias=False)),
            "model.head.weight is [256, 32] in the checkpoint and",
        ),
        (lambda net: setattr(net, "more", torch.nn.Linear(1, 1)), "there is no model.more.bias in the checkpoint and"),
        (lambda net: delattr(net, "norm"), "model.norm.bias is [32] in the checkpoint and there is no model.norm.bias"),
    ],
)
def test_another_model_is_refused_by_the_first_name_that_differs(train_here, tmp_path, monkeypatch, change, said):
    train_here("--max-steps", 2)

    def changed(*arguments, **named):
        model = build_model(*arguments, **named)
        change(model.module)
        return model

    monkeypatch.setattr("gaudi3_scale.trainer.run.build_model", changed)
    with pytest.raises(GaudiError) as refused:
        train_here("--max-steps", 4)
    path = tmp_path / "job" / "checkpoints" / "step-00000002"
    assert str(refused.value).startswith(f"--resume: {path} is of another model: {said}")
