# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A checkpoint on its way from a rank that has it to the directories that lack it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from pathlib import Path
from typing import BinaryIO, Callable, Iterator, Sequence, Union

import torch
import torch.distributed

from gaudi3_scale.checkpoints.files import (
    Check,
    checkpoint_path,
    put_in_place,
    unfenced,
    unfinished_path,
    write_manifest,
)
from gaudi3_scale.checkpoints.manifest import FileRecord, Manifest
from gaudi3_scale.core._errors import GaudiError

CHUNK_BYTES = 32 << 20
Chunk = Union[bytes, memoryview]


def spread(
    source: int, receivers: Sequence[int], folder: Path | None, manifest: Manifest, directory: Path, check: Check
) -> str | None:
    """Collective of all ranks: ``source`` sends the checkpoint in ``folder``, each of ``receivers`` puts it into its
    own ``directory``. Returns what went wrong on this rank, or None."""
    group = torch.distributed.new_group([source, *receivers], backend="gloo")
    rank = torch.distributed.get_rank()
    if rank == source and folder is not None:
        for name, record in sorted(manifest.files.items()):
            send_file(folder / name, record.bytes, source, group)
    elif rank in receivers:
        return _receive(manifest, directory, source, group, check)
    return None


def put_files(
    manifest: Manifest, directory: Path, chunks_of: Callable[[str], Iterator[Chunk]], check: Check = unfenced
) -> None:
    """Write a checkpoint whose files come as chunks of bytes, hold each against its checksum, and put it in place.

    Raises OSError where the disk fails, ValueError where a file is not what the manifest says, and what ``check``
    raises.
    """
    unfinished = unfinished_path(directory, manifest.step, manifest.run)
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    try:
        for name, record in sorted(manifest.files.items()):
            with (unfinished / name).open("xb") as stream:
                put_file(name, record, chunks_of(name), stream)
        write_manifest(unfinished, manifest)
        put_in_place(unfinished, checkpoint_path(directory, manifest.step), check)
    except (OSError, ValueError, GaudiError):
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def put_file(name: str, record: FileRecord, chunks: Iterator[Chunk], stream: BinaryIO) -> None:
    """Raises OSError where it cannot be written, ValueError where it is not what the manifest says."""
    digest, size = hashlib.sha256(), 0
    for chunk in chunks:
        digest.update(chunk)
        size += len(chunk)
        if size > record.bytes:
            # Before it fills the disk.
            raise ValueError(f"{name} is longer than the {record.bytes} bytes that the manifest says")
        stream.write(chunk)
    stream.flush()
    os.fsync(stream.fileno())
    if FileRecord(size, digest.hexdigest()) != record:
        raise ValueError(f"{name} did not arrive as it was sent")


def send_file(path: Path, size: int, source: int, group: torch.distributed.ProcessGroup) -> None:
    for chunk in chunks_in(path, size):
        torch.distributed.broadcast(chunk, source, group=group)


def chunks_in(path: Path, size: int) -> Iterator[torch.Tensor]:
    """What cannot be read is zeros: whoever waits for it is not left waiting, and sees that by the checksum."""
    for number, length in enumerate(lengths(size)):
        chunk = torch.zeros(length, dtype=torch.uint8)
        with contextlib.suppress(OSError), path.open("rb") as stream:
            stream.seek(number * CHUNK_BYTES)
            stream.readinto(chunk.numpy().data)
        yield chunk


def _receive(
    manifest: Manifest, directory: Path, source: int, group: torch.distributed.ProcessGroup, check: Check
) -> str | None:
    under_way = {name: arriving(record.bytes, source, group) for name, record in manifest.files.items()}
    failure = None
    try:
        put_files(manifest, directory, lambda name: under_way[name], check)
    except OSError as error:
        failure = error.strerror
    except (ValueError, GaudiError) as error:
        failure = str(error)
    # The others are being sent the same: a rank that cannot write goes on listening.
    for name in sorted(under_way):
        for _part in under_way[name]:
            pass
    return failure


def arriving(size: int, source: int, group: torch.distributed.ProcessGroup) -> Iterator[Chunk]:
    for length in lengths(size):
        chunk = torch.empty(length, dtype=torch.uint8)
        torch.distributed.broadcast(chunk, source, group=group)
        yield chunk.numpy().data


def lengths(size: int) -> list[int]:
    return [min(CHUNK_BYTES, size - start) for start in range(0, size, CHUNK_BYTES)]
