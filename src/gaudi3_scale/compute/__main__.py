# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Each rank looks at its own card, and rank 0 writes one line of all: ``torchrun ... -m gaudi3_scale.compute``::

    {"kind": "compute", "device": "hpu", "ranks": [{"matmul_tflops": 400.1, "copy_gb_per_s": 2100.0, "wrong": 0}, ...]}

A rank whose card gave a wrong value ends with an error that names it, once the line is written.
"""

from __future__ import annotations

import argparse
import datetime
import os
import sys
from typing import Sequence

import torch

from gaudi3_scale.compute.exact import wrong_elements
from gaudi3_scale.compute.memory import wrong_words
from gaudi3_scale.compute.rates import copy_gb_per_s, matmul_tflops
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.devices import choose_device, local_device
from gaudi3_scale.json_lines import line_writer, no_line
from gaudi3_scale.options import ArgumentParser, not_negative, positive, positive_real
from gaudi3_scale.ranks import gather_reals, join, ranks_from, run_rank
from gaudi3_scale.reached import MEASURING, tell

MIB = 1 << 20
# Counts are gathered as float32.
_MOST_COUNTED = 1 << 24


def main() -> None:
    run_rank("gaudi3_scale.compute", look_at_cards, sys.argv[1:])


def look_at_cards(arguments: Sequence[str]) -> None:
    """Do what the module says; raises GaudiError on the ranks whose card is wrong."""
    options = _parse(arguments)
    ranks = ranks_from(os.environ)
    device = local_device(choose_device(options.device), ranks.local_rank)
    write = line_writer(options.metrics) if ranks.rank == 0 else no_line
    tell(MEASURING)
    wrongs = [
        str(wrong)
        for seed in range(options.products)
        for dtype in (torch.float32, torch.bfloat16)
        if (wrong := wrong_elements(device, dtype, seed))
    ]
    words = wrong_words(device, options.memory_mib * MIB) if options.memory_mib else 0
    if words:
        wrongs.append(f"{words} words of {options.memory_mib} MiB of its memory were not what had been written")
    figures = [
        matmul_tflops(device, options.side, options.seconds),
        copy_gb_per_s(device, options.copy_mib * MIB, options.seconds),
        float(min(len(wrongs), _MOST_COUNTED)),
    ]
    join(ranks, device, datetime.timedelta(seconds=options.timeout))
    names = ("matmul_tflops", "copy_gb_per_s", "wrong")
    write("compute", device=device.type, ranks=[dict(zip(names, each)) for each in gather_reals(figures, device)])
    if wrongs:
        raise GaudiError(f"the card of rank {ranks.rank} computes wrongly: {'; '.join(wrongs[:2])}; have it inspected.")


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = ArgumentParser(
        prog="gaudi3_scale.compute", description="Whether each card computes correctly, and how fast."
    )
    parser.add_argument("--device", default="auto", help="auto, hpu, cuda or cpu (default: %(default)s)")
    parser.add_argument("--products", type=positive, default=4, help="exact ones of each type (default: %(default)s)")
    parser.add_argument("--side", type=positive, default=8192, help="of the timed product (default: %(default)s)")
    parser.add_argument("--copy-mib", type=positive, default=1024, help="that are copied (default: %(default)s)")
    parser.add_argument("--seconds", type=positive_real, default=1.0, help="of each rate, about (default: %(default)s)")
    parser.add_argument("--memory-mib", type=not_negative, default=0, help="that are filled and read (default: none)")
    parser.add_argument("--timeout", type=positive_real, default=600, help="seconds for others (default: %(default)s)")
    parser.add_argument(
        "--metrics",
        default=os.environ.get("GAUDI3_SCALE_METRICS"),
        help="file that gets the line (default: $GAUDI3_SCALE_METRICS, else standard output)",
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
