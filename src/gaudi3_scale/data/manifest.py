# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``PREFIX.manifest.json`` says of an indexed dataset what the format has no place for; a pair of files needs none."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from gaudi3_scale import __version__
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._node.digests import file_digest
from gaudi3_scale.core._node.json_file import LARGEST, parse_object
from gaudi3_scale.core._node.regular_file import read_bounded
from gaudi3_scale.data.indexed_dataset import Index, beside, read_index

NAME = "manifest.json"
MOST_VOCABULARY = 1 << 24
"""More than any tokenizer has: a model of as many tokens as a broken file says would take all memory."""
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Manifest:
    """``tokenizer`` is ``bytes``, the sha256 of a tokenizer.json, or "" where nobody said. ``source`` is a digest of
    all that data prepare made the pair from, and "" where somebody else made it.
    """

    tokens: int
    vocabulary: int
    bin_sha256: str
    idx_sha256: str
    tokenizer: str = ""
    source: str = ""
    release: str = __version__


def read_manifest(prefix: Path) -> Manifest | None:
    """None where there is none. Raises GaudiError for a file that is no manifest."""
    path = beside(prefix, NAME)
    try:
        return manifest_in(read_bounded(str(path), LARGEST, follow=True))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, OSError) as error:
        raise GaudiError(f"{path} is not a manifest of prepared data; move it away, or give another path.") from error


def manifest_in(content: bytes) -> Manifest:
    """Raises ValueError where it is none."""
    wrong = f"its {NAME} is not a manifest of prepared data"
    try:
        manifest = Manifest(**parse_object(content))
    except TypeError as error:
        raise ValueError(wrong) from error
    if any(type(value).__name__ != Manifest.__annotations__[name] for name, value in asdict(manifest).items()):
        raise ValueError(wrong)
    if not 0 < manifest.vocabulary <= MOST_VOCABULARY:
        raise ValueError(wrong)
    return manifest


def write_manifest(prefix: Path, manifest: Manifest) -> None:
    unfinished = beside(prefix, f"{NAME}.unfinished")
    with unfinished.open("wb") as stream:
        write_through(stream, json.dumps(asdict(manifest), indent=1).encode() + b"\n")
    unfinished.replace(beside(prefix, NAME))


def write_through(stream: BinaryIO, content: bytes) -> None:
    """It is on the disk when this returns."""
    stream.write(content)
    stream.flush()
    os.fsync(stream.fileno())


def open_pair(prefix: Path, option: str) -> tuple[Index, Manifest | None]:
    """A whole pair, and what its manifest says of it. Raises GaudiError, naming ``option``, where that is not so."""
    index, manifest = read_index(prefix, option), read_manifest(prefix)
    if manifest is not None and manifest.tokens != index.tokens:
        raise GaudiError(
            f"{option} {prefix}: there are {index.tokens} tokens instead of the {manifest.tokens} of "
            f"{beside(prefix, NAME).name}; copy all files again, or run gaudi3_scale data prepare once more."
        )
    return index, manifest


def described(prefix: Path, index: Index, option: str) -> Manifest:
    """Of a pair without a manifest: all of its tokens are read, and the largest tells how many there are."""
    largest = 0
    with beside(prefix, "bin").open("rb") as stream:
        while (tokens := np.fromfile(stream, index.dtype, _BLOCK)).size:
            least, largest = int(tokens.min()), max(largest, int(tokens.max()))
            if least < 0 or largest >= MOST_VOCABULARY:
                raise GaudiError(
                    f"{option} {stream.name}: it has the token {least if least < 0 else largest}, and tokens go from 0 "
                    f"to {MOST_VOCABULARY - 1}; make it again."
                )
    return Manifest(index.tokens, largest + 1, *digests_of(prefix))


def digests_of(prefix: Path) -> tuple[str, str]:
    """The sha256 of both files."""
    return file_digest(beside(prefix, "bin"), "sha256"), file_digest(beside(prefix, "idx"), "sha256")
