# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How long it takes to plan the addresses of a big cluster's ports, against Ansible reading its inventory.

    .venv/bin/python -m benchmarks.fabric_plan

Both are done in this process, so that neither pays for the start of a program. Prints the medians of some rounds, the
seconds of the plan, and their ratio.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader

from plugins.module_utils._cards.hardware import board_of
from plugins.module_utils._fabric.layer3.address_plan import make_plan, slots_of

GAUDI3 = "0x1060"
GOAL_S = 1.0


def main() -> int:
    """Measure and print; returns 1 where the plan misses the goal."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--hosts", type=int, default=512, metavar="N", help="hosts of the cluster")
    options.add_argument("--rounds", type=int, default=10, metavar="N", help="rounds of each measurement")
    options.add_argument("--json", type=Path, help="also write the figures here")
    arguments = options.parse_args()
    hosts = [f"gaudi-{number:04d}" for number in range(arguments.hosts)]
    board = board_of(GAUDI3)
    assert board is not None
    slots = slots_of(board)
    plan_s = median(lambda: make_plan(hosts, slots, ["10.192.0.0/10"]).all(), arguments.rounds)
    with tempfile.TemporaryDirectory() as directory:
        inventory = Path(directory, "hosts.yml")
        inventory.write_text(inventory_text(hosts))
        read_s = median(lambda: InventoryManager(DataLoader(), [str(inventory)]).get_hosts(), arguments.rounds)
    print(f"{len(hosts)} hosts x {len(slots)} ports planned in {plan_s:.3f} s; goal {GOAL_S:.0f} s")
    print(f"inventory of {len(hosts)} hosts read in {read_s:.3f} s; ratio of the plan to it {plan_s / read_s:.2f}")
    if arguments.json:
        figures = {"hosts": len(hosts), "ports": len(slots), "plan_s": plan_s, "inventory_s": read_s}
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")
    return int(plan_s > GOAL_S)


def inventory_text(hosts: list[str]) -> str:
    """A hosts.yml as inventories/bare_metal has it."""
    lines = [f"        {host}:\n          ansible_host: {host}.cluster.example.org\n" for host in hosts]
    return "---\nall:\n  children:\n    gaudi:\n      hosts:\n" + "".join(lines)


def median(work: Callable[[], object], rounds: int) -> float:
    """The median seconds of ``work``."""
    times = []
    for _round in range(rounds):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


if __name__ == "__main__":
    raise SystemExit(main())
