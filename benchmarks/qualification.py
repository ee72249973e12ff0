# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How long each stage of `qualify_nodes.yml`, level `quick`, takes over 2, 4 and 8 nodes.

    .venv/bin/python -m benchmarks.qualification

Makes a sandbox of its own and removes it again; all nodes share the cores of this machine, so that a stage in which
each computes takes longer with their number here, and only here. `hl_qual` is simulated and takes no time: on servers
the self test takes the minutes of the vendor's tests, the same for any number of nodes. Seconds compare only within
one run.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from benchmarks.playbook_run import run, sandbox

STAGES = ("self_test", "compute", "collectives", "pairs", "ring", "training")


def main() -> int:
    """Print a line for each number of nodes; returns how many runs failed."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--nodes", type=int, nargs="+", default=[2, 4, 8], metavar="N", help="numbers of nodes")
    counts = options.parse_args().nodes
    failed = 0
    try:
        print(f"{'nodes':>5} {'rounds':>7}" + "".join(f"{stage:>13}" for stage in STAGES) + "   (seconds)")
        for count in counts:
            sandbox("up", "--nodes", str(count))
            for layer in ("driver", "venv", "flags"):
                run(layer)
            with tempfile.TemporaryDirectory() as directory:
                ended, _tasks = run("qualify_nodes", gaudi_report_target=directory)
                failed += ended == "failed"
                data = json.loads(Path(directory, "qualify_nodes.json").read_text())["data"]
            rounds = max((pair["round"] for pair in data["pairs"]), default=0)
            print(f"{count:5} {rounds:7}" + "".join(f"{data['seconds'].get(stage, 0):13.1f}" for stage in STAGES))
    finally:
        sandbox("down")
    return failed


if __name__ == "__main__":
    sys.exit(main())
