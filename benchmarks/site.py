# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How much work `site.yml` is: tasks, module runs on a node and seconds per layer, first and second run.

    .venv/bin/python -m benchmarks.site --nodes 1 2 4

Makes sandboxes of its own, runs the playbook through ansible-runner (the engine of AWX) and removes them again.
Counts compare between machines; seconds only within one run of this program.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchmarks.playbook_run import run, sandbox, show


def main() -> int:
    """Measure each size in turn; returns the number of runs that failed."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--nodes", type=int, nargs="+", default=[1, 2, 4], metavar="N", help="sandbox sizes")
    options.add_argument("--json", type=Path, help="also write the figures here")
    arguments = options.parse_args()
    figures = [figure for nodes in arguments.nodes for figure in measure(nodes)]
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")
    return sum(figure["status"] != "successful" for figure in figures)


def measure(nodes: int) -> list[dict[str, object]]:
    """First and second run on ``nodes`` virgin nodes."""
    sandbox("up", "--nodes", str(nodes))
    try:
        return [show(nodes, label, *run("site")) for label in ("first run", "second run")]
    finally:
        sandbox("down")


if __name__ == "__main__":
    sys.exit(main())
