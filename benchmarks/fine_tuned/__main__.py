# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The ten trainings, each by ``gaudi3_scale.fine_tune`` and by upstream alone: ``python -m benchmarks.fine_tuned``.

Small models of random weights, 50 steps on the CPU. What needs peft or trl is left out where that is missing.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import transformers

from benchmarks.fine_tuned.cases import CASES, play
from benchmarks.fine_tuned.small_parts import write_data, write_models


def main() -> int:
    transformers.logging.set_verbosity_error()
    rows = [
        "| Command of optimum-habana | First loss | Loss of step 50 | Apart at most | Same weights |",
        "|---|---|---|---|---|",
    ]
    equal = True
    with tempfile.TemporaryDirectory(prefix="fine-tuned-") as name:
        place = Path(name)
        write_models(place / "models")
        write_data(place / "data")
        for number, case in enumerate(CASES):
            missing = [needed for needed in case.needs if importlib.util.find_spec(needed) is None]
            if missing:
                rows.append(f"| `{case.program}` | {', '.join(missing)} missing | | | |")
                continue
            outcome = play(case, place / "models", place / "data", place / str(number))
            equal = equal and outcome.same_weights and outcome.apart == 0
            said = "yes" if outcome.same_weights else "no"
            rows.append(
                f"| `{case.program}` | {outcome.ours[0]:.4f} | {outcome.ours[-1]:.4f} | {outcome.apart:g} | {said} |"
            )
    print("\n".join(rows))
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
