# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What watching costs a node, and how long it takes from a fault to its message at the site.

    .venv/bin/python -m benchmarks.watching --turns 10

Makes a sandbox of its own with a real Prometheus, Alertmanager and node exporter and the defaults of monitoring.yml,
and removes it again. The cost is what the kernel counts of processor time, beside the vendor's way of asking: a call
for each metric, here of the same hl-smi. Cards are simulated, and so is hl-smi, which is a Python program here.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from statistics import median
from typing import Any

from benchmarks.watched import OTHER, SERVER, watched
from plugins.module_utils._exporter.card_readings import FIELDS
from plugins.module_utils._exporter.plan import CARDS, NODE

UNITS = {
    "collector: cards": CARDS,
    "collector: node and jobs": NODE,
    "node exporter": "prometheus-node-exporter.service",
}
GOAL_S = 60.0


def main() -> int:
    """Print both; returns 1 where a fault needed more than a minute to be told."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--turns", type=int, default=5, help="faults (default 5)")
    options.add_argument("--seconds", type=int, default=120, help="for which the cost is counted (default 120)")
    given = options.parse_args()
    with watched() as nodes:
        time.sleep(30)
        print_cost(nodes[OTHER], given.seconds)
        taken = [fault_to_message(nodes, turn) for turn in range(given.turns)]
    print("\nFrom a fault to its message, seconds:", " ".join(f"{one:.0f}" for one in taken))
    print(f"median {median(taken):.0f}, worst {max(taken):.0f}; the goal is {GOAL_S:.0f}")
    return int(max(taken) > GOAL_S)


def print_cost(host: Any, seconds: int) -> None:
    before = {unit: spent(host, unit) for unit in UNITS.values()}
    time.sleep(seconds)
    print(f"{'what':28} {'of one processor':>18}")
    for name, unit in UNITS.items():
        print(f"{name:28} {(spent(host, unit) - before[unit]) / seconds:17.2%}")
    one, each = asked(host, [",".join(FIELDS)]), asked(host, FIELDS)
    print(
        f"hl-smi, one call for {len(FIELDS)} fields {one:.2f} s, a call for each {each:.2f} s: {each / one:.1f} times"
    )


def spent(host: Any, unit: str) -> float:
    """Processor seconds of the unit's first process and of those that it has started and that have ended.

    systemd counts none itself in a container.
    """
    process = host.check_output(f"systemctl show --property=MainPID --value {unit}")
    fields = host.check_output(f"cat /proc/{process}/stat").rpartition(")")[2].split()
    # proc(5): utime, stime, cutime and cstime are the 14th to the 17th, and the name was the second.
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


# Prints the processor seconds of its calls.
CALLS = """
import os, subprocess, sys
for fields in sys.argv[1:]:
    subprocess.run(["hl-smi", "-Q", fields, "-f", "csv,noheader"], stdout=subprocess.DEVNULL, check=False)
spent = os.times()
print(spent.children_user + spent.children_system)
"""


def asked(host: Any, calls: Sequence[str]) -> float:
    """Processor seconds of these calls of hl-smi on the node."""
    return float(host.check_output("python3 -c %s " + " ".join(["%s"] * len(calls)), CALLS, *calls))


def fault_to_message(nodes: Any, turn: int) -> float:
    """A card says 0 degrees, at another moment of the intervals each time; well again, and forgotten, afterwards."""
    from tests.alert_receiver import ask, heard
    from tests.sandbox_jobs import wait_for
    from tests.sandbox_nodes import fault

    server = nodes[SERVER]
    card = str(turn % 8)

    def fires() -> list[float]:
        mine = [one for one in heard(server) if one[2]["status"] == "firing" and one[2]["labels"].get("card") == card]
        return [at for at, _header, _alert in mine if at > started]

    time.sleep(turn * 3.7 % 10)
    started = float(server.check_output("date +%s.%N"))
    with fault(OTHER, f"zero_temperature={card}"):
        wait_for("the message", fires, 180)
    taken = fires()[0] - started
    print(f"turn {turn + 1}: card {card}, {taken:.1f} s", file=sys.stderr)
    wait_for("that it is over", lambda: not ask(server, 'ALERTS{alertname="GaudiCardCold"}'), 180)
    return taken


if __name__ == "__main__":
    sys.exit(main())
