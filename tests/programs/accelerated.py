# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A loop of one's own on Hugging Face's Accelerate that saves its state every few steps, as its examples do."""

import argparse
import time
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output_dir", type=Path, required=True)
    parser.add_argument("--num_epochs", type=int, default=8)
    parser.add_argument("--checkpointing_steps", type=int, default=20)
    parser.add_argument("--seconds_per_step", type=float, default=0.1)
    args = parser.parse_args()
    accelerator = Accelerator(cpu=True, project_dir=args.output_dir)
    set_seed(0)
    inputs = torch.randn(640, 8)
    dataset = torch.utils.data.TensorDataset(inputs, inputs.sum(dim=1, keepdim=True))
    model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=1000)
    loader = torch.utils.data.DataLoader(dataset, batch_size=8, shuffle=True)
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)

    completed_steps = 0
    steps_saved = sorted(int(path.name.removeprefix("step_")) for path in args.output_dir.glob("step_*"))
    if steps_saved:
        completed_steps = steps_saved[-1]
        accelerator.print(f"Resumed from checkpoint: step_{completed_steps}", flush=True)
        accelerator.load_state(args.output_dir / f"step_{completed_steps}")
    starting_epoch, resume_step = divmod(completed_steps, len(loader))

    for epoch in range(starting_epoch, args.num_epochs):
        model.train()
        loader.set_epoch(epoch)
        first = epoch == starting_epoch and resume_step > 0
        for inputs, targets in accelerator.skip_first_batches(loader, resume_step) if first else loader:
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
            accelerator.backward(loss)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
            time.sleep(args.seconds_per_step)
            completed_steps += 1
            if completed_steps % args.checkpointing_steps == 0:
                accelerator.save_state(args.output_dir / f"step_{completed_steps}")
        accelerator.print(f"epoch {epoch}: step {completed_steps}, loss {loss.item():.4f}", flush=True)
    accelerator.end_training()


if __name__ == "__main__":
    main()
