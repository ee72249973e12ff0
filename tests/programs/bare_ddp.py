# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A plain DDP loop with snapshots, as PyTorch's users write them for torchrun: ``bare_ddp.py DIRECTORY [options]``."""

import argparse
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Trainer:
    def __init__(self, model, data, optimizer, snapshot_path, options):
        self.rank = int(os.environ["RANK"])
        self.model = model
        self.data = data
        self.optimizer = optimizer
        self.snapshot_path = snapshot_path
        self.options = options
        self.epochs_run = 0
        if snapshot_path.exists():
            self._load_snapshot()
        self.model = DistributedDataParallel(self.model)

    def _load_snapshot(self):
        snapshot = torch.load(self.snapshot_path, weights_only=True)
        self.model.load_state_dict(snapshot["model"])
        self.optimizer.load_state_dict(snapshot["optimizer"])
        self.epochs_run = snapshot["epochs_run"]
        print(f"Resuming training from snapshot at epoch {self.epochs_run}", flush=True)

    def _save_snapshot(self, epoch):
        snapshot = {
            "model": self.model.module.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "epochs_run": epoch + 1,
        }
        partial = self.snapshot_path.with_suffix(".partial")
        torch.save(snapshot, partial)
        partial.replace(self.snapshot_path)
        print(f"Epoch {epoch} | Training snapshot saved at {self.snapshot_path}", flush=True)

    def _run_epoch(self, epoch):
        self.data.sampler.set_epoch(epoch)
        for inputs, targets in self.data:
            self.optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(self.model(inputs), targets)
            loss.backward()
            self.optimizer.step()
            time.sleep(self.options.seconds_per_step)
        if self.rank == 0:
            print(f"Epoch {epoch} | Steps {len(self.data)} | Loss {loss.item():.4f}", flush=True)

    def train(self):
        for epoch in range(self.epochs_run, self.options.epochs):
            self._run_epoch(epoch)
            if self.rank == 0 and (epoch + 1) % self.options.save_every == 0:
                self._save_snapshot(epoch)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--save-every", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--seconds-per-step", type=float, default=0.1)
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    inputs = torch.randn(160, 8)
    dataset = TensorDataset(inputs, inputs.sum(dim=1, keepdim=True))
    data = DataLoader(dataset, batch_size=options.batch_size, sampler=DistributedSampler(dataset))
    model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    Trainer(model, data, optimizer, options.directory / "snapshot.pt", options).train()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
