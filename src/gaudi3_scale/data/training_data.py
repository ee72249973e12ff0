# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a job trains on: text read as bytes, or prepared tokens, the same on all ranks."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

import torch

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.data.text_files import read_text
from gaudi3_scale.data.token_files import whole_manifest
from gaudi3_scale.data.token_windows import VALIDATION_EVERY, MappedTokens, Tokens, TokenWindows
from gaudi3_scale.data.tokenizers import BYTES, ByteTokenizer
from gaudi3_scale.ranks import gather_numbers


@dataclass(frozen=True)
class TrainingData:
    """``tokenizer`` says what a token is (:class:`Manifest`); equal ``checksum`` (32-bit numbers) means equal data."""

    option: str
    windows: TokenWindows
    tokenizer: str
    vocabulary: int
    checksum: tuple[int, ...]


def open_data(text: Sequence[Path] | None, directory: Path | None, length: int) -> TrainingData:
    """The data of ``--data``, or else the bytes of ``--text``, in windows of ``length`` tokens.

    Raises GaudiError where it is not there, not whole, or too little.
    """
    if directory is not None:
        manifest = whole_manifest(directory, "--data")
        tokens: Tokens = MappedTokens([directory / file.name for file in manifest.files], manifest.dtype)
        checksum = tuple(int(manifest.checksum[at : at + 8], 16) for at in (0, 8, 16, 24))
        data = TrainingData("--data", TokenWindows(tokens, length), manifest.tokenizer, manifest.vocabulary, checksum)
    else:
        text_bytes = read_text(text or ())
        tokens = Tokens([text_bytes])
        checksum = (zlib.crc32(text_bytes.data),)
        data = TrainingData("--text", TokenWindows(tokens, length), BYTES, ByteTokenizer.vocabulary, checksum)
    if len(data.windows) < VALIDATION_EVERY:
        raise GaudiError(
            f"{data.option}: {len(tokens)} {'bytes' if data.tokenizer == BYTES else 'tokens'} give {len(data.windows)} "
            f"windows of --sequence-length {length} and {VALIDATION_EVERY} are needed; give more text or shorter "
            "windows."
        )
    return data


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
            else ("other tokens than rank 0; copy the same directory")
        )
        raise GaudiError(f"{data.option}: rank {', '.join(map(str, other))} read {what} everywhere.")
