# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The commands on data: make tokens of text, compare them with their checksums, and measure how fast they are read."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.data.manifest import Manifest, described, digests_of, open_pair, write_manifest
from gaudi3_scale.data.prepare import prepare
from gaudi3_scale.data.tokenizers import BYTES
from gaudi3_scale.options import positive, positive_real

PART_BYTES = 16 << 20
_PAIR = "PREFIX.bin and PREFIX.idx, as data prepare and Megatron-LM make them"


def add_data(parser: argparse.ArgumentParser) -> None:
    """Each command sets ``run`` to the function that takes the options and returns the exit status."""
    commands = parser.add_subparsers(required=True, metavar="prepare|check|workers")
    _add_prepare(commands.add_parser("prepare", help="make tokens of text; what is there already stays"))
    _add_check(commands.add_parser("check", help="compare tokens with their checksums, or write these"))
    _add_workers(commands.add_parser("workers", help="measure how many data loader processes keep up"))


def _add_prepare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--text", type=Path, nargs="+", required=True, metavar="PATH", help="files and directories")
    parser.add_argument("--out", type=Path, required=True, metavar="PREFIX", help="makes PREFIX.bin and PREFIX.idx")
    parser.add_argument(
        "--tokenizer",
        default=BYTES,
        metavar="bytes|DIR",
        help="or a Hugging Face tokenizer's directory (default: bytes)",
    )
    parser.add_argument(
        "--processes", type=positive, default=len(os.sched_getaffinity(0)), help="(default: one per processor)"
    )
    parser.set_defaults(run=_prepare)


def _add_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, metavar="PREFIX", help=_PAIR)
    parser.set_defaults(run=_check)


def _add_workers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, metavar="PREFIX", help=_PAIR)
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

    def reported(done: int, parts: int) -> None:
        sys.stdout.write(f"{done} of {parts} parts, {time.monotonic() - start:.0f} s\n")
        sys.stdout.flush()

    prepared = prepare(options.text, options.out, options.tokenizer, options.processes, PART_BYTES, reported)
    made = f"{prepared.made} parts made" if prepared.made else "nothing to do"
    return _shown(options.out, prepared.manifest, made)


def _check(options: argparse.Namespace) -> int:
    index, manifest = open_pair(options.data, "--data")
    if manifest is None:
        manifest = described(options.data, index, "--data")
        try:
            write_manifest(options.data, manifest)
        except OSError as error:
            raise GaudiError(f"--data {options.data}: its manifest was not written: {error.strerror}.") from error
        return _shown(options.data, manifest, f"{manifest.vocabulary} different ones by the largest; manifest written")
    if digests_of(options.data) != (manifest.bin_sha256, manifest.idx_sha256):
        raise GaudiError(
            f"--data {options.data}: the .bin or the .idx has other bytes than were written; copy all files again, or "
            "remove them and run gaudi3_scale data prepare once more."
        )
    return _shown(options.data, manifest, "as written")


def _shown(prefix: Path, manifest: Manifest, said: str) -> int:
    sys.stdout.write(f"{prefix}: {manifest.tokens} tokens, checksum {manifest.bin_sha256[:16]}, {said}\n")
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
