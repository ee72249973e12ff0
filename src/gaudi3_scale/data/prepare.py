# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Text files to an indexed dataset, by several processes at once.

``PREFIX.bin.unfinished`` grows to the tokens, and ``PREFIX.idx.unfinished`` has a line for each part of the text in it:
an interrupted run resumes with the next one.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import BinaryIO, Callable, Generator, Iterator, Sequence

import numpy as np

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.data.indexed_dataset import beside, dtype_for, index_of
from gaudi3_scale.data.manifest import (
    NAME,
    Manifest,
    digests_of,
    open_pair,
    read_manifest,
    write_manifest,
    write_through,
)
from gaudi3_scale.data.text_files import nothing_in, text_files, unreadable
from gaudi3_scale.data.tokenizers import open_tokenizer

GROWING, JOURNAL = "bin.unfinished", "idx.unfinished"
BLOCK_BYTES = 1 << 20
"""About so much text is tokenised in one go: whole lines of it."""

_tokenizer = cache(open_tokenizer)


@dataclass(frozen=True)
class Piece:
    """The bytes of ``file`` from ``start`` to ``end``, and when the file was last changed (nanoseconds)."""

    file: Path
    start: int
    end: int
    changed: int
    ends_file: bool


Part = list[Piece]
"""What one process tokenizes at a time."""


@dataclass(frozen=True)
class Prepared:
    """``made`` parts were tokenized now; the others were there."""

    manifest: Manifest
    made: int


def plan_parts(paths: Sequence[Path], part_bytes: int) -> list[Part]:
    """The text in parts of about ``part_bytes``, in the order of :func:`text_files`.

    They do not depend on the number of processes. A file that is longer is cut at the ends of lines, which is where
    a tokenizer's blocks end anyway.
    """
    parts: list[Part] = [[]]
    filled = 0
    for piece in _pieces(text_files(paths), part_bytes):
        if filled and filled + piece.end - piece.start > part_bytes:
            parts.append([])
            filled = 0
        parts[-1].append(piece)
        filled += piece.end - piece.start
    if not filled:
        raise nothing_in(paths)
    return parts


def prepare(
    paths: Sequence[Path],
    prefix: Path,
    tokenizer_name: str,
    processes: int,
    part_bytes: int,
    reported: Callable[[int, int], None],
) -> Prepared:
    """Make ``prefix`` a pair with the tokens of ``paths``; ``reported`` gets the parts done, and all.

    What is there already is not made again. Raises GaudiError for what cannot be read or written.
    """
    tokenizer = open_tokenizer(tokenizer_name)
    try:
        parts = plan_parts(paths, part_bytes)
    except OSError as error:
        raise unreadable(error) from error
    # Of all that the tokens depend on.
    source = hashlib.sha256(repr((tokenizer.identity, parts)).encode()).hexdigest()
    dtype = dtype_for(tokenizer.vocabulary)
    before = _already_there(prefix, source)
    if before is not None:
        return Prepared(before, 0)
    try:
        prefix.parent.mkdir(parents=True, exist_ok=True)
        with beside(prefix, GROWING).open("a+b") as tokens, beside(prefix, JOURNAL).open("a+b") as journal:
            fcntl.flock(journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
            lengths = _resumed(source, tokens, journal, np.dtype(dtype).itemsize)
            made = len(parts) - len(lengths)
            make = partial(_make, tokenizer_name=tokenizer_name, dtype=dtype)
            with contextlib.closing(_make_all(make, parts[len(lengths) :], processes)) as each:
                for found, more in each:
                    write_through(tokens, found)
                    write_through(journal, f"{json.dumps(more)}\n".encode())
                    lengths.append(more)
                    reported(len(lengths), len(parts))
            documents = np.append(0, np.flatnonzero([piece.ends_file for part in parts for piece in part]) + 1)
            _put_in_place(prefix, index_of(dtype, np.concatenate(lengths), documents))
            count = sum(map(sum, lengths))
            manifest = Manifest(count, tokenizer.vocabulary, *digests_of(prefix), tokenizer.identity, source)
            write_manifest(prefix, manifest)
            beside(prefix, JOURNAL).unlink()
    except BrokenProcessPool as error:
        raise GaudiError(
            f"--processes {processes}: the system ended one of them, most likely for want of memory; give fewer, and "
            "run this again to resume."
        ) from error
    except BlockingIOError as error:
        raise GaudiError(f"--out {prefix}: another data prepare is writing it; let that finish.") from error
    except OSError as error:
        raise GaudiError(f"--out {prefix}: {error.strerror}; name a path that this user can write.") from error
    return Prepared(manifest, made)


def _already_there(prefix: Path, source: str) -> Manifest | None:
    """The manifest of a whole pair of this very text. Raises GaudiError for one that data prepare did not make."""
    manifest = read_manifest(prefix)
    if manifest is not None and manifest.source == source:
        with contextlib.suppress(GaudiError):
            open_pair(prefix, "--out")
            return manifest
    there = [path.name for path in (beside(prefix, "bin"), beside(prefix, "idx")) if path.exists()]
    if there and not (manifest and manifest.source) and not beside(prefix, JOURNAL).exists():
        raise GaudiError(f"--out {prefix}: {there[0]} is there already; give a path where no such file is.")
    return None


def _resumed(source: str, tokens: BinaryIO, journal: BinaryIO, width: int) -> list[list[int]]:
    """The lengths of the pieces in each part that an interrupted run of ``source`` made; what else there is goes."""
    there: list[list[int]] = []
    end = 0
    journal.seek(0)
    # A line without an end was cut off.
    header, *lines = journal.read().split(b"\n")[:-1] or [b""]
    for line in lines if header == source.encode() else ():
        lengths = json.loads(line)
        if end + sum(lengths) * width > os.fstat(tokens.fileno()).st_size:
            break
        there.append(lengths)
        end += sum(lengths) * width
    tokens.truncate(end)
    journal.truncate(0)
    write_through(journal, "".join(f"{line}\n" for line in (source, *map(json.dumps, there))).encode())
    return there


def _make_all(
    make: Callable[[Part], tuple[bytes, list[int]]], parts: Sequence[Part], processes: int
) -> Generator[tuple[bytes, list[int]], None, None]:
    # Not forked: the tokenizers' library has threads.
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        # Until it is written, what was made is in memory: so many parts at most.
        for first in range(0, len(parts), 4 * processes):
            yield from pool.map(make, parts[first : first + 4 * processes])


def _make(part: Part, tokenizer_name: str, dtype: str) -> tuple[bytes, list[int]]:
    """In a process of its own: the tokens of a part as they are written, and how many each piece has."""
    tokenizer = _tokenizer(tokenizer_name)
    made: list[list[np.ndarray]] = []
    for piece in part:
        end = [tokenizer.end] if piece.ends_file and tokenizer.end is not None else []
        made.append([*map(tokenizer.encode, _blocks(piece)), np.asarray(end)])
    tokens = b"".join(block.astype(dtype).tobytes() for blocks in made for block in blocks)
    return tokens, [sum(map(len, blocks)) for blocks in made]


def _blocks(piece: Piece) -> Iterator[bytes]:
    try:
        with piece.file.open("rb") as stream:
            stream.seek(piece.start)
            while (left := piece.end - stream.tell()) > 0:
                block = stream.read(min(BLOCK_BYTES, left))
                yield block if len(block) == left else block + stream.readline(left - len(block))
    except OSError as error:
        raise unreadable(error) from error


def _pieces(files: Sequence[Path], part_bytes: int) -> Iterator[Piece]:
    for file in files:
        status = file.stat()
        start = 0
        while start < status.st_size:
            end = status.st_size if status.st_size - start <= part_bytes else _line_end(file, start, part_bytes)
            yield Piece(file.absolute(), start, end, status.st_mtime_ns, end == status.st_size)
            start = end


def _line_end(file: Path, start: int, part_bytes: int) -> int:
    """Where the line ends with which a part from ``start`` on is long enough; one that does not end is cut."""
    with file.open("rb") as stream:
        stream.seek(start + part_bytes - 1)
        stream.readline(part_bytes)
        return stream.tell()


def _put_in_place(prefix: Path, index: bytes) -> None:
    """In this order, so that half old and half new files are never taken for a pair: there is no index."""
    for suffix in (NAME, "idx"):
        beside(prefix, suffix).unlink(missing_ok=True)
    beside(prefix, GROWING).replace(beside(prefix, "bin"))
    with beside(prefix, "idx").open("wb") as stream:
        write_through(stream, index)
