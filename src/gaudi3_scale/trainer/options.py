# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The trainer's command line."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Sequence

from gaudi3_scale.checkpoints.bucket_url import s3_url
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.elsewhere import FP8
from gaudi3_scale.options import ArgumentParser, not_negative, not_negative_real, positive, positive_real
from gaudi3_scale.profiler.training_options import add_profile, check_profile

AUTO = "auto"


def parse_options(arguments: Sequence[str]) -> argparse.Namespace:
    """The options by name. Raises GaudiError for a wrong one."""
    options = _parser().parse_args(arguments)
    if options.width % options.heads:
        raise GaudiError(
            f"--width {options.width} is not a multiple of --heads {options.heads}; change one of the two."
        )
    if (options.warmup_steps or 0) > options.max_steps:
        raise GaudiError(
            f"--warmup-steps {options.warmup_steps} is more than --max-steps {options.max_steps}; make it smaller."
        )
    if options.schedule == "one-cycle" and options.warmup_steps in (1, options.max_steps):
        raise GaudiError(
            f"--warmup-steps {options.warmup_steps}: one cycle rises over at least 2 steps and comes down before "
            f"--max-steps {options.max_steps}; give 0, a number between, or leave it out."
        )
    _require_validation(options)
    if options.from_scratch and options.model is None:
        raise GaudiError("--from-scratch is for --model; the built-in model always begins with new weights.")
    if options.static_graph and options.sharding != "ddp":
        raise GaudiError("--static-graph is an option of DDP; give --sharding ddp, or leave it out.")
    if options.gradient_compression != "none" and options.sharding != "ddp":
        raise GaudiError(
            f"--gradient-compression {options.gradient_compression}: FSDP2 exchanges gradients by itself; "
            "give --sharding ddp, or leave the compression out."
        )
    if options.memory_every and not options.checkpoint_every:
        raise GaudiError(
            f"--memory-every {options.memory_every}: what is in memory is lost with a node's power; "
            "give --checkpoint-every too."
        )
    check_profile(options, os.environ)
    return options


def _require_validation(options: argparse.Namespace) -> None:
    """GaudiError where something is to be decided by validations, and there are none."""
    if options.patience is not None and not options.validate_every:
        raise GaudiError(
            f"--patience {options.patience} counts validations during the training, and there are none; "
            "give --validate-every too."
        )
    if options.validate_every and not options.validation_batches:
        raise GaudiError(
            f"--validate-every {options.validate_every}: --validation-batches 0 leaves nothing to validate with; "
            "give 1 or more."
        )


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="gaudi3_scale.train", description="Train a causal language model on text, alone or under torchrun."
    )
    _add_job(parser.add_argument_group("job"))
    _add_data(parser.add_argument_group("data"))
    _add_model(parser.add_argument_group("model"))
    _add_training(parser.add_argument_group("training"))
    _add_ranks(parser.add_argument_group("ranks and memory"))
    _add_files(parser.add_argument_group("files"))
    _add_checkpoints(parser.add_argument_group("checkpoints"))
    add_profile(parser.add_argument_group("profile"))
    return parser


def _add_job(job: argparse._ArgumentGroup) -> None:
    job.add_argument("--max-steps", type=positive, required=True, help="optimizer steps of the whole job")
    job.add_argument("--stop-after-steps", type=positive, help="end this run after so many steps, to resume later")
    job.add_argument("--device", default=AUTO, help="auto, hpu, cuda or cpu (default: %(default)s)")
    job.add_argument(
        "--precision",
        type=_precision,
        choices=("bf16", "fp32"),
        help="bf16 is autocast (default: bf16 on hpu and cuda, fp32 on cpu)",
    )
    job.add_argument("--seed", type=not_negative, default=0, help="of weights and data order (default: %(default)s)")


def _add_data(data: argparse._ArgumentGroup) -> None:
    source = data.add_mutually_exclusive_group(required=True)
    source.add_argument("--text", type=Path, nargs="+", metavar="PATH", help="files and directories, read as bytes")
    source.add_argument(
        "--data", type=_prefix, metavar="PREFIX", help="tokens in PREFIX.bin and PREFIX.idx, also below s3://BUCKET/"
    )
    data.add_argument("--sequence-length", type=positive, default=256, help="tokens per window (default: %(default)s)")
    data.add_argument(
        "--workers",
        type=_workers,
        default=0,
        metavar="N|auto",
        help="processes per rank that read ahead; auto measures how many keep up (default: %(default)s)",
    )
    data.add_argument(
        "--validation-batches", type=not_negative, default=8, help="held-out batches per rank at the end (default: 8)"
    )
    data.add_argument(
        "--validate-every", type=not_negative, default=0, help="steps; 0: at the end only (default: %(default)s)"
    )
    data.add_argument(
        "--patience", type=positive, metavar="N", help="end after N validations in a row without a lower loss"
    )


def _add_model(model: argparse._ArgumentGroup) -> None:
    model.add_argument("--layers", type=positive, default=4, help="(default: %(default)s)")
    model.add_argument("--width", type=positive, default=256, help="channels (default: %(default)s)")
    model.add_argument("--heads", type=positive, default=4, help="of attention (default: %(default)s)")
    model.add_argument("--model", type=Path, metavar="DIR", help="instead: a Hugging Face model's local directory")
    model.add_argument("--from-scratch", action="store_true", help="new weights for --model")


def _add_training(training: argparse._ArgumentGroup) -> None:
    training.add_argument("--batch-size", type=positive, default=16, help="windows per rank and pass (default: 16)")
    training.add_argument("--accumulate", type=positive, help="passes per step (default: 1)")
    training.add_argument(
        "--global-batch-size",
        type=positive,
        default=os.environ.get("GAUDI3_SCALE_GLOBAL_BATCH_SIZE") or None,
        help="windows per step of all ranks, which decides --accumulate (default: $GAUDI3_SCALE_GLOBAL_BATCH_SIZE)",
    )
    training.add_argument("--learning-rate", type=positive_real, default=1e-3, help="highest (default: %(default)s)")
    training.add_argument(
        "--schedule", choices=("cosine", "one-cycle", "constant"), default="cosine", help="(default: %(default)s)"
    )
    training.add_argument(
        "--warmup-steps", type=not_negative, help="(default: 0; of one-cycle three tenths of --max-steps)"
    )
    training.add_argument(
        "--clip", type=not_negative_real, default=1.0, help="longest gradient, 0 for no limit (default: %(default)s)"
    )


def _add_ranks(ranks: argparse._ArgumentGroup) -> None:
    ranks.add_argument(
        "--sharding",
        choices=("ddp", "fsdp2"),
        default="ddp",
        help="ddp: each rank has the whole model; fsdp2: its share of it (default: %(default)s)",
    )
    ranks.add_argument(
        "--gradient-compression",
        choices=("none", "fp16", "bf16", "powersgd"),
        default="none",
        help="of what ddp sends between the ranks (default: %(default)s)",
    )
    ranks.add_argument(
        "--checkpointing",
        choices=(AUTO, "on", "off"),
        nargs="?",
        const="on",
        default=AUTO,
        help="keep only the blocks' inputs and recompute the rest; auto: from 10^9 parameters on",
    )
    ranks.add_argument(
        "--static-graph",
        action="store_true",
        help="ddp may take it that each step uses the same parameters in the same order",
    )
    ranks.add_argument("--compile", action="store_true", help="compile the model (torch.compile)")


def _add_files(files: argparse._ArgumentGroup) -> None:
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
    files.add_argument("--metrics-every", type=positive, default=10, help="steps per line (default: %(default)s)")
    files.add_argument(
        "--peak-tflops",
        type=positive_real,
        metavar="N",
        help="of one card in the training's precision, where the table has none or another",
    )
    files.add_argument(
        "--loggers",
        default="auto",
        metavar="auto|none|NAME,NAME",
        help="tensorboard, wandb, mlflow (default: auto, those that are installed, wandb with WANDB_API_KEY, mlflow "
        "with MLFLOW_TRACKING_URI)",
    )


def _add_checkpoints(checkpoints: argparse._ArgumentGroup) -> None:
    checkpoints.add_argument(
        "--checkpoint-every", type=not_negative, default=100, help="steps; 0: none at all (default: %(default)s)"
    )
    checkpoints.add_argument(
        "--memory-every",
        type=not_negative,
        default=0,
        metavar="N",
        help="steps between copies in host memory, to resume from after a lost rank; 0: none (default: %(default)s)",
    )
    checkpoints.add_argument(
        "--memory-dir",
        type=Path,
        default=Path("/dev/shm"),
        metavar="DIR",
        help="the tmpfs that they lie in (default: %(default)s)",
    )
    checkpoints.add_argument("--checkpoints-kept", type=positive, default=2, help="newest ones (default: %(default)s)")
    checkpoints.add_argument(
        "--checkpoints-kept-every", type=positive, default=0, help="also keep those at multiples of so many steps"
    )
    checkpoints.add_argument(
        "--resume", default=AUTO, metavar="auto|never|PATH", help="checkpoint to resume from (default: %(default)s)"
    )
    checkpoints.add_argument(
        "--upload", type=s3_url, metavar="s3://BUCKET/PREFIX", help="S3-compatible storage that gets a copy"
    )
    checkpoints.add_argument(
        "--checkpoint-key-file",
        type=Path,
        metavar="PATH",
        help="64 hexadecimal digits that sign what is uploaded (default: $GAUDI3_SCALE_CHECKPOINT_KEY, else one that "
        "the job makes and keeps in its --job-dir)",
    )
    checkpoints.add_argument(
        "--accept-unsigned-checkpoints",
        action="store_true",
        help="resume from the bucket's newest checkpoint although this job's key did not sign it",
    )


def _precision(text: str) -> str:
    if text.lower().startswith("fp8"):
        raise argparse.ArgumentTypeError(FP8)
    return text


def _prefix(text: str) -> Path | str:
    """A text where it is a place in S3-compatible storage."""
    return s3_url(text) if text.startswith("s3://") else Path(text)


def _workers(text: str) -> int | None:
    """None means that they are to be measured."""
    return None if text == AUTO else not_negative(text)
