# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``hl_qual``: a run that measures nothing. It passes on healthy cards and fails on those with a fault."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path

from . import wrong_products
from .faults import hits
from .node_state import hostname, read
from .readings import ABSURD_CELSIUS, HOT_CELSIUS, CardReading, readings

TESTS = {
    "-f2": "functional",
    "-s": "power",
    "-e": "EDP",
    "-mb": "memory bandwidth",
    "-p": "PCIe",
    "-hbm_dma_stress": "HBM DMA",
    "-hbm_tpc_stress": "HBM TPC",
    "-full_hbm_data_check_test": "HBM data",
    "-nic_base": "NIC base",
    "-e2e_concurrency": "end-to-end concurrency",
    "-ser": "symbol error rate",
}
LOGS = "/var/log/habana_logs"


def main(arguments: list[str]) -> int:
    """Run the (simulated) test that the arguments name on the chosen cards."""
    generation = os.environ["HABANALABS_QUAL_GENERATION"]
    tests = [TESTS[word] for word in arguments if word in TESTS]
    if f"-{generation}" not in arguments or not tests:
        print(f"hl_qual (simulated): needs -{generation} and one of {' '.join(TESTS)}", file=sys.stderr)
        return 1
    node = read()
    if node.generation != generation or not readings(node):
        print(f"hl_qual: no {generation} device found; is the driver loaded?", file=sys.stderr)
        return 1
    target = arguments[arguments.index("-c") + 1] if "-c" in arguments[:-1] else "all"
    chosen = [reading for reading in readings(node) if target in names(reading)]
    if "hl_qual_hangs" in node.faults:
        signal.pause()
    text, passed = report(chosen, tests, node.faults)
    path = Path(os.environ.get("HABANA_LOGS", LOGS)) / "qual"
    path.mkdir(parents=True, exist_ok=True)
    now = datetime.now(timezone.utc)
    (path / f"{hostname()}_hl_qual_report_{now:%Y-%m-%d_%H-%M-%S}.log").write_text(text + "\n", encoding="utf-8")
    print(text)
    return 0 if passed else 1


def names(reading: CardReading) -> tuple[str, ...]:
    """What ``-c`` may call the card by: four cards that a top board joins are a group."""
    return "all", f"quad_{reading.card.module_id // 4}", reading.card.pci_address


def report(chosen: Sequence[CardReading], tests: Sequence[str], faults: Mapping[str, object]) -> tuple[str, bool]:
    """The report's text, which ends with the verdict, and the verdict."""
    lines = [f"hl_qual (simulated: nothing was measured): {', '.join(tests)}"]
    failed = 0
    for reading in chosen:
        reasons = [*complaints(reading), *_wrong_values(reading, tests, faults)]
        failed += bool(reasons)
        said = f"FAILED: {'; '.join(reasons)}" if reasons else "ok"
        lines.append(f"{reading.card.pci_address} module {reading.card.module_id}: {said}")
    passed = bool(chosen) and not failed
    return "\n".join([*lines, "PASSED" if passed else "FAILED"]), passed


def _wrong_values(reading: CardReading, tests: Sequence[str], faults: Mapping[str, object]) -> list[str]:
    wrong = hits(faults, wrong_products.FAULT, reading.card.module_id) and TESTS["-f2"] in tests
    return ["bit-exact comparison: mismatch"] if wrong else []


def complaints(reading: CardReading) -> list[str]:
    """What a qualification run would trip over."""
    down = [port for port in reading.board.internal(reading.card.module_id) if port not in reading.ports_up]
    found = {
        f"status {reading.status}": reading.status != "Operational",
        "device acquire failed": reading.busy,
        f"temperature {reading.temperature} C": reading.temperature == 0
        or HOT_CELSIUS <= reading.temperature < ABSURD_CELSIUS,
        f"{reading.uncorrectable_ecc} uncorrectable ECC errors": reading.uncorrectable_ecc > 0,
        f"internal ports down: {down}": bool(down),
    }
    return [text for text, wrong in found.items() if wrong]
