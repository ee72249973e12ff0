# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A training script as a user of the collection writes one: ``trainee.py STEPS SECONDS_A_STEP``.

It learns a line from a global batch that its ranks share, so that its loss does not depend on where they run. Every
node keeps its checkpoints, and whoever has the newest one gives it to the others.
"""

import faulthandler
import json
import os
import signal
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record

EVERY = 5
SAMPLES = 12
directory = Path(os.environ["GAUDI3_SCALE_JOB_DIR"], "checkpoints")


def say(kind: str, **values: object) -> None:
    if dist.get_rank() == 0:
        with Path(os.environ["GAUDI3_SCALE_METRICS"]).open("a") as stream:
            stream.write(json.dumps({"kind": kind, "time": time.time(), **values}) + "\n")


def replace(path: Path, write) -> None:
    unfinished = path.with_name(f".{path.name}.new")
    write(unfinished)
    unfinished.replace(path)


def save(step: int, weights: torch.Tensor) -> None:
    if int(os.environ["LOCAL_RANK"]) == 0:
        replace(directory / f"{step:08}.pt", lambda path: torch.save(weights, path))
    say("checkpoint", step=step)


def resume(weights: torch.Tensor) -> int:
    steps = [torch.tensor([0]) for _ in range(dist.get_world_size())]
    mine = max((int(path.stem) for path in directory.glob("[0-9]*.pt")), default=0)
    dist.all_gather(steps, torch.tensor([mine]))
    newest = max(int(step) for step in steps)
    owner = next(rank for rank, step in enumerate(steps) if int(step) == newest)
    if owner == dist.get_rank() and newest:
        weights.copy_(torch.load(directory / f"{newest:08}.pt"))
    dist.broadcast(weights, owner)
    return newest


@record
def main() -> None:
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    reported: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: reported.append(number))
    last, seconds = int(sys.argv[1]), float(sys.argv[2])
    dist.init_process_group("gloo")
    directory.mkdir(parents=True, exist_ok=True)
    weights = torch.zeros(2)
    step = resume(weights)
    say("start", step=step, resumed_from=step or None, world_size=dist.get_world_size())
    while step < last:
        step += 1
        began = time.time()
        generator = torch.Generator().manual_seed(step)
        inputs = torch.randn(SAMPLES, generator=generator)[dist.get_rank() :: dist.get_world_size()]
        errors = weights[0] * inputs + weights[1] - (3 * inputs + 1)
        time.sleep(seconds)
        busy = time.time() - began
        # Gradient and loss of the whole batch, and whether anybody was told to stop.
        shared = torch.tensor([(errors * inputs).sum(), errors.sum(), (errors**2).sum(), float(bool(reported))])
        dist.all_reduce(shared)
        weights -= 0.05 * shared[:2] / SAMPLES
        say("step", step=step, max_steps=last, loss=float(shared[2]) / SAMPLES)
        done = {"rank": dist.get_rank(), "step": step, "time": time.time(), "busy_seconds": busy, "pid": os.getpid()}
        progress = Path(os.environ["GAUDI3_SCALE_PROGRESS_DIR"], f"{os.environ['LOCAL_RANK']}.json")
        replace(progress, lambda path, done=done: path.write_text(json.dumps(done)))
        if shared[3]:
            save(step, weights)
            say("stopped", step=step, reason="SIGTERM")
            break
        if step % EVERY == 0 or step == last:
            save(step, weights)
    dist.destroy_process_group()


main()
