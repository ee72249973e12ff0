# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""FSDP2 with torch.distributed.checkpoint, after PyTorch's tutorials: ``fsdp2_dcp.py DIRECTORY [options]``."""

import argparse
import os
import re
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.checkpoint.stateful import Stateful
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


class AppState(Stateful):
    def __init__(self, model, optimizer):
        self.model = model
        self.optimizer = optimizer
        self.step = 0

    def state_dict(self):
        model, optimizer = get_state_dict(self.model, self.optimizer)
        return {"model": model, "optimizer": optimizer, "step": self.step}

    def load_state_dict(self, state_dict):
        set_state_dict(
            self.model, self.optimizer, model_state_dict=state_dict["model"], optim_state_dict=state_dict["optimizer"]
        )
        self.step = state_dict["step"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("--max-steps", type=int, default=200)
    parser.add_argument("--save-every", type=int, default=20)
    parser.add_argument("--seconds-per-step", type=float, default=0.1)
    options = parser.parse_args()
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    app = AppState(model, optimizer)
    names = [re.fullmatch(r"step-(\d+)", path.name) for path in options.directory.iterdir()]
    steps = sorted(int(name[1]) for name in names if name)
    if steps:
        dcp.load({"app": app}, checkpoint_id=options.directory / f"step-{steps[-1]}")
        print(f"rank {rank} resumes at step {app.step}", flush=True)
    loss = torch.tensor(float("nan"))
    while app.step < options.max_steps:
        inputs = torch.randn(16, 8)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        time.sleep(options.seconds_per_step)
        app.step += 1
        if app.step % options.save_every == 0:
            dcp.save({"app": app}, checkpoint_id=options.directory / f"step-{app.step}")
    if rank == 0:
        print(f"Done at step {app.step}, loss {loss.item():.4f}", flush=True)
    dist.destroy_process_group()
    # The mesh keeps a group beyond this, whose gloo threads can abort a process that Python ends (torch 2.13).
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
