# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A loop of one's own on Lightning Fabric, as its examples save and load: ``fabric_loop.py DIRECTORY [options]``."""

import argparse
import os
import time
from pathlib import Path

import torch
from lightning.fabric import Fabric


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("--max-steps", type=int, default=200)
    parser.add_argument("--save-every", type=int, default=20)
    parser.add_argument("--seconds-per-step", type=float, default=0.1)
    options = parser.parse_args()
    fabric = Fabric(
        accelerator="cpu",
        devices=int(os.environ["LOCAL_WORLD_SIZE"]),
        num_nodes=int(os.environ["GROUP_WORLD_SIZE"]),
        strategy="ddp",
    )
    fabric.launch()
    fabric.seed_everything(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
    model, optimizer = fabric.setup(model, torch.optim.AdamW(model.parameters(), lr=3e-3))
    state = {"model": model, "optimizer": optimizer, "step": 0}
    saved = sorted(options.directory.glob("step-*.ckpt"))
    if saved:
        fabric.load(saved[-1], state)
        print(f"rank {fabric.global_rank} resumes at step {state['step']}", flush=True)
    while state["step"] < options.max_steps:
        inputs = torch.randn(16, 8)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        fabric.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        time.sleep(options.seconds_per_step)
        state["step"] += 1
        if state["step"] % options.save_every == 0:
            fabric.save(options.directory / f"step-{state['step']:06d}.ckpt", state)
    fabric.print(f"Done at step {state['step']}, loss {loss.item():.4f}", flush=True)


if __name__ == "__main__":
    main()
