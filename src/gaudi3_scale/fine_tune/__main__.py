# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Fine-tune a model of Hugging Face: ``python -m gaudi3_scale.fine_tune --task question-answering …``."""

from __future__ import annotations

import os
import sys
from typing import Sequence

from gaudi3_scale.fine_tune.libraries import require
from gaudi3_scale.fine_tune.switches import answer_switches
from gaudi3_scale.fine_tune.tasks import task_of
from gaudi3_scale.ranks import run_rank

PROGRAM = "gaudi3_scale.fine_tune"


def main() -> None:
    run_rank(PROGRAM, fine_tune, sys.argv[1:])


def fine_tune(arguments: Sequence[str]) -> None:
    words, told = answer_switches(arguments)
    task = task_of(words)
    require(task, words)
    if os.environ.get("RANK", "0") == "0":
        sys.stderr.writelines(f"{PROGRAM}: {sentence}\n" for sentence in told)
    # TRL counts its users at the start of each training, unless it is told not to.
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    # Transformers takes seconds to import: what is wrong before is told at once.
    from gaudi3_scale.fine_tune.options import parse_options
    from gaudi3_scale.fine_tune.run import run

    run(task, *parse_options(task, words))


if __name__ == "__main__":
    main()
