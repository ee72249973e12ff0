# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A trainer of a few milliseconds for tests of the tuner: it writes the metric lines of the real one.

Its speed is 100 tokens a second for each sample of the batch. ``TUNED_TRAINER`` says how it ends.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path


def main() -> None:
    options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
    steps, batch = int(options["--stop-after-steps"]), int(options["--batch-size"])
    mode = os.environ.get("TUNED_TRAINER", "")
    if mode == "crash":
        sys.exit("the fan fell off")
    if mode == "out_of_memory_above_16" and batch > 16:
        sys.exit("RuntimeError: FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed for size::1")
    metrics = Path(os.environ["GAUDI3_SCALE_METRICS"])
    for step in range(1, steps + 1):
        loss = float("nan") if mode == "diverge" else 5 / step
        rate = None if step == 1 else 100.0 * batch
        line = {"kind": "step", "step": step, "loss": loss, "tokens_per_second": rate}
        with metrics.open("a") as stream:
            stream.write(json.dumps(line) + "\n")
        if mode == "slow":
            time.sleep(30)
    with metrics.open("a") as stream:
        stream.write(json.dumps({"kind": "end", "validation_loss": 0.25}) + "\n")


main()
