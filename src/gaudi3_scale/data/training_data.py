# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a job trains on: text read as bytes, or tokens in an indexed dataset, the same on all ranks."""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

import numpy as np
import torch

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.data.bucket_tokens import open_bucket
from gaudi3_scale.data.indexed_dataset import beside
from gaudi3_scale.data.manifest import NAME, Manifest, described, open_pair
from gaudi3_scale.data.text_files import read_text
from gaudi3_scale.data.token_windows import VALIDATION_EVERY, MappedTokens, TokenWindows
from gaudi3_scale.data.tokenizers import BYTES, ByteTokenizer
from gaudi3_scale.ranks import gather_numbers


@dataclass(frozen=True)
class TrainingData:
    """``tokenizer`` says what a token is (:class:`Manifest`); equal ``checksum`` (32-bit numbers) means equal data.

    ``caution`` is what the operator should know of it, or nothing.
    """

    option: str
    windows: TokenWindows
    tokenizer: str
    vocabulary: int
    checksum: tuple[int, ...]
    caution: str = ""


def open_data(text: Sequence[Path] | None, prefix: Path | str | None, length: int) -> TrainingData:
    """The data of ``--data``, or else the bytes of ``--text``, in windows of ``length`` tokens. A ``prefix`` that is a
    text is a place in S3-compatible storage.

    Raises GaudiError where it is not there, not whole, or too little.
    """
    if isinstance(prefix, str):
        data = _of_bucket(prefix, length)
    else:
        data = _of_pair(prefix, length) if prefix is not None else _of_text(text or (), length)
    if len(data.windows) < VALIDATION_EVERY:
        raise GaudiError(
            f"{data.option}: {len(data.windows.tokens)} {'bytes' if data.tokenizer == BYTES else 'tokens'} give "
            f"{len(data.windows)} windows of --sequence-length {length} and {VALIDATION_EVERY} are needed; give more "
            "text or shorter windows."
        )
    return data


def _of_text(paths: Sequence[Path], length: int) -> TrainingData:
    text = read_text(paths)
    checksum = (zlib.crc32(text.data),)
    return TrainingData("--text", TokenWindows(text, length), BYTES, ByteTokenizer.vocabulary, checksum)


def _of_pair(prefix: Path, length: int) -> TrainingData:
    index, manifest = open_pair(prefix, "--data")
    caution = ""
    if manifest is None:
        manifest = described(prefix, index, "--data")
        caution = (
            f"--data {prefix}: there is no {beside(prefix, NAME).name}, so nothing says which tokenizer made the "
            f"tokens; the largest is {manifest.vocabulary - 1}. gaudi3_scale data check writes one, and then a start "
            "does not read all tokens."
        )
    windows = TokenWindows(MappedTokens(beside(prefix, "bin"), index.dtype, index.tokens), length)
    return _prepared(windows, manifest, index.dtype, caution)


def _of_bucket(url: str, length: int) -> TrainingData:
    tokens, manifest = open_bucket(url)
    return _prepared(TokenWindows(tokens, length), manifest, tokens.dtype)


def _prepared(windows: TokenWindows, manifest: Manifest, dtype: str, caution: str = "") -> TrainingData:
    said = f"{manifest.bin_sha256} {dtype} {manifest.vocabulary}"
    checksum = tuple(np.frombuffer(hashlib.sha256(said.encode()).digest(), "<u4", 4).tolist())
    return TrainingData("--data", windows, manifest.tokenizer, manifest.vocabulary, checksum, caution)


def require_same_data(data: TrainingData, device: torch.device) -> None:
    """Each node reads its own files: ranks that read different ones would train on a mixture without a word.

    Collective: every rank calls it.
    """
    mine = [number & 0x7FFFFFFF for number in data.checksum]
    found = gather_numbers(mine, 4, device)
    other = [rank for rank, numbers in enumerate(found) if numbers != found[0]]
    if other:
        what = (
            "other bytes than rank 0; copy the same files"
            if data.option == "--text"
            else ("other tokens than rank 0; copy the same pair of files")
        )
        raise GaudiError(f"{data.option}: rank {', '.join(map(str, other))} read {what} everywhere.")
