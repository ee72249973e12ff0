# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Train a causal language model on text or prepared tokens: ``python -m gaudi3_scale.train`` (docs/training.md)."""

from __future__ import annotations

import sys
from typing import Sequence

from gaudi3_scale.ranks import run_rank
from gaudi3_scale.trainer.options import parse_options


def main() -> None:
    run_rank("gaudi3_scale.train", train, sys.argv[1:])


def train(arguments: Sequence[str]) -> None:
    options = parse_options(arguments)
    # Lightning takes seconds to import: a wrong option is told before.
    from gaudi3_scale.trainer.run import run

    run(options)


if __name__ == "__main__":
    main()
