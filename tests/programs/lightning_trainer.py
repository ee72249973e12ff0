# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A Lightning script for torchrun: ``lightning_trainer.py --directory DIRECTORY``."""

import argparse
import os
import time

import lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint


class Regression(lightning.LightningModule):
    def __init__(self, seconds_per_step):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
        self.seconds_per_step = seconds_per_step

    def training_step(self, batch, _index):
        time.sleep(self.seconds_per_step)
        inputs, targets = batch
        loss = torch.nn.functional.mse_loss(self.layers(inputs), targets)
        self.log("train_loss", loss)
        return loss

    def on_train_start(self):
        if self.global_step:
            print(f"Restored all states: going on at step {self.global_step}", flush=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=3e-3)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--directory", required=True)
    parser.add_argument("--max-steps", type=int, default=300)
    parser.add_argument("--save-every", type=int, default=20)
    parser.add_argument("--seconds-per-step", type=float, default=0.1)
    options = parser.parse_args()
    lightning.seed_everything(0)
    inputs = torch.randn(640, 8)
    dataset = torch.utils.data.TensorDataset(inputs, inputs.sum(dim=1, keepdim=True))
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=int(os.environ["LOCAL_WORLD_SIZE"]),
        num_nodes=int(os.environ["GROUP_WORLD_SIZE"]),
        strategy="ddp",
        max_steps=options.max_steps,
        max_epochs=-1,
        callbacks=[ModelCheckpoint(options.directory, every_n_train_steps=options.save_every, save_last=True)],
        default_root_dir=options.directory,
        logger=False,
        enable_progress_bar=False,
    )
    model = Regression(options.seconds_per_step)
    trainer.fit(model, torch.utils.data.DataLoader(dataset, batch_size=16, shuffle=True), ckpt_path="last")
    print(f"Done at step {trainer.global_step}", flush=True)


if __name__ == "__main__":
    main()
