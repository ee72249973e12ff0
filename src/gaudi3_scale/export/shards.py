# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The safetensors files of an export: one after the other, each whole or not there, and kept over a restart."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gaudi3_scale.checkpoints.files import record_of
from gaudi3_scale.checkpoints.manifest import FileRecord
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.export.conversion import Conversion
from gaudi3_scale.export.record import write_text
from gaudi3_scale.export.safetensors_weights import INDEX, ONE_FILE

Shards = Mapping[str, Sequence[str]]
"""The names of the weights in each file."""


def planned(conversion: Conversion, most_bytes: int) -> Shards:
    """Files of at most so many bytes, in the order of the model; a weight that is larger has one of its own."""
    groups: list[list[str]] = [[]]
    filled = 0
    for name in conversion.architecture.origins:
        size = conversion.bytes_of(name)
        if groups[-1] and filled + size > most_bytes:
            groups.append([])
            filled = 0
        groups[-1].append(name)
        filled += size
    if len(groups) == 1:
        return {ONE_FILE: groups[0]}
    return {f"model-{number:05d}-of-{len(groups):05d}.safetensors": of for number, of in enumerate(groups, 1)}


def write_shard(conversion: Conversion, names: Sequence[str], path: Path) -> FileRecord:
    """Through a hidden name, so that what a killed export leaves is no shard."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    unfinished = path.with_name(f".{path.name}")
    try:
        save_file(conversion.exported(names), unfinished, metadata={"format": "pt"})
    except SafetensorError as error:
        # A full disk, for instance.
        raise GaudiError(
            f"{path} cannot be written: {str(error).rstrip('.')}; make room there, and run the same again: it resumes."
        ) from error
    # The library makes it for its owner alone; who may read a model is the account's to say.
    with unfinished.open("rb") as stream:
        os.fchmod(stream.fileno(), 0o666 & ~_mask())
        os.fsync(stream.fileno())
    record = record_of(unfinished)
    unfinished.replace(path)
    return record


def write_shards(
    conversion: Conversion,
    shards: Shards,
    directory: Path,
    kept: Mapping[str, FileRecord],
    done: Callable[[str, FileRecord], None],
) -> None:
    """All but those that are there as ``kept`` says; ``done`` is told each."""
    for file, names in shards.items():
        path = directory / file
        is_there = file in kept and path.is_file() and record_of(path) == kept[file]
        done(file, kept[file] if is_there else write_shard(conversion, names, path))


def write_index(conversion: Conversion, shards: Shards, directory: Path) -> None:
    """Which file has which weight; a model in one file needs none."""
    if list(shards) == [ONE_FILE]:
        return
    total = sum(conversion.bytes_of(name) for names in shards.values() for name in names)
    where = {name: file for file, names in shards.items() for name in names}
    index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(where.items()))}
    write_text(directory / INDEX, json.dumps(index, indent=1))


def _mask() -> int:
    """The process's umask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
