# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Every collective at every size over all ranks, checked and timed: ``torchrun ... -m gaudi3_scale.collectives``.

Rank 0 writes one line for each collective and size::

    {"kind": "collective", "collective": "all_reduce", "world_size": 16, "nodes": 2, "device": "hpu",
     "dtype": "float32", "bytes": 33554432, "seconds": 0.0021, "algbw_gb_per_s": 16.0, "busbw_gb_per_s": 30.0,
     "repeats": 476, ...}

A rank that got a wrong value ends with an error that names it. What size, algbw and busbw mean: ``operations.py``.
"""

from __future__ import annotations

import argparse
import datetime
import os
import sys
from typing import Sequence

import torch

from gaudi3_scale.collectives.measurement import Measured, measure
from gaudi3_scale.collectives.operations import COLLECTIVES, EXACT, Collective, Place
from gaudi3_scale.collectives.sizes import sizes_of, to_bytes
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._node.quantities import quantity
from gaudi3_scale.devices import choose_device, local_device
from gaudi3_scale.json_lines import line_writer, no_line
from gaudi3_scale.options import ArgumentParser, positive, positive_real
from gaudi3_scale.ranks import Ranks, join, ranks_from, run_rank
from gaudi3_scale.reached import MEASURING, tell

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
HEADER = ("collective", "bytes", "calls", "time (us)", "algbw (GB/s)", "busbw (GB/s)")


def main() -> None:
    run_rank("gaudi3_scale.collectives", measure_collectives, sys.argv[1:])


def measure_collectives(arguments: Sequence[str]) -> None:
    """Do what the module says; raises GaudiError on the ranks that got wrong values."""
    options = _parse(arguments)
    ranks = ranks_from(os.environ)
    chosen, dtype = [COLLECTIVES[name] for name in options.collectives], DTYPES[options.dtype]
    _check_exact(chosen, ranks, options.dtype)
    sizes = options.bytes or sizes_of(options.min_bytes, options.max_bytes, options.factor)
    device = local_device(choose_device(options.device), ranks.local_rank)
    is_first = ranks.rank == 0
    write = line_writer(options.metrics) if is_first else no_line
    join(ranks, device, datetime.timedelta(seconds=options.timeout))
    tell(MEASURING)
    if is_first:
        _show(*HEADER)
    for collective in chosen:
        for size in sizes:
            measured = measure(collective, _place(ranks, size, dtype), device, dtype, options.seconds)
            write("collective", **_line(collective, measured, ranks, device.type, options.dtype))
            if is_first:
                _show(*_row(collective, measured))


def _place(ranks: Ranks, size: int, dtype: torch.dtype) -> Place:
    """At least an element for each rank, and the same number for all."""
    part = max(1, size // dtype.itemsize // ranks.world_size)
    return Place(ranks.rank, ranks.world_size, part * ranks.world_size)


def _check_exact(chosen: Sequence[Collective], ranks: Ranks, dtype: str) -> None:
    most = EXACT[DTYPES[dtype]] // 2
    if ranks.world_size > most and any(one.summed for one in chosen):
        raise GaudiError(
            f"--dtype {dtype}: it holds the sum of at most {most} ranks exactly, and these are {ranks.world_size}; use "
            "--dtype float32."
        )


def _line(collective: Collective, measured: Measured, ranks: Ranks, device: str, dtype: str) -> dict[str, object]:
    return {
        "collective": collective.name,
        "world_size": ranks.world_size,
        "nodes": ranks.nodes,
        "device": device,
        "dtype": dtype,
        "bytes": measured.size,
        "seconds": measured.seconds,
        "algbw_gb_per_s": measured.algbw,
        "busbw_gb_per_s": measured.busbw,
        "repeats": measured.repeats,
    }


def _row(collective: Collective, measured: Measured) -> list[str]:
    figures = (measured.seconds * 1e6, measured.algbw, measured.busbw)
    return [collective.name, f"{measured.size:,}", f"{measured.repeats:,}", *map(quantity, figures)]


def _show(*cells: str) -> None:
    # Standard output may have the lines.
    sys.stderr.write(f"{cells[0]:16}" + "".join(f"{cell:>14}" for cell in cells[1:]) + "\n")


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = ArgumentParser(
        prog="gaudi3_scale.collectives", description="Collectives over all ranks, checked and timed."
    )
    parser.add_argument(
        "--collectives", nargs="+", choices=list(COLLECTIVES), default=list(COLLECTIVES), help="which (default: all)"
    )
    parser.add_argument("--device", default="auto", help="auto, hpu, cuda or cpu (default: %(default)s)")
    parser.add_argument("--dtype", choices=list(DTYPES), default="float32", help="(default: %(default)s)")
    parser.add_argument(
        "--bytes", type=to_bytes, nargs="+", help="these sizes, such as 64K 1M 256M, instead of a range"
    )
    parser.add_argument("--min-bytes", type=to_bytes, default="8", help="smallest size (default: %(default)s)")
    parser.add_argument("--max-bytes", type=to_bytes, default="256M", help="largest size (default: %(default)s)")
    parser.add_argument("--factor", type=positive, default=4, help="from one size to the next (default: %(default)s)")
    parser.add_argument("--seconds", type=positive_real, default=1.0, help="of each size, about (default: %(default)s)")
    parser.add_argument("--timeout", type=positive_real, default=600, help="seconds for a call (default: %(default)s)")
    parser.add_argument(
        "--metrics",
        default=os.environ.get("GAUDI3_SCALE_METRICS"),
        help="file that gets the result lines (default: $GAUDI3_SCALE_METRICS, else standard output)",
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
