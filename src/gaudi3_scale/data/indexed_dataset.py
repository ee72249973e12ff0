# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Megatron-LM's indexed dataset: token ids in ``PREFIX.bin``, and in ``PREFIX.idx`` their type and where each sequence
lies, both little-endian (megatron/core/datasets/indexed_dataset.py of megatron-core 0.16).

Anybody may have written a pair: the index is compared with the tokens in pieces, before anything is mapped.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._node.regular_file import open_regular

DTYPES = {1: "<u1", 2: "<i1", 3: "<i2", 4: "<i4", 5: "<i8", 8: "<u2"}
"""By their codes. 6 and 7 are floating-point numbers, which are no token ids."""
_HEADER = struct.Struct("<9sQBQQ")
HEADER_BYTES = _HEADER.size
_MAGIC, _VERSION = b"MMIDIDX\0\0", 1
_MOST = 1 << 32
"""Sequences or documents: such an index has 80 GB."""
_BLOCK = 1 << 18
"""So many of an index's numbers are in memory at once."""


@dataclass(frozen=True)
class Index:
    """``dtype`` is numpy's name of a token's type."""

    dtype: str
    tokens: int


def beside(prefix: Path, suffix: str) -> Path:
    return prefix.parent / f"{prefix.name}.{suffix}"


def dtype_for(vocabulary: int) -> str:
    """The smallest type that holds every token; the format has no unsigned one of 32 bits."""
    return next(name for name in ("<u1", "<u2", "<i4") if vocabulary - 1 <= np.iinfo(name).max)


def read_index(prefix: Path, option: str) -> Index:
    """Raises GaudiError, naming ``option`` and the file, where one is missing or the two are no whole pair."""
    try:
        with open_regular(str(beside(prefix, "bin")), follow=True) as stream:
            token_bytes = os.fstat(stream.fileno()).st_size
        with open_regular(str(beside(prefix, "idx")), follow=True) as stream:
            return _checked(stream, token_bytes)
    except FileNotFoundError as error:
        raise GaudiError(
            f"{option} {prefix}: there is no {error.filename}; give the path of a pair of files without its .bin or "
            ".idx, or make one with gaudi3_scale data prepare, and let that finish."
        ) from error
    except OSError as error:
        raise GaudiError(f"{option} {error.filename}: {error.strerror}; give files that this user can read.") from error
    except ValueError as error:
        raise GaudiError(
            f"{option} {beside(prefix, 'idx')}: {error}; copy it and the .bin beside it again, or make both again."
        ) from error


def index_of(dtype: str, lengths: np.ndarray, documents: np.ndarray) -> bytes:
    """As it is written. ``documents``: 0, and after each document how many sequences there were up to its end."""
    code = next(code for code, name in DTYPES.items() if name == dtype)
    sizes = lengths * np.dtype(dtype).itemsize
    numbers = ((lengths, "<i4"), (np.cumsum(sizes) - sizes, "<i8"), (documents, "<i8"))
    header = _HEADER.pack(_MAGIC, _VERSION, code, len(lengths), len(documents))
    return b"".join([header, *(values.astype(kind).tobytes() for values, kind in numbers)])


def dtype_in(header: bytes) -> str:
    """numpy's name of the tokens' type, by the first bytes of an index. Raises ValueError where it is none."""
    return DTYPES[_unpacked(header)[0]]


def _unpacked(header: bytes) -> tuple[int, int, int]:
    """The tokens' type, and how many sequences and documents there are. Raises ValueError with a clause about it."""
    if len(header) < _HEADER.size or not header.startswith(_MAGIC):
        raise ValueError("it does not begin as an index of Megatron-LM does (MMIDIDX)")
    _magic, version, code, sequences, documents = _HEADER.unpack(header[: _HEADER.size])
    if version != _VERSION:
        raise ValueError(f"it has version {version}, and only {_VERSION} is known")
    if code not in DTYPES:
        raise ValueError(f"its tokens have type {code}, and whole numbers have one of {', '.join(map(str, DTYPES))}")
    return code, sequences, documents


def _checked(stream: BinaryIO, token_bytes: int) -> Index:
    """Raises ValueError with a clause about the index."""
    code, sequences, documents = _unpacked(stream.read(_HEADER.size))
    size, needed = os.fstat(stream.fileno()).st_size, _HEADER.size + 12 * sequences + 8 * documents
    if max(sequences, documents) > _MOST or size != needed:
        raise ValueError(f"it has {size} bytes, and claims {sequences} sequences and {documents} documents")
    width = np.dtype(DTYPES[code]).itemsize
    _check_sequences(stream, sequences, width, token_bytes)
    return Index(DTYPES[code], token_bytes // width)


def _check_sequences(stream: BinaryIO, sequences: int, width: int, token_bytes: int) -> None:
    """Every writer appends them, so the file is one row of tokens; which document they belong to is never used."""
    end = 0
    for first in range(0, sequences, _BLOCK):
        count = min(_BLOCK, sequences - first)
        lengths = _numbers(stream, _HEADER.size + 4 * first, "<i4", count).astype(np.int64)
        pointers = _numbers(stream, _HEADER.size + 4 * sequences + 8 * first, "<i8", count)
        ends = end + np.cumsum(lengths * width)
        wrong = (lengths < 0) | (pointers != ends - lengths * width)
        if wrong.any():
            at = int(wrong.argmax())
            raise ValueError(
                f"sequence {first + at}, {lengths[at]} tokens from byte {pointers[at]} on, is out of place"
            )
        end = int(ends[-1])
        if end > token_bytes:
            break
    if end != token_bytes:
        raise ValueError(f"its sequences take {end} bytes, and the .bin has {token_bytes}")


def _numbers(stream: BinaryIO, start: int, kind: str, count: int) -> np.ndarray:
    stream.seek(start)
    return np.frombuffer(stream.read(count * np.dtype(kind).itemsize), kind)
