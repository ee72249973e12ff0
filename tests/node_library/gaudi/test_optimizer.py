# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.distributed.tensor import DTensor, Shard

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.gaudi.optimizer import GaudiOptimizer, fused_adamw


class OnGaudi(nn.Parameter):
    """A parameter that says that it lies on a card."""

    @property
    def device(self):
        return torch.device("hpu")


def parameters() -> list[OnGaudi]:
    return [OnGaudi(torch.ones(3)), OnGaudi(torch.ones(2, 2))]


def test_on_gaudi_it_is_the_bridges_with_pytorchs_defaults(bridge):
    optimizer = GaudiOptimizer.FusedAdamW(parameters(), lr=6e-4, use_habana=True)
    assert type(optimizer) is bridge("hpex.optimizers").FusedAdamW
    (group,) = optimizer.param_groups
    plain = torch.optim.AdamW([nn.Parameter(torch.ones(1))], lr=6e-4).param_groups[0]
    names = ("lr", "betas", "eps", "weight_decay")
    assert [group[name] for name in names] == [plain[name] for name in names]


def test_the_bridges_can_be_declined(bridge):
    assert type(fused_adamw(parameters(), use_habana=False)) is torch.optim.AdamW


def test_elsewhere_it_is_pytorchs_and_needs_no_bridge():
    linear = nn.Linear(2, 2)
    optimizer = fused_adamw(linear.parameters(), lr=0.1, betas=(0.9, 0.95), eps=1e-7, weight_decay=0.5)
    assert type(optimizer) is torch.optim.AdamW
    (group,) = optimizer.param_groups
    assert group["params"] == list(linear.parameters())
    assert (group["lr"], group["betas"], group["eps"], group["weight_decay"]) == (0.1, (0.9, 0.95), 1e-7, 0.5)


def test_groups_keep_their_parameters_and_options(bridge):
    first, second, third = (OnGaudi(torch.ones(1)) for _ in range(3))
    groups = [{"params": iter([first, second]), "weight_decay": 0.0}, {"params": third}]
    optimizer = fused_adamw(groups, weight_decay=0.1)
    assert type(optimizer) is bridge("hpex.optimizers").FusedAdamW
    assert [group["params"] for group in optimizer.param_groups] == [[first, second], [third]]
    assert [group["weight_decay"] for group in optimizer.param_groups] == [0.0, 0.1]


def test_one_parameter_elsewhere_is_enough_for_pytorchs(bridge):
    assert type(fused_adamw([*parameters(), nn.Parameter(torch.ones(1))])) is torch.optim.AdamW


def test_shards_are_pytorchs(bridge, monkeypatch):
    """The fused operator knows nothing of a DTensor."""
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    mesh = torch.distributed.init_device_mesh("cpu", (1,))
    shard = nn.Parameter(torch.distributed.tensor.distribute_tensor(torch.ones(4), mesh, [Shard(0)]))
    monkeypatch.setattr(DTensor, "device", torch.device("hpu"))
    assert type(fused_adamw([shard])) is torch.optim.AdamW


def test_no_parameters_is_one_sentence():
    with pytest.raises(
        GaudiError, match=r"^fused_adamw was given no parameters; has the model any that are trained\?$"
    ):
        fused_adamw(nn.ReLU().parameters())
