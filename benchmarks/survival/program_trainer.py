# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The collection's own trainer as the training that is disturbed, with a copy of its state in host memory at each step.

``program_trainer.py DIRECTORY SECONDS_A_STEP TIMEOUT CHECKPOINT_EVERY MEMORY``: a small model whose steps take as long
as those of ``program.py``, and are told as it tells them. MEMORY is the node's own directory in a tmpfs.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from gaudi3_scale.ranks import run_rank
from gaudi3_scale.train import train
from gaudi3_scale.trainer.language_model_task import LanguageModelTask

TEXT = Path(__file__).parents[2] / "LICENSE"
MODEL = ("--layers", "1", "--width", "32", "--heads", "2", "--sequence-length", "32", "--batch-size", "2")


def main() -> None:
    directory, pause, every, memory = Path(sys.argv[1]), float(sys.argv[2]), sys.argv[4], sys.argv[5]
    steps = (directory / "steps.jsonl").open("a", buffering=1)

    def told(task: LanguageModelTask, *_batch: Any) -> None:
        reported = {"time": time.time(), "step": task.trainer.global_step, "pid": os.getpid()}
        steps.write(json.dumps(reported) + "\n")
        time.sleep(pause)

    # Lightning calls it when a step is done; the trainer has no use for it.
    LanguageModelTask.on_train_batch_end = told  # type: ignore[method-assign, assignment]
    kept = ("--checkpoint-every", every, "--memory-every", "1", "--memory-dir", memory)
    rest = ("--text", str(TEXT), "--max-steps", "1000000", "--validation-batches", "0", "--loggers", "none")
    run_rank("gaudi3_scale.train", train, ["--device", "cpu", *MODEL, *kept, *rest])


if __name__ == "__main__":
    main()
