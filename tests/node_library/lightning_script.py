# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A user's own Lightning script on two ranks: ``python lightning_script.py STRATEGY STEPS DIRECTORY [CHECKPOINT]``.

Each rank writes what it saw to DIRECTORY/rank<n>.json. The CPU is in the place of the cards.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import lightning.pytorch as lightning
import torch
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

from gaudi3_scale import GaudiMixedPrecision, GaudiOptimizer
from gaudi3_scale.gaudi import accelerator


class Regression(lightning.LightningModule):
    def __init__(self, shard: bool) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
        self.shard = shard
        self.losses: list[float] = []

    def configure_model(self) -> None:
        if self.shard and not isinstance(self.net[0].weight, DTensor):
            for part in (self.net[0], self.net[2], self.net):
                fully_shard(part, mesh=self.device_mesh["data_parallel"])

    def training_step(self, _batch: torch.Tensor, _index: int) -> torch.Tensor:
        """The data of a step and rank are always the same, so that a run can be compared with one that went on."""
        generator = torch.Generator().manual_seed(100 * self.global_step + self.global_rank)
        loss = self.net(torch.randn(4, 8, generator=generator)).square().mean()
        self.losses.append(loss.item())
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return GaudiOptimizer.FusedAdamW(self.parameters(), lr=0.01)

    def train_dataloader(self) -> torch.utils.data.DataLoader:
        return torch.utils.data.DataLoader(range(64))


def main(strategy: str, steps: str, directory: Path, checkpoint: str | None = None) -> None:
    accelerator.DEVICE = torch.device("cpu")
    on_gaudi = {"accelerator": "hpu", "plugins": [GaudiMixedPrecision("32-true")]}
    trainer = lightning.Trainer(
        **(on_gaudi if strategy.startswith("habana") else {"accelerator": "cpu"}),
        strategy=strategy,
        devices=2,
        max_steps=int(steps),
        gradient_clip_val=0.5,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        default_root_dir=directory,
    )
    model = Regression(shard=strategy == "habana_fsdp2")
    trainer.fit(model, ckpt_path=checkpoint)
    trainer.save_checkpoint(directory / "end.ckpt")
    hccl = sys.modules.get("habana_frameworks.torch.distributed.hccl")
    seen = {
        "losses": model.losses,
        "backend": torch.distributed.get_backend(),
        "reported": hccl.REPORTED if hccl else [],
        "held": sum(
            (weight.to_local() if isinstance(weight, DTensor) else weight).numel() for weight in model.parameters()
        ),
    }
    (directory / f"rank{trainer.global_rank}.json").write_text(json.dumps(seen))
    torch.distributed.destroy_process_group()
    # As gaudi3_scale.ranks.run_rank: FSDP2's mesh keeps gloo's threads, which can abort the process while Python ends.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), *sys.argv[4:])
