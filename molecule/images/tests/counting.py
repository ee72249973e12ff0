# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A training as far as a job sees of one: ranks that meet in each step, report it, and resume from the last one kept.

``counting.py DIRECTORY STEPS``. The node library is no part of its image.
"""

import signal
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

import gaudi3_scale

kept, steps = Path(sys.argv[1], "step"), int(sys.argv[2])
ending = []
signal.signal(signal.SIGTERM, lambda *_: ending.append(1))
dist.init_process_group("gloo")
first = int(kept.read_text()) if kept.exists() else 0
print(f"from step {first}", flush=True)
for step in range(first + 1, steps + 1):
    told = torch.tensor([float(bool(ending))])
    dist.all_reduce(told, op=dist.ReduceOp.MAX)
    gaudi3_scale.report_step(step, loss=1 / step, samples=1, max_steps=steps)
    if told or step % 10 == 0:
        if dist.get_rank() == 0:
            new = kept.with_suffix(".new")
            new.write_text(str(step))
            new.replace(kept)
        if told:
            break
    time.sleep(0.2)
dist.destroy_process_group()
