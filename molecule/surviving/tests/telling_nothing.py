# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A plain DDP loop as people have it: ``telling_nothing.py STEPS``. It knows nothing of this collection.

Each node keeps a checkpoint of its own in a directory of the script's choice.
"""

import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

KEPT = Path("/var/tmp/telling_nothing/last.pt")
EVERY = 10


def main() -> None:
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    model = DistributedDataParallel(torch.nn.Linear(64, 64))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    begin = torch.tensor(0)
    if KEPT.exists():
        kept = torch.load(KEPT)
        model.load_state_dict(kept["model"])
        begin = torch.tensor(kept["step"])
    dist.all_reduce(begin, dist.ReduceOp.MIN)
    print(f"rank {dist.get_rank()} begins after step {int(begin)}", flush=True)
    for step in range(int(begin) + 1, int(sys.argv[1]) + 1):
        samples = torch.randn(128, 64)
        loss = ((model(samples) - samples) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.2)
        if step % EVERY == 0:
            if int(os.environ["LOCAL_RANK"]) == 0:
                KEPT.parent.mkdir(exist_ok=True)
                torch.save({"model": model.state_dict(), "step": step}, KEPT.with_suffix(".new"))
                KEPT.with_suffix(".new").replace(KEPT)
            print(f"step {step} loss {loss.item():.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
