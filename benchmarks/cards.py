# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What it costs to read all cards of a node: by HLML, by ``hl-smi``, and the exporter's reading with HLML and without.

    .venv/bin/python -m benchmarks.cards --sandbox NAME

plays this file on node1 of a running sandbox whose nodes have the driver and the training stack; on a node of your own,
as root: ``/opt/gaudi3_scale/venv/bin/python cards.py``. A sandbox's ``hl-smi`` is a program in Python: its figures say
nothing of the vendor's.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

PYTHON = "/opt/gaudi3_scale/venv/bin/python"
INTERVAL_S = 30.0


def main() -> int:
    """Print a line for each way to read; returns 1 where the node has no card with a driver."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sandbox", help="play it on node1 of this sandbox instead of here")
    given = options.parse_args()
    if given.sandbox:
        node = ["podman", "exec", "--interactive", f"{given.sandbox}-node1", PYTHON, "-"]
        return subprocess.run(node, input=Path(__file__).read_bytes(), check=False).returncode
    return measure()


def measure() -> int:
    from gaudi3_scale.core._cards import hpu_facts
    from gaudi3_scale.core._cards.accel_sysfs import accel_devices, pci_cards
    from gaudi3_scale.core._cards.hlml import HlmlReading, ask_hlml
    from gaudi3_scale.core._exporter import card_readings
    from gaudi3_scale.core._node.commands import run_process
    from gaudi3_scale.core._node.kernel_tree import kernel_tree

    root = kernel_tree()
    addresses = [device.pci_address for device in accel_devices(root)]
    if not addresses:
        print("No card with a loaded driver is here.", file=sys.stderr)
        return 1
    cards = list(pci_cards(root))
    print(f"{len(addresses)} cards, median of several readings      wall (ms)  processor (ms)")

    def exported() -> object:
        return card_readings.read_cards(run_process, root, INTERVAL_S)

    _row("HLML, all fields", lambda: ask_hlml(run_process, addresses))
    _row("hl-smi: query, listing, links", lambda: hpu_facts.ask_hl_smi(run_process, cards), times=3)
    _row("the exporter's interval", exported)
    # What it did before it asked HLML.
    with patch.object(card_readings, "ask_hlml", lambda *_given, **_named: HlmlReading()):
        _row("the exporter's interval without HLML", exported)
    return 0


def _row(name: str, read: Callable[[], object], times: int = 7) -> None:
    """Processor time is that of the programs that were started, which is nearly all of it."""
    wall, processor = [], []
    for _time in range(times):
        before, begun = _children(), time.monotonic()
        read()
        wall.append(time.monotonic() - begun)
        processor.append(_children() - before)
    print(f"{name:44}  {1000 * statistics.median(wall):9.0f}  {1000 * statistics.median(processor):14.0f}", flush=True)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
