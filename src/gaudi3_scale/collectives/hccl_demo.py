# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Intel's hccl_demo over all nodes, told in our lines: ``torchrun ... -m gaudi3_scale.collectives.hccl_demo``.

One process a node, which starts ``run_hccl_demo.py`` for each collective and size; that starts the node's ranks itself
(HabanaAI/hccl_demo, README). It compares bandwidths without PyTorch with those of ``gaudi3_scale.collectives``.

Its ``NW Bandwidth`` is what we call busbw. In all-gather its size is what a rank gives, and ours what it gets. Builds
before August 2024 print MB/s, later ones GB/s. Never run on cards by us: UNVERIFIED beyond the words of its source.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from gaudi3_scale.collectives.operations import COLLECTIVES
from gaudi3_scale.collectives.sizes import sizes_of, to_bytes
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.json_lines import line_writer, no_line
from gaudi3_scale.options import ArgumentParser, positive
from gaudi3_scale.ranks import ranks_from, run_rank

PROGRAM = "run_hccl_demo.py"
# Ours to theirs.
TESTS = {name: "all2all" if name == "all_to_all" else name for name in COLLECTIVES}
_BANDWIDTH = re.compile(r"\[BENCHMARK\]\s+NW Bandwidth\s*:\s*([0-9.]+)\s*([GM])B/s")
_SAID_LINES = 5


def main() -> None:
    run_rank("gaudi3_scale.collectives.hccl_demo", measure_by_hccl_demo, sys.argv[1:])


def measure_by_hccl_demo(arguments: Sequence[str]) -> None:
    """A line for each collective and size; raises GaudiError where the program fails or tells no bandwidth."""
    options = _parse(arguments)
    ranks = ranks_from(os.environ)
    if ranks.local_world_size != 1:
        raise GaudiError(f"{PROGRAM} starts the ranks of a node itself; give torchrun --nproc-per-node 1.")
    if not Path(options.directory, PROGRAM).is_file():
        raise GaudiError(
            f"--directory {options.directory}: no {PROGRAM} there; clone and build hccl_demo on each node."
        )
    world_size = ranks.world_size * options.ranks_per_node
    write = line_writer(options.metrics) if ranks.rank == 0 else no_line
    for name in options.collectives:
        for size in options.bytes or sizes_of(options.min_bytes, options.max_bytes, options.factor):
            said = _run(options, name, _their_size(name, size, world_size), ranks.rank, world_size)
            if ranks.rank == 0:
                write("collective", **_line(name, size, _busbw(said, name, size), world_size, ranks.world_size))


def _their_size(name: str, size: int, world_size: int) -> int:
    """What of the larger buffer a rank gives in all-gather; whole floats."""
    return max(4, size // world_size // 4 * 4) if name == "all_gather" else size


def _run(options: argparse.Namespace, name: str, size: int, node: int, world_size: int) -> str:
    command = [
        *(sys.executable, PROGRAM, "--nranks", str(world_size), "--ranks_per_node", str(options.ranks_per_node)),
        *("--node_id", str(node), "--test", TESTS[name], "--size", str(size), "--loop", str(options.loop)),
    ]
    meeting = f"{os.environ.get('MASTER_ADDR', '127.0.0.1')}:{options.port}"
    try:
        done = subprocess.run(
            command,
            cwd=options.directory,
            env={**os.environ, "HCCL_COMM_ID": meeting},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=options.timeout,
            text=True,
            errors="replace",
            check=False,
        )
    except subprocess.TimeoutExpired as expired:
        raise GaudiError(
            f"{PROGRAM} did not finish {name} of {size} bytes within {options.timeout} s on node {node}; see "
            "whether each node runs it, and the links between them."
        ) from expired
    if done.returncode != 0:
        last = " | ".join(done.stdout.strip().splitlines()[-_SAID_LINES:])
        raise GaudiError(f"{PROGRAM} ended {name} of {size} bytes with {done.returncode} on node {node}: {last}")
    return done.stdout


def _busbw(said: str, name: str, size: int) -> float:
    """GB/s, 10^9 bytes."""
    found = _BANDWIDTH.search(said)
    if not found:
        raise GaudiError(f"{PROGRAM} reported no NW Bandwidth for {name} of {size} bytes; run it manually.")
    return float(found[1]) * (1.0 if found[2] == "G" else 1e-3)


def _line(name: str, size: int, busbw: float, world_size: int, nodes: int) -> dict[str, object]:
    algbw = busbw / COLLECTIVES[name].factor(world_size)
    return {
        "collective": name,
        "world_size": world_size,
        "nodes": nodes,
        "device": "hpu",
        "dtype": "float32",
        "bytes": size,
        "seconds": size / algbw / 1e9,
        "algbw_gb_per_s": algbw,
        "busbw_gb_per_s": busbw,
    }


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = ArgumentParser(
        prog="gaudi3_scale.collectives.hccl_demo", description="Intel's hccl_demo over all nodes, in our lines."
    )
    parser.add_argument("--directory", required=True, help=f"where {PROGRAM} is, built, on each node")
    parser.add_argument("--ranks-per-node", type=positive, required=True, help="cards of a node")
    parser.add_argument(
        "--collectives", nargs="+", choices=list(COLLECTIVES), default=list(COLLECTIVES), help="which (default: all)"
    )
    parser.add_argument("--bytes", type=to_bytes, nargs="+", help="these sizes instead of a range")
    parser.add_argument("--min-bytes", type=to_bytes, default="1M", help="smallest size (default: %(default)s)")
    parser.add_argument("--max-bytes", type=to_bytes, default="256M", help="largest size (default: %(default)s)")
    parser.add_argument("--factor", type=positive, default=4, help="from one size to the next (default: %(default)s)")
    parser.add_argument("--loop", type=positive, default=1000, help="calls of each size (default: %(default)s)")
    parser.add_argument("--port", type=positive, default=5555, help="at which they meet (default: %(default)s)")
    parser.add_argument("--timeout", type=positive, default=600, help="seconds of each size (default: %(default)s)")
    parser.add_argument(
        "--metrics",
        default=os.environ.get("GAUDI3_SCALE_METRICS"),
        help="file that gets the result lines (default: $GAUDI3_SCALE_METRICS, else standard output)",
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
