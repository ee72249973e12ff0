# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What Lightning makes of the trainer's parts."""

from __future__ import annotations

import lightning.pytorch as lightning
import pytest
import torch

from gaudi3_scale.gaudi.accelerator import GaudiAccelerator
from gaudi3_scale.gaudi.checkpoint_io import WholeFileIO
from gaudi3_scale.gaudi.strategies import GaudiDDPStrategy
from gaudi3_scale.ranks import Ranks
from gaudi3_scale.trainer.strategies import trainer_parts

SECOND_NODE = Ranks(rank=11, world_size=16, local_rank=3, local_world_size=8, launched=True)


@pytest.fixture
def torchrun_environment(monkeypatch):
    values = {"RANK": 11, "WORLD_SIZE": 16, "LOCAL_RANK": 3, "LOCAL_WORLD_SIZE": 8, "GROUP_RANK": 1}
    for name, value in {**values, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": 1, "TORCHELASTIC_RUN_ID": "1"}.items():
        monkeypatch.setenv(name, str(value))


def test_lightning_accepts_the_parts_for_gaudi(bridge, torchrun_environment):
    trainer = lightning.Trainer(**trainer_parts(torch.device("hpu"), "bf16", SECOND_NODE), logger=False)
    assert isinstance(trainer.accelerator, GaudiAccelerator)
    assert isinstance(trainer.strategy, GaudiDDPStrategy)
    assert trainer.strategy.root_device == torch.device("hpu")
    assert trainer.strategy.determine_ddp_device_ids() is None
    assert (trainer.num_devices, trainer.num_nodes, trainer.world_size) == (8, 2, 16)
    autocast = trainer.precision_plugin.autocast_context_manager()
    assert (autocast.device, autocast.fast_dtype) == ("hpu", torch.bfloat16)


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "step-00000004.ckpt"
    WholeFileIO().save_checkpoint({"step": 4}, path)

    class Unwritable:
        def __reduce__(self):
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        WholeFileIO().save_checkpoint({"step": 5, "x": Unwritable()}, path)
    assert torch.load(path, weights_only=True) == {"step": 4}
