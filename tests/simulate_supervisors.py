# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.simulate_supervisors --seeds 50000``: random schedules of faults for supervisors.

``--seed 4711 -v`` plays one again and prints what happens in it. ``--day 8``: a day of so many nodes without a fault,
on a network that loses a fifth of all datagrams, and how often a node is taken for lost in it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.unit.supervised_network.schedules import run_schedule
from tests.unit.supervised_network.simulation import Simulation

CHUNK = 10
# Between two words on how far it is.
REPORT_EVERY_S = 60.0
HOUR_S, LOSS = 3600.0, 0.2


def failure_of(seed: int) -> tuple[int, str | None]:
    """The seed, and why it failed; None where all held."""
    try:
        run_schedule(seed)
    except Exception as error:  # whatever is raised is a failure of the schedule
        frame = traceback.extract_tb(error.__traceback__)[-1]
        return seed, f"{type(error).__name__}: {error} ({Path(frame.filename).name}:{frame.lineno})"
    return seed, None


def failures_of(seeds: Iterable[int], processes: int) -> Iterator[tuple[int, str | None]]:
    """Of each seed; they are independent of each other."""
    if processes == 1:
        yield from map(failure_of, seeds)
        return
    with multiprocessing.Pool(processes) as pool:
        yield from pool.imap_unordered(failure_of, seeds, CHUNK)


def false_losses(nodes: int, hours: int) -> int:
    """How many generations had to begin anew though all nodes were well."""
    simulation = Simulation(nodes, 0, loss=LOSS, min_nodes=1, max_restarts=10**6)
    simulation.run(HOUR_S, simulation.running)
    for hour in range(hours):
        simulation.run(HOUR_S)
        print(f"hour {hour + 1} of {hours}: generation {simulation.current().number}", flush=True)
    last: int = simulation.current().number
    return last - 1


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulate_supervisors", description=__doc__)
    parser.add_argument("--seeds", type=int, default=2000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, help="only this one")
    parser.add_argument("-v", action="store_true", dest="verbose", help="with --seed: print what happens")
    parser.add_argument("--day", type=int, metavar="NODES", help="only a day without faults")
    parser.add_argument("--hours", type=int, default=24, help="of that day")
    given = parser.parse_args(argv)
    if given.day is not None:
        lost = false_losses(given.day, given.hours)
        print(f"{given.day} nodes, {given.hours} h, {LOSS:.0%} of all datagrams lost: {lost} false losses")
        return 1 if lost else 0
    if given.seed is not None:
        run_schedule(given.seed, print if given.verbose else None)
        print(f"seed {given.seed}: all holds")
        return 0
    begun, failed = time.monotonic(), 0
    seeds, reported = range(given.first, given.first + given.seeds), begun
    for done, (seed, failure) in enumerate(failures_of(seeds, given.processes)):
        if time.monotonic() > reported + REPORT_EVERY_S:
            reported = time.monotonic()
            print(f"{done} of {given.seeds} seeds, {failed} failed, {reported - begun:.0f} s", flush=True)
        if failure is not None:
            failed += 1
            print(f"seed {seed}: {failure}", flush=True)
    print(f"{given.seeds} seeds, {failed} failed, {time.monotonic() - begun:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
