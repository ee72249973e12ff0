# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The trainer's command line."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Sequence

from gaudi3_scale.core.errors import GaudiError
from gaudi3_scale.options import ArgumentParser, not_negative, not_negative_real, positive, positive_real


def parse_options(arguments: Sequence[str]) -> argparse.Namespace:
    """The options by name. Raises GaudiError for a wrong one."""
    options = _parser().parse_args(arguments)
    if options.width % options.heads:
        raise GaudiError(
            f"--width {options.width} is not a multiple of --heads {options.heads}; change one of the two."
        )
    if options.warmup_steps > options.max_steps:
        raise GaudiError(
            f"--warmup-steps {options.warmup_steps} is more than --max-steps {options.max_steps}; make it smaller."
        )
    return options


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="gaudi3_scale.train", description="Train a byte language model on text, alone or under torchrun."
    )
    job = parser.add_argument_group("job")
    job.add_argument("--text", type=Path, nargs="+", required=True, metavar="PATH", help="files and directories")
    job.add_argument("--max-steps", type=positive, required=True, help="optimiser steps of the whole job")
    job.add_argument("--stop-after-steps", type=positive, help="end this run after so many steps, to go on later")
    job.add_argument("--device", default="auto", help="auto, hpu, cuda or cpu (default: %(default)s)")
    job.add_argument(
        "--precision", choices=("bf16", "fp32"), help="bf16 is autocast (default: bf16 on hpu and cuda, fp32 on cpu)"
    )
    job.add_argument("--seed", type=not_negative, default=0, help="of weights and data order (default: %(default)s)")

    model = parser.add_argument_group("model")
    model.add_argument("--layers", type=positive, default=4, help="(default: %(default)s)")
    model.add_argument("--width", type=positive, default=256, help="channels (default: %(default)s)")
    model.add_argument("--heads", type=positive, default=4, help="of attention (default: %(default)s)")
    model.add_argument("--sequence-length", type=positive, default=256, help="bytes a window (default: %(default)s)")

    training = parser.add_argument_group("training")
    training.add_argument("--batch-size", type=positive, default=16, help="windows a rank and pass (default: 16)")
    training.add_argument("--accumulate", type=positive, default=1, help="passes a step (default: %(default)s)")
    training.add_argument(
        "--checkpointing", action="store_true", help="keep only the blocks' inputs, and compute the rest twice"
    )
    training.add_argument("--compile", action="store_true", help="compile the model (torch.compile)")
    training.add_argument(
        "--workers", type=not_negative, default=0, help="processes a rank that read ahead (default: %(default)s)"
    )
    training.add_argument("--learning-rate", type=positive_real, default=1e-3, help="highest (default: %(default)s)")
    training.add_argument("--warmup-steps", type=not_negative, default=0, help="(default: %(default)s)")
    training.add_argument(
        "--clip", type=not_negative_real, default=1.0, help="longest gradient, 0 for no limit (default: %(default)s)"
    )
    training.add_argument(
        "--validation-batches", type=not_negative, default=8, help="held-out batches a rank at the end (default: 8)"
    )

    files = parser.add_argument_group("files")
    files.add_argument(
        "--job-dir",
        type=Path,
        default=os.environ.get("GAUDI3_SCALE_JOB_DIR", "."),
        help="checkpoints lie in its folder checkpoints (default: $GAUDI3_SCALE_JOB_DIR, else here)",
    )
    files.add_argument(
        "--metrics",
        default=os.environ.get("GAUDI3_SCALE_METRICS"),
        help="file that gets the metric lines (default: $GAUDI3_SCALE_METRICS, else standard output)",
    )
    files.add_argument("--metrics-every", type=positive, default=10, help="steps a line (default: %(default)s)")
    files.add_argument(
        "--loggers",
        default="auto",
        metavar="auto|none|NAME,NAME",
        help="tensorboard, wandb (default: auto, those that are installed, and wandb with WANDB_API_KEY)",
    )
    files.add_argument("--checkpoint-every", type=positive, default=100, help="steps (default: %(default)s)")
    files.add_argument("--checkpoints-kept", type=positive, default=2, help="newest ones (default: %(default)s)")
    files.add_argument(
        "--resume", default="auto", metavar="auto|never|PATH", help="checkpoint to go on from (default: %(default)s)"
    )
    return parser
