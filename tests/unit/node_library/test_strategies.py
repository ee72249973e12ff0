# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What Lightning makes of the trainer's parts."""

from __future__ import annotations

import lightning.pytorch as lightning
import pytest
import torch

from gaudi3_scale.accelerator import GaudiAccelerator
from gaudi3_scale.checkpoints import WholeFileIO
from gaudi3_scale.ranks import Ranks
from gaudi3_scale.strategies import NodeDDPStrategy, NodeGaudiDDPStrategy, trainer_parts

SECOND_NODE = Ranks(rank=11, world_size=16, local_rank=3, local_world_size=8, launched=True)


@pytest.fixture
def torchrun_environment(monkeypatch):
    values = {"RANK": 11, "WORLD_SIZE": 16, "LOCAL_RANK": 3, "LOCAL_WORLD_SIZE": 8, "GROUP_RANK": 1}
    for name, value in {**values, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": 1, "TORCHELASTIC_RUN_ID": "1"}.items():
        monkeypatch.setenv(name, str(value))


def test_lightning_accepts_the_parts_for_gaudi(bridge, torchrun_environment):
    trainer = lightning.Trainer(**trainer_parts(torch.device("hpu"), "bf16", SECOND_NODE), logger=False)
    assert isinstance(trainer.accelerator, GaudiAccelerator)
    assert isinstance(trainer.strategy, NodeGaudiDDPStrategy)
    assert isinstance(trainer.strategy.checkpoint_io, WholeFileIO)
    assert trainer.strategy.root_device == torch.device("hpu")
    assert trainer.strategy.determine_ddp_device_ids() is None
    assert (trainer.num_devices, trainer.num_nodes, trainer.world_size) == (8, 2, 16)
    autocast = trainer.precision_plugin.autocast_context_manager()
    assert (autocast.device, autocast.fast_dtype) == ("hpu", torch.bfloat16)


@pytest.mark.parametrize("kind", ["cpu", "hpu"])
def test_the_first_rank_of_each_node_saves(kind, bridge, torchrun_environment, monkeypatch, tmp_path):
    parts = trainer_parts(torch.device(kind), "fp32", SECOND_NODE)
    trainer = lightning.Trainer(**parts, logger=False)
    assert isinstance(trainer.strategy, NodeDDPStrategy)
    for local_rank, written in ((3, False), (0, True)):
        monkeypatch.setenv("LOCAL_RANK", str(local_rank))
        path = tmp_path / f"{local_rank}.ckpt"
        trainer.strategy.save_checkpoint({"step": torch.tensor(4)}, path)
        assert path.exists() == written
    assert torch.load(path, weights_only=True) == {"step": torch.tensor(4)}


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "step-00000004.ckpt"
    WholeFileIO().save_checkpoint({"step": 4}, path)

    class Unwritable:
        def __reduce__(self):
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        WholeFileIO().save_checkpoint({"step": 5, "x": Unwritable()}, path)
    assert torch.load(path, weights_only=True) == {"step": 4}
