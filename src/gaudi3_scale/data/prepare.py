# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Text files to a directory of tokens, by several processes at once; what is there already is not made again."""

from __future__ import annotations

import hashlib
import os
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Callable, Iterator, Sequence

import numpy as np

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.data.text_files import nothing_in, text_files, unreadable
from gaudi3_scale.data.token_files import (
    NAME,
    Manifest,
    TokenFile,
    dtype_for,
    read_manifest,
    sha256_of,
    size_of,
    write_manifest,
    write_whole,
)
from gaudi3_scale.data.tokenizers import Tokenizer, open_tokenizer

BLOCK_BYTES = 1 << 20
"""About so much text is tokenised in one go: whole lines of it."""


@dataclass(frozen=True)
class Piece:
    """The bytes of ``file`` from ``start`` to ``end``, and when the file was last changed (nanoseconds)."""

    file: Path
    start: int
    end: int
    changed: int
    ends_file: bool


@dataclass(frozen=True)
class Part:
    """What becomes one file of tokens. The name has a digest of all that its contents depend on."""

    name: str
    pieces: tuple[Piece, ...]

    @property
    def size(self) -> int:
        return sum(piece.end - piece.start for piece in self.pieces)


@dataclass(frozen=True)
class Prepared:
    """``made`` of the manifest's files were written now; the others were there."""

    manifest: Manifest
    made: int


def plan_parts(paths: Sequence[Path], part_bytes: int, identity: str) -> list[Part]:
    """The text in parts of about ``part_bytes``, in the order of :func:`text_files`.

    They do not depend on the number of processes. A file that is longer is cut at the ends of lines, which is where
    the tokeniser of ``identity`` cuts it anyway.
    """
    grouped: list[list[Piece]] = [[]]
    filled = 0
    for piece in _pieces(text_files(paths), part_bytes):
        if filled and filled + piece.end - piece.start > part_bytes:
            grouped.append([])
            filled = 0
        grouped[-1].append(piece)
        filled += piece.end - piece.start
    if not filled:
        raise nothing_in(paths)
    return [_part(number, tuple(pieces), identity) for number, pieces in enumerate(grouped)]


def prepare(
    paths: Sequence[Path],
    directory: Path,
    tokenizer_name: str,
    processes: int,
    part_bytes: int,
    reported: Callable[[int, int, int], None],
) -> Prepared:
    """Make ``directory`` hold the tokens of ``paths``. ``reported`` gets parts done, parts in all, bytes of text done.

    A part that is there under its name is whole and stays, so an interrupted run goes on where it was, and a second one
    changes nothing. Raises GaudiError for what cannot be read or written.
    """
    tokenizer = open_tokenizer(tokenizer_name)
    try:
        parts = plan_parts(paths, part_bytes, tokenizer.identity)
    except OSError as error:
        raise unreadable(error) from error
    before = _foreign_or_before(directory)
    if before is not None and _is_whole(before, parts, directory):
        return Prepared(before, 0)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if before is not None:
            _remove_cut_short(directory, before)
        there = {part.name for part in parts if (directory / part.name).is_file()}
        files = _make_all(parts, directory, tokenizer_name, processes, reported)
        manifest = Manifest(tokenizer.identity, tokenizer.vocabulary, dtype_for(tokenizer.vocabulary), files)
        write_manifest(directory, manifest)
        _remove_others(directory, {part.name for part in parts})
    except BrokenProcessPool as error:
        raise GaudiError(
            f"--processes {processes}: the system ended one of them, most likely for want of memory; give fewer, and "
            "run this again to resume."
        ) from error
    except OSError as error:
        raise GaudiError(f"--out {directory}: {error.strerror}; name a directory that this user can write.") from error
    return Prepared(manifest, len(parts) - len(there))


def _make_all(
    parts: Sequence[Part],
    directory: Path,
    tokenizer_name: str,
    processes: int,
    reported: Callable[[int, int, int], None],
) -> tuple[TokenFile, ...]:
    done = 0
    # Not forked: the tokenizers' library has threads.
    with ProcessPoolExecutor(min(processes, len(parts)), mp_context=get_context("spawn")) as pool:
        futures: dict[Future[TokenFile], Part] = {
            pool.submit(_make, part, directory, tokenizer_name): part for part in parts
        }
        try:
            for number, future in enumerate(as_completed(futures), 1):
                future.result()
                done += futures[future].size
                reported(number, len(parts), done)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return tuple(future.result() for future in futures)


def _make(part: Part, directory: Path, tokenizer_name: str) -> TokenFile:
    """In a process of its own: the file of one part, if it is not there yet."""
    path = directory / part.name
    tokenizer = open_tokenizer(tokenizer_name)
    dtype = np.dtype(dtype_for(tokenizer.vocabulary))
    if not path.is_file():
        write_whole(path, lambda stream: _write_tokens(part, tokenizer, dtype, stream))
    return TokenFile(part.name, path.stat().st_size // dtype.itemsize, sha256_of(path))


def _write_tokens(part: Part, tokenizer: Tokenizer, dtype: np.dtype[Any], stream: Any) -> None:
    for piece in part.pieces:
        for block in _blocks(piece):
            stream.write(tokenizer.encode(block).astype(dtype).tobytes())
        if piece.ends_file and tokenizer.end is not None:
            stream.write(np.asarray([tokenizer.end], dtype).tobytes())


def _blocks(piece: Piece) -> Iterator[bytes]:
    try:
        with piece.file.open("rb") as stream:
            stream.seek(piece.start)
            while (left := piece.end - stream.tell()) > 0:
                block = stream.read(min(BLOCK_BYTES, left))
                yield block if len(block) == left else block + stream.readline()
    except OSError as error:
        raise unreadable(error) from error


def _pieces(files: Sequence[Path], part_bytes: int) -> Iterator[Piece]:
    for file in files:
        status = file.stat()
        start = 0
        while start < status.st_size:
            end = status.st_size if status.st_size - start <= part_bytes else _line_end(file, start + part_bytes)
            yield Piece(file, start, end, status.st_mtime_ns, end == status.st_size)
            start = end


def _line_end(file: Path, position: int) -> int:
    """Where the line ends that has the byte before ``position``."""
    with file.open("rb") as stream:
        stream.seek(position - 1)
        stream.readline()
        return stream.tell()


def _part(number: int, pieces: tuple[Piece, ...], identity: str) -> Part:
    said = [identity, *(f"{piece.file.absolute()} {piece.start} {piece.end} {piece.changed}" for piece in pieces)]
    return Part(f"{number:05d}-{hashlib.sha256(os.fsencode(chr(10).join(said))).hexdigest()[:16]}.tokens", pieces)


def _foreign_or_before(directory: Path) -> Manifest | None:
    """The manifest of an earlier run. Raises GaudiError for a directory with other files: nothing there is ours."""
    before = read_manifest(directory)
    if before is None and directory.is_dir():
        foreign = next((path.name for path in directory.iterdir() if ".tokens" not in path.name), None)
        if foreign is not None and not foreign.startswith(f".{NAME}."):
            raise GaudiError(f"--out {directory}: {foreign} is there already; name a new or an empty directory.")
    return before


def _remove_cut_short(directory: Path, manifest: Manifest) -> None:
    """Files that lost a part of their contents since they were written, as by a copy: they would count as whole."""
    width = np.dtype(manifest.dtype).itemsize
    for file in manifest.files:
        if size_of(directory / file.name) != file.tokens * width:
            (directory / file.name).unlink(missing_ok=True)


def _remove_others(directory: Path, names: set[str]) -> None:
    """Parts of other text or another tokeniser, and what interrupted runs left."""
    for path in directory.iterdir():
        if (path.name.endswith(".tokens") and path.name not in names) or path.name.startswith("."):
            path.unlink()


def _is_whole(manifest: Manifest, parts: Sequence[Part], directory: Path) -> bool:
    """Whether the manifest is of these very parts, and each of its files is there in its length."""
    width = np.dtype(manifest.dtype).itemsize
    return [file.name for file in manifest.files] == [part.name for part in parts] and all(
        size_of(directory / file.name) == file.tokens * width for file in manifest.files
    )
