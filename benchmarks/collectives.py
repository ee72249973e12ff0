# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What `gaudi3_scale.collectives` adds to an all-reduce, against a bare loop of torch.distributed.

    OMP_NUM_THREADS=1 .venv/bin/torchrun --standalone --nproc-per-node 2 -m benchmarks.collectives

Both in the same processes, one after the other, again and again; prints the medians of rank 0 and their ratio, whose
goal is at most 1.03.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time

import torch
import torch.distributed

from gaudi3_scale.collectives.measurement import measure
from gaudi3_scale.collectives.operations import COLLECTIVES, Place
from gaudi3_scale.ranks import join, ranks_from

CPU = torch.device("cpu")
BYTES = 4


def main() -> None:
    """Measure each size in turn."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--bytes", type=int, nargs="+", default=[1 << 16, 1 << 20, 1 << 24])
    options.add_argument("--rounds", type=int, default=21)
    arguments = options.parse_args()
    ranks = ranks_from(os.environ)
    join(ranks, CPU)
    for size in arguments.bytes:
        place = Place(ranks.rank, ranks.world_size, size // BYTES)
        ours, bare = [], []
        for _round in range(arguments.rounds):
            measured = measure(COLLECTIVES["all_reduce"], place, CPU, torch.float32, 0.2)
            ours.append(measured.seconds)
            bare.append(loop(place, measured.repeats))
        if ranks.rank == 0:
            one, other = statistics.median(ours), statistics.median(bare)
            print(f"{size:10} bytes: ours {one * 1e6:9.1f} us, bare {other * 1e6:9.1f} us, ratio {one / other:.3f}")
    torch.distributed.destroy_process_group()


def loop(place: Place, calls: int) -> float:
    """Seconds of a call, as anybody would write it."""
    vector = torch.zeros(place.elements)
    torch.distributed.all_reduce(vector)
    torch.distributed.barrier()
    start = time.perf_counter()
    for _call in range(calls):
        torch.distributed.all_reduce(vector)
    return (time.perf_counter() - start) / calls


if __name__ == "__main__":
    main()
