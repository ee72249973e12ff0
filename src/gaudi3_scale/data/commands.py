# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The commands on data: make tokens of text, compare them with their checksums, and measure how fast they are read."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Sequence

from gaudi3_scale import __version__
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.data.prepare import prepare
from gaudi3_scale.data.token_files import damaged, whole_manifest
from gaudi3_scale.data.tokenizers import BYTES
from gaudi3_scale.options import ArgumentParser, positive, positive_real

PART_MIB = 64


def parse_command(arguments: Sequence[str]) -> argparse.Namespace:
    """The options, and as ``run`` the function that takes them and returns the exit status."""
    parser = ArgumentParser(prog="gaudi3_scale", description="What is done on a node before a training job.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    data = parser.add_subparsers(required=True, metavar="data").add_parser("data", help="the text to train on")
    commands = data.add_subparsers(required=True, metavar="prepare|check|workers")
    _add_prepare(commands.add_parser("prepare", help="make tokens of text; what is there already stays"))
    _add_check(commands.add_parser("check", help="compare tokens with their checksums"))
    _add_workers(commands.add_parser("workers", help="measure how many data loader processes keep up"))
    return parser.parse_args(arguments)


def _add_prepare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--text", type=Path, nargs="+", required=True, metavar="PATH", help="files and directories")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="directory for the tokens")
    parser.add_argument(
        "--tokenizer",
        default=BYTES,
        metavar="bytes|DIR",
        help="or a Hugging Face tokenizer's directory (default: bytes)",
    )
    parser.add_argument(
        "--processes", type=positive, default=len(os.sched_getaffinity(0)), help="(default: one per processor)"
    )
    parser.add_argument(
        "--part-mib", type=positive, default=PART_MIB, help="text per file, in MiB (default: %(default)s)"
    )
    parser.set_defaults(run=_prepare)


def _add_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="what data prepare made")
    parser.set_defaults(run=_check)


def _add_workers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="what data prepare made")
    parser.add_argument(
        "--sequence-length", type=positive, default=256, help="tokens per window (default: %(default)s)"
    )
    parser.add_argument(
        "--batch-size", type=positive, default=16, help="windows per rank and pass (default: %(default)s)"
    )
    parser.add_argument("--pass-seconds", type=positive_real, help="of the model, to say how many workers keep up")
    parser.add_argument("--most", type=positive, help="largest number to try (default: the processors)")
    parser.set_defaults(run=_workers)


def _prepare(options: argparse.Namespace) -> int:
    start = time.monotonic()

    def reported(done: int, parts: int, text_bytes: int) -> None:
        speed = text_bytes / (1 << 20) / (time.monotonic() - start)
        sys.stdout.write(f"{done} of {parts} parts, {text_bytes / (1 << 20):.1f} MiB of text, {speed:.1f} MiB/s\n")
        sys.stdout.flush()

    prepared = prepare(
        options.text, options.out, options.tokenizer, options.processes, options.part_mib << 20, reported
    )
    manifest = prepared.manifest
    made = f"{prepared.made} of {len(manifest.files)} files made" if prepared.made else "nothing to do"
    sys.stdout.write(f"{options.out}: {manifest.tokens} tokens, checksum {manifest.checksum[:16]}, {made}\n")
    return 0


def _check(options: argparse.Namespace) -> int:
    manifest = whole_manifest(options.data, "--data")
    wrong = damaged(options.data, manifest)
    if wrong:
        raise GaudiError(
            f"--data {options.data}: {', '.join(wrong)} {'has' if len(wrong) == 1 else 'have'} other bytes than were "
            "written; remove what is wrong and run gaudi3_scale data prepare once more, or copy the directory again."
        )
    sys.stdout.write(f"{options.data}: {manifest.tokens} tokens, checksum {manifest.checksum[:16]}, as written\n")
    return 0


def _workers(options: argparse.Namespace) -> int:
    # PyTorch takes seconds to import, and only this command needs it.
    from gaudi3_scale.data.loader_workers import candidates_for, loading_rate, smallest_that_keeps_up
    from gaudi3_scale.data.token_windows import TrainingWindows
    from gaudi3_scale.data.training_data import open_data

    windows = TrainingWindows(open_data(None, options.data, options.sequence_length).windows)

    def rate_of(workers: int) -> float:
        rate = loading_rate(windows, options.batch_size, workers)
        sys.stdout.write(f"{workers:3} workers  {rate:10.1f} batches/s\n")
        sys.stdout.flush()
        return rate

    candidates = candidates_for(options.most or len(os.sched_getaffinity(0)))
    # Nothing is fast enough for no time at all: then all are measured.
    choice = smallest_that_keeps_up(rate_of, candidates, options.pass_seconds or 1e-9)
    if options.pass_seconds:
        verdict = "keep up" if choice.keeps_up else "are the fastest, but do not keep up"
        sys.stdout.write(f"--workers {choice.workers}: they {verdict} with {choice.needed:.1f} batches/s\n")
    return 0
