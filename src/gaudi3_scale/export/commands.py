# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The command that makes of a checkpoint a model that can be served."""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from pathlib import Path

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.extras import remedy
from gaudi3_scale.options import positive

AS_TRAINED = "trained"
DTYPES = (AS_TRAINED, "float32", "bfloat16", "float16")
SHARD_MEGABYTES = 2000
_NEEDED = ("safetensors", "tokenizers", "transformers")


def add_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("checkpoint", type=Path, metavar="CHECKPOINT", help="a checkpoint, or a directory of some")
    parser.add_argument("directory", type=Path, metavar="DIRECTORY", help="gets config.json, weights and tokenizer")
    parser.add_argument("--model", type=Path, metavar="DIR", help="the Hugging Face model that was trained")
    parser.add_argument(
        "--tokenizer", type=Path, metavar="DIR", help="whose tokens it was trained on (default: that of --model)"
    )
    parser.add_argument(
        "--dtype", choices=DTYPES, default=AS_TRAINED, help="of the exported weights (default: %(default)s)"
    )
    parser.add_argument(
        "--prefix", metavar="TEXT", help="before the weights' names, where a checkpoint has several models"
    )
    parser.add_argument(
        "--shard-megabytes",
        type=positive,
        default=SHARD_MEGABYTES,
        metavar="MB",
        help="most per file, and so in memory (default: %(default)s)",
    )
    parser.set_defaults(run=_export)


def _export(options: argparse.Namespace) -> int:
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise GaudiError(f"export needs the package {missing[0]}, which is not in this Python; {remedy('hf')}.")
    # PyTorch and Transformers take seconds to import: a wrong option is told before.
    import torch

    from gaudi3_scale.export.publish import ExportOptions, export

    begun = time.monotonic()

    def tell(line: str) -> None:
        sys.stdout.write(f"{line} ({time.monotonic() - begun:.0f} s)\n")
        sys.stdout.flush()

    dtype = None if options.dtype == AS_TRAINED else getattr(torch, options.dtype)
    given = ExportOptions(
        options.checkpoint,
        options.directory,
        options.model,
        options.tokenizer,
        dtype,
        options.prefix,
        options.shard_megabytes * 1_000_000,
    )
    export(given, tell)
    return 0
