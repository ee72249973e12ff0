# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A program in several modules, of which only PYTHONPATH says where they are; a job, and a workload for a probe."""

import argparse
import time
from pathlib import Path

import own_parts
import torch


def step(batch_size, device):
    """A training step that takes memory as its batch does."""
    return own_parts.training_step(batch_size, torch.device(device))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--uses", default="")
    options = parser.parse_args()
    torch.distributed.init_process_group("gloo")
    # Where a program saves that was written on a desk.
    Path("out").mkdir(exist_ok=True)
    torch.save({"step": step(2, "cpu")()}, f"out/rank{torch.distributed.get_rank()}.pt")
    if options.uses:
        print("uses", __import__(options.uses).__file__, flush=True)
    time.sleep(options.seconds)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
