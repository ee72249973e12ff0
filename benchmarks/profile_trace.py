# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How long a large trace takes to be summarized, and how much memory: ``python -m benchmarks.profile_trace``.

A real trace of a small training is repeated, one step behind the other, until it is as large as asked for. The summary
is made by ``gaudi3_scale profile --trace`` in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

from gaudi3_scale.profiler.profiler import GaudiProfiler

# The command, and then the most memory of its process: what wait() tells includes the one that it was forked from.
COMMAND = """
import sys
from gaudi3_scale.__main__ import main
status = main()
sys.stderr.write(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")))
raise SystemExit(status)
"""
_TIME = re.compile(r'"ts": (\d+\.\d+)')
_STEP = re.compile(r"ProfilerStep#\d+")


def small_trace(path: Path) -> None:
    """Three steps."""
    model = torch.nn.Linear(64, 64)
    optimizer = torch.optim.AdamW(model.parameters())
    profiler = GaudiProfiler(device=torch.device("cpu"))
    with profiler:
        while not profiler.done:
            model(torch.ones(8, 64)).sum().backward()
            optimizer.step()
            profiler.step()
    profiler.export_chrome_trace(path)


def later(events: str, microseconds: float) -> str:
    return _TIME.sub(lambda match: f'"ts": {float(match[1]) + microseconds:.3f}', events)


def repeated(small: Path, large: Path, size: int) -> None:
    text = small.read_text()
    head, found, rest = text.partition('"traceEvents": [')
    events = rest.rpartition("]")[0].strip()
    with large.open("w") as out:
        out.write(head + found)
        number = 0
        while out.tell() < size:
            moved = _STEP.sub(f"ProfilerStep#{number}", later(events, number * 20_000.0))
            out.write((",\n" if number else "") + moved)
            number += 1
        out.write("]}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gibibytes", type=float, default=1.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        small, large = Path(directory, "small.json"), Path(directory, "large.json")
        small_trace(small)
        repeated(small, large, int(given.gibibytes * (1 << 30)))
        begun = time.perf_counter()
        command = [sys.executable, "-c", COMMAND, "profile", "--json", "--trace", str(large)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        seconds, size = time.perf_counter() - begun, large.stat().st_size
    peak, events = int(done.stderr.split()[1]) // 1024, json.loads(done.stdout)["events"]
    print(json.dumps({"bytes": size, "events": events, "seconds": round(seconds, 1), "peak_mib": peak}))


if __name__ == "__main__":
    main()
