# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A directory of tokens: files of unsigned numbers, one token after the other, and a manifest that says what they are.

``manifest.json`` appears last, so a directory that has one is whole.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Callable

import numpy as np

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._node.json_file import LARGEST, parse_object
from gaudi3_scale.core._node.regular_file import read_bounded

NAME = "manifest.json"
FORMAT = 1


@dataclass(frozen=True)
class TokenFile:
    """``name`` says what the file was made from and how; ``sha256`` is of its bytes."""

    name: str
    tokens: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """``tokenizer`` is ``bytes`` or the sha256 of a tokenizer.json; ``dtype`` is numpy's name of a token's type."""

    tokenizer: str
    vocabulary: int
    dtype: str
    files: tuple[TokenFile, ...]
    format: int = FORMAT

    @property
    def tokens(self) -> int:
        return sum(file.tokens for file in self.files)

    @property
    def checksum(self) -> str:
        """sha256 of all that training depends on: the tokens in their order, and what they mean."""
        parts = [self.tokenizer, str(self.vocabulary), self.dtype, *(file.sha256 for file in self.files)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def dtype_for(vocabulary: int) -> str:
    """The smallest unsigned type that holds every token, little-endian."""
    return next(name for name in ("<u1", "<u2", "<u4") if vocabulary - 1 <= np.iinfo(name).max)


def read_manifest(directory: Path) -> Manifest | None:
    """None where there is none. Raises GaudiError for one that is not of this version."""
    try:
        found = parse_object(read_bounded(str(directory / NAME), LARGEST, follow=True))
        files = tuple(TokenFile(**file) for file in found.pop("files"))
        found.pop("checksum")
        manifest = Manifest(**found, files=files)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, TypeError, KeyError, AttributeError, OSError) as error:
        raise GaudiError(
            f"{directory / NAME} is not a manifest of prepared data; prepare the data into another directory."
        ) from error
    if manifest.format != FORMAT:
        raise GaudiError(f"{directory / NAME} has format {manifest.format}, not {FORMAT}; prepare the data again.")
    return manifest


def write_manifest(directory: Path, manifest: Manifest) -> None:
    contents: dict[str, Any] = {"checksum": manifest.checksum, **asdict(manifest)}
    write_whole(directory / NAME, lambda stream: stream.write((json.dumps(contents, indent=1) + "\n").encode()))


def whole_manifest(directory: Path, option: str) -> Manifest:
    """The manifest, with every file as long as it says. Raises GaudiError, naming ``option``, where that is not so."""
    manifest = read_manifest(directory)
    if manifest is None:
        raise GaudiError(
            f"{option} {directory}: there is no {NAME}; make it with gaudi3_scale data prepare, or let that finish."
        )
    width = np.dtype(manifest.dtype).itemsize
    for file in manifest.files:
        size = size_of(directory / file.name)
        if size != file.tokens * width:
            state = "is missing" if size < 0 else f"has {size} bytes instead of {file.tokens * width}"
            raise GaudiError(f"{option} {directory}: {file.name} {state}; run gaudi3_scale data prepare once more.")
    return manifest


def damaged(directory: Path, manifest: Manifest) -> list[str]:
    """The files whose bytes are not those that were written."""
    return [file.name for file in manifest.files if sha256_of(directory / file.name) != file.sha256]


def size_of(path: Path) -> int:
    """In bytes; -1 where there is no such file."""
    return path.stat().st_size if path.is_file() else -1


def sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def write_whole(path: Path, write: Callable[[Any], Any]) -> None:
    """Let ``write`` fill a file beside ``path``, bring it to the disk, and rename it."""
    unfinished = path.with_name(f".{path.name}.{socket.gethostname()}-{os.getpid()}")
    with unfinished.open("wb") as stream:
        write(stream)
        stream.flush()
        os.fsync(stream.fileno())
    unfinished.replace(path)
