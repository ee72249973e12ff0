# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How much work the driver is: tasks, module runs on a node and seconds to install, find, upgrade and find it again.

    .venv/bin/python -m benchmarks.upgrade --nodes 1 2

Makes sandboxes of its own, runs the playbooks through ansible-runner (the engine of AWX) and removes them again.
Counts compare between machines; seconds only within one run of this program, and so does the ratio at the end.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from benchmarks.playbook_run import run, sandbox, show

OLD, NEW = "1.23.0", "1.24.1"
# The driver alone, on all nodes at once: what batches and other layers cost depends on the site.
UPGRADE = {
    "gaudi_upgrade_release": NEW,
    "gaudi_upgrade_layers": [],
    "gaudi_upgrade_serial": "100%",
}
RUNS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "first installation": ("driver", {"gaudi_release": OLD}),
    "installation again": ("driver", {"gaudi_release": OLD}),
    "upgrade": ("upgrade_driver", UPGRADE),
    "upgrade again": ("upgrade_driver", UPGRADE),
}
# What a run of the role that finds everything done may take of the first run's time.
MOST_OF_FIRST = 1 / 3


def main() -> int:
    """Measure each size in turn; returns the number of runs that failed, and of ratios that are too high."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--nodes", type=int, nargs="+", default=[1, 2], metavar="N", help="sandbox sizes")
    options.add_argument("--json", type=Path, help="also write the figures here")
    arguments = options.parse_args()
    measured = [measure(nodes) for nodes in arguments.nodes]
    figures = [figure for size in measured for figure in size]
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")
    too_slow = [ratio for ratio in map(show_ratio, measured) if ratio > MOST_OF_FIRST]
    return len(too_slow) + sum(figure["status"] != "successful" for figure in figures)


def measure(nodes: int) -> list[dict[str, object]]:
    """The runs in their order, on ``nodes`` virgin nodes."""
    sandbox("up", "--nodes", str(nodes))
    try:
        return [show(nodes, label, *run(playbook, **variables)) for label, (playbook, variables) in RUNS.items()]
    finally:
        sandbox("down")


def show_ratio(figures: list[dict[str, object]]) -> float:
    """Print what the role takes of its first run's time where everything is done; returns that part."""
    first, again = (figure["plays"][-1]["seconds"] for figure in figures[:2])  # type: ignore[index]
    ratio = float(again / first)
    print(f"{figures[0]['nodes']} node(s): installation again takes {ratio:.2f} of the first one's time"
          f" ({again:.1f} s of {first:.1f} s; at most {MOST_OF_FIRST:.2f})")  # fmt: skip
    return ratio


if __name__ == "__main__":
    sys.exit(main())
