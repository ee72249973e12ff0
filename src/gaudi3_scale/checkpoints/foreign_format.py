# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a file of a checkpoint that another program wrote is whole, as far as its format says. Standard library only.

Nothing in such a file is ever loaded: of a pickle no more is read than the names of files that are in it.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

DCP_METADATA = ".metadata"
"""The file that torch.distributed.checkpoint renames into place when the files of all ranks are there."""
DCP_SUFFIX = ".distcp"
_ZIP = b"PK\x03\x04"
_STATE = (".bin", ".ckpt", DCP_SUFFIX, ".pkl", ".pt", ".pth", ".safetensors")
_DCP_NAME = re.compile(rb"__[0-9]{1,9}_[0-9]{1,9}\.distcp")
_MOST_HEADER = 100_000_000
"""Bytes; the limit of the format safetensors itself."""
_MOST_READ = 1 << 28


def wrong_with(path: Path, size: int) -> str:
    """Why the file of ``size`` bytes was cut off, as a clause; empty where nothing says so.

    Raises OSError where it cannot be read.
    """
    if not size:
        return "it is empty" if path.suffix in (*_STATE, ".json") else ""
    if path.suffix == ".safetensors":
        return _wrong_safetensors(path, size)
    if path.suffix == ".json":
        return _wrong_json(path, size)
    with path.open("rb") as stream:
        is_zip = stream.read(len(_ZIP)) == _ZIP
    # What torch.save writes; the list of its parts is at its end.
    if is_zip:
        try:
            zipfile.ZipFile(path).close()
        except (zipfile.BadZipFile, ValueError, NotImplementedError):
            return f"it ends after {size} bytes, in the middle of a part"
    return ""


def needed_by(path: Path, size: int) -> tuple[str, ...]:
    """The names of the files beside it without which this one is of no use: an index names them."""
    if size > _MOST_READ:
        return ()
    if path.name == DCP_METADATA:
        return tuple(sorted({name.decode("ascii") for name in _DCP_NAME.findall(path.read_bytes())}))
    if path.name.endswith(".index.json"):
        try:
            shards = json.loads(path.read_bytes())["weight_map"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return ()
        names = shards.values() if isinstance(shards, Mapping) else ()
        return tuple(sorted({name for name in names if isinstance(name, str) and "/" not in name}))
    return ()


def _wrong_safetensors(path: Path, size: int) -> str:
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if size < 8 or length > min(_MOST_HEADER, size - 8):
            return f"it ends after {size} bytes, in its header"
        try:
            ends = _ends(json.loads(stream.read(length)))
        except (ValueError, TypeError, RecursionError):
            return "its header cannot be read"
    whole = 8 + length + max(ends, default=0)
    return f"it has {size} bytes of {whole}" if size < whole else ""


def _ends(header: Any) -> list[int]:
    if not isinstance(header, Mapping):
        raise TypeError("header")
    ends = [about["data_offsets"][1] for name, about in header.items() if name != "__metadata__"]
    if not all(isinstance(end, int) and not isinstance(end, bool) for end in ends):
        raise TypeError("data_offsets")
    return ends


def _wrong_json(path: Path, size: int) -> str:
    """Only what is cut: some programs write several values, or comments, into files of this name."""
    content = path.read_bytes() if size <= _MOST_READ else b"0"
    cut = f"it ends after {size} bytes, in the middle of a value"
    # What a file has where its bytes had not got to the disk when the node went down.
    if b"\0" in content:
        return cut
    text = content.decode("utf-8", "replace").rstrip()
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return cut if error.pos >= len(text) or error.msg.startswith("Unterminated string") else ""
    except (ValueError, RecursionError):
        return ""
    return ""


def is_not_utf8(name: str) -> bool:
    """Whether a name has bytes that JSON cannot carry to another node."""
    try:
        os.fsencode(name).decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False
