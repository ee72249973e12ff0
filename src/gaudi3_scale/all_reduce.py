# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""One all-reduce over all ranks whose sum is checked and timed: ``torchrun ... -m gaudi3_scale.all_reduce``.

Every rank gives a vector filled with its rank plus one and checks every element of the sum. Rank 0 writes one line for
each size::

    {"kind": "all_reduce", "world_size": 16, "elements": 1048576, "sum": 136.0, "expected": 136.0,
     "seconds": 0.0021, "busbw_gb_per_s": 3.7, "device": "hpu", ...}

``seconds`` is the median of the repeats after the first. ``busbw_gb_per_s`` is bytes / seconds * 2 (n - 1) / n in
10^9 bytes a second: what each rank's link carried, comparable between numbers of ranks (NVIDIA's nccl-tests and
Intel's hccl_demo define it so). It is 0 for one rank.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from typing import Sequence

import torch
import torch.distributed

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.devices import choose_device, local_device, synchronize
from gaudi3_scale.json_lines import line_writer, no_line
from gaudi3_scale.options import ArgumentParser, positive
from gaudi3_scale.ranks import Ranks, join, ranks_from, run_rank

# Of a float32 value.
BYTES = 4


def main() -> None:
    run_rank("gaudi3_scale.all_reduce", check_all_reduce, sys.argv[1:])


def check_all_reduce(arguments: Sequence[str]) -> None:
    """Do what the module says; raises GaudiError on the ranks whose sum is wrong."""
    options = _parse(arguments)
    ranks = ranks_from(os.environ)
    device = local_device(choose_device(options.device), ranks.local_rank)
    write = line_writer(options.metrics) if ranks.rank == 0 else no_line
    join(ranks, device)
    for elements in options.elements:
        runs = [_reduce_once(ranks, device, elements) for _run in range(options.repeats + 1)]
        median = statistics.median(seconds for seconds, _sum in runs[1:])
        write(
            "all_reduce",
            world_size=ranks.world_size,
            nodes=ranks.nodes,
            device=device.type,
            elements=elements,
            sum=runs[-1][1],
            expected=expected_sum(ranks.world_size),
            seconds=median,
            busbw_gb_per_s=bus_bandwidth(BYTES * elements, median, ranks.world_size),
        )


def expected_sum(world_size: int) -> float:
    return world_size * (world_size + 1) / 2


def bus_bandwidth(size: int, seconds: float, world_size: int) -> float:
    """GB/s (10^9) through each rank's link for an all-reduce of ``size`` bytes in ``seconds``."""
    return size / seconds * 2 * (world_size - 1) / world_size / 1e9


def _reduce_once(ranks: Ranks, device: torch.device, elements: int) -> tuple[float, float]:
    """Seconds of one all-reduce of float32 values, and the sum that every element was found to have."""
    vector = torch.full((elements,), float(ranks.rank + 1), device=device)
    synchronize(device)
    torch.distributed.barrier()
    start = time.perf_counter()
    torch.distributed.all_reduce(vector)
    synchronize(device)
    seconds = time.perf_counter() - start
    expected = expected_sum(ranks.world_size)
    low, high = vector.min().item(), vector.max().item()
    if low != expected or high != expected:
        raise GaudiError(
            f"all-reduce over {ranks.world_size} ranks gave rank {ranks.rank} sums from {low:g} to {high:g} instead of "
            f"{expected:g}; check the links between the nodes."
        )
    return seconds, low


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = ArgumentParser(prog="gaudi3_scale.all_reduce", description="All-reduce over all ranks, checked and timed.")
    parser.add_argument("--device", default="auto", help="auto, hpu, cuda or cpu (default: %(default)s)")
    parser.add_argument(
        "--elements", type=positive, nargs="+", default=[1 << 20], help="float32 values of each size (default: 1048576)"
    )
    parser.add_argument("--repeats", type=positive, default=5, help="timed repeats (default: %(default)s)")
    parser.add_argument(
        "--metrics",
        default=os.environ.get("GAUDI3_SCALE_METRICS"),
        help="file that gets the result line (default: $GAUDI3_SCALE_METRICS, else standard output)",
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
