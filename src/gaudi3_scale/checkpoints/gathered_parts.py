# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Reading a copy of which each node has parts: each gets from the others what its own ranks are about to read.

Ranges of bytes, not whole files: every rank reads a little of every file, as the numbers that are not sharded. Whoever
gives one has held its whole file against the manifest at this start.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Sequence

import lightning.pytorch as lightning
import torch
import torch.distributed
from torch.distributed.checkpoint.planner import LoadPlan, LoadPlanner

from gaudi3_scale.checkpoints.copies import LeftOut, everyones_manifests, readable_manifest
from gaudi3_scale.checkpoints.files import checkpoint_path, damage_of, remove, write_manifest
from gaudi3_scale.checkpoints.loading import DataReader
from gaudi3_scale.checkpoints.manifest import Manifest
from gaudi3_scale.checkpoints.memory_parts import PartedPlace
from gaudi3_scale.checkpoints.memory_room import no_room_for
from gaudi3_scale.checkpoints.state import restore
from gaudi3_scale.checkpoints.transfer import CHUNK_BYTES
from gaudi3_scale.checkpoints.writer import METADATA
from gaudi3_scale.core._errors import GaudiError

LOG = logging.getLogger(__name__)
Range = tuple[str, int, int]
"""The name of a file, an offset in it, and a length."""


@dataclass(frozen=True)
class Parts:
    """The undamaged files of one copy that each node's first rank has, and every rank's node by that rank."""

    place: PartedPlace
    manifest: Manifest
    held: dict[int, frozenset[str]]
    nodes: tuple[int, ...]

    def source_of(self, name: str) -> int:
        return next(leader for leader, names in self.held.items() if name in names)

    def is_range(self, asked: Any) -> bool:
        """Whether what another rank asks for is within a file of this copy."""
        if not (isinstance(asked, list) and list(map(type, asked)) == [str, int, int]):
            return False
        name, offset, length = asked
        return name in self.manifest.files and 0 <= offset <= offset + length <= self.manifest.files[name].bytes


def find_parts(step: int, place: PartedPlace, left_out: list[LeftOut]) -> Parts | None:
    """Who has what of the step, where all of it is somewhere and there is room for what is not here. Collective.

    None where it is left out, which is then in ``left_out``.
    """
    folder = checkpoint_path(place.directory, step)
    mine = readable_manifest(folder) if folder.is_dir() else None
    manifests = everyones_manifests(mine if place.leads else None, place)
    told: list[LeftOut] = []
    for number, wanted in enumerate(manifests):
        # Of two runs of which each wrote the step, one may have been cut off before all nodes had it.
        if wanted is not None and wanted not in manifests[:number]:
            parts = _looked_through(folder, wanted, wanted == mine, place, told)
            if parts and _has_room(parts, told):
                return parts
    left_out += told or [LeftOut(step, str(folder), "no node has a manifest of it that can be read")]
    return None


def _looked_through(
    folder: Path, wanted: Manifest, is_here: bool, place: PartedPlace, told: list[LeftOut]
) -> Parts | None:
    """Each rank reads its part of the files of its node. Collective."""
    good: list[str] = []
    damaged: list[str] = []
    for name in sorted(wanted.files)[place.number :: len(place.members)]:
        if is_here and (folder / name).exists():
            why = damage_of(folder / name, wanted.files[name])
            damaged += [why] if why else []
            good += [] if why else [name]
    reported = place.gather((place.members[0], good, damaged))
    held = {
        leader: frozenset(name for other, names, _damaged in reported if other == leader for name in names)
        for leader in place.ring
    }
    missing = sorted({*wanted.files} - frozenset().union(*held.values()))
    for rank, (_leader, _good, found) in enumerate(reported):
        for why in found:
            if missing:
                told.append(LeftOut(wanted.step, f"rank {rank}: {folder}", why))
            elif rank == torch.distributed.get_rank():
                LOG.warning("gaudi3_scale: %s is damaged: %s; another node has it.", folder, why)
    if missing:
        told.append(LeftOut(wanted.step, str(folder), f"{missing[0]} is on no node"))
        return None
    return Parts(place, wanted, held, tuple(leader for leader, _good, _damaged in reported))


def _has_room(parts: Parts, told: list[LeftOut]) -> bool:
    """For what the ranks of each node read. Collective."""
    place = parts.place
    lacks = place.leads and parts.held[place.members[0]] != {*parts.manifest.files}
    short = no_room_for(parts.manifest.bytes // len(place.ring), place.directory) if lacks else ""
    found = [
        LeftOut(parts.manifest.step, f"rank {rank}: {place.directory}", why)
        for rank, why in enumerate(place.gather(short))
        if why
    ]
    told += found
    return not found


def restore_from_parts(trainer: lightning.Trainer, parts: Parts) -> None:
    """As :func:`gaudi3_scale.checkpoints.state.restore` does from a whole copy. Collective."""
    with _gathered(parts) as gathering:
        restore(trainer, gathering.folder, parts.place.group, lambda path: _PartReader(path, gathering.fetch))


class _PartReader(DataReader):
    """A reader of a folder into which ``fetch`` puts, of all ranks at once, what they are about to read."""

    def __init__(self, path: Path, fetch: Callable[[set[Range]], None]) -> None:
        super().__init__(path)
        self._fetch = fetch

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Any:
        infos = [self.storage_data[item.storage_index] for item in plan.items]
        self._fetch({(info.relative_path, info.offset, info.length) for info in infos})
        return super().read_data(plan, planner)


@contextlib.contextmanager
def _gathered(parts: Parts) -> Iterator[_Gathering]:
    """Removed again in the end."""
    gathering = _Gathering(parts)
    try:
        gathering.begin()
        yield gathering
    finally:
        if parts.place.leads:
            shutil.rmtree(gathering.folder, ignore_errors=True)


class _Gathering:
    """A folder on each node with its own undamaged files, and holes in the others where nobody here reads them.

    What fails on one rank raises GaudiError on all of them. Collective, as all here.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._place = parts.place
        self._own = parts.place.members[0]
        self._held = checkpoint_path(parts.place.directory, parts.manifest.step)
        # No other generation's, and the start after a kill removes what has such a name.
        token = parts.place.gather(secrets.token_hex(8))[0]
        self.folder = self._held.with_name(f".{self._held.name}.{token}")

    def begin(self) -> None:
        """With what tells where each tensor lies."""
        why: str | None = ""
        if self._place.leads:
            try:
                self.folder.mkdir()
                for name in self._parts.held[self._own]:
                    os.link(self._held / name, self.folder / name)
                write_manifest(self.folder, self._parts.manifest)
            except OSError as error:
                why = f"{self.folder}: {error.strerror}"
        self._require_all(why)
        record = self._parts.manifest.files[METADATA]
        self.fetch({(METADATA, 0, record.bytes)})
        self._require_all(damage_of(self.folder / METADATA, record) if self._place.leads else "")

    def fetch(self, wanted: set[Range]) -> None:
        """Have on each node what its ranks want."""
        lacking = sorted(one for one in wanted if one[0] not in self._parts.held[self._own])
        asked: dict[tuple[int, int], set[Range]] = {}
        for node, ranges in zip(self._parts.nodes, self._place.gather(lacking)):
            for one in ranges:
                if not self._parts.is_range(one):
                    raise GaudiError(f"rank {node} asks for {str(one)[:80]}, which is not part of the copy")
                name, offset, length = one
                asked.setdefault((self._parts.source_of(name), node), set()).add((name, offset, length))
        why = ""
        # In the same order on all: whoever waits for another waits for an earlier one.
        for (source, receiver), all_asked in sorted(asked.items()):
            if self._place.leads and source == self._own:
                self._give(sorted(all_asked), receiver)
            elif self._place.leads and receiver == self._own:
                why = self._take(sorted(all_asked), source) or why
        self._require_all(why)

    def _require_all(self, why: str | None) -> None:
        told = next((f"rank {rank}: {one}" for rank, one in enumerate(self._place.gather(why)) if one), None)
        if told is None:
            return
        if self._place.leads:
            # It is not to fail the next start too, which then takes what is on the disk.
            with contextlib.suppress(OSError, GaudiError):
                self._place.fence.require()
                remove(self._held)
        raise GaudiError(f"step {self._parts.manifest.step} could not be read from memory: {told}; launch again.")

    def _give(self, ranges: Sequence[Range], receiver: int) -> None:
        digest = hashlib.sha256()
        for batch in _batches(ranges):
            content = torch.zeros(_size(batch), dtype=torch.uint8)
            # What cannot be read any more arrives as something else than what the digest is of.
            for (name, offset, length), part in zip(batch, _split(content, batch)):
                with contextlib.suppress(OSError), (self._held / name).open("rb") as stream:
                    stream.seek(offset)
                    if stream.readinto(part) == length:
                        digest.update(part)
            torch.distributed.send(content, receiver, group=self._place.leaders)
        proof = torch.frombuffer(bytearray(digest.digest()), dtype=torch.uint8)
        torch.distributed.send(proof, receiver, group=self._place.leaders)

    def _take(self, ranges: Sequence[Range], source: int) -> str:
        """What went wrong, or nothing; all that is sent is taken."""
        digest, why = hashlib.sha256(), ""
        for batch in _batches(ranges):
            content = torch.empty(_size(batch), dtype=torch.uint8)
            torch.distributed.recv(content, source, group=self._place.leaders)
            digest.update(content.numpy().data)
            try:
                for (name, offset, _length), part in zip(batch, _split(content, batch)):
                    with os.fdopen(os.open(self.folder / name, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as stream:
                        stream.seek(offset)
                        stream.write(part)
            except OSError as error:
                why = f"{self.folder}: {error.strerror}"
        proof = torch.empty(digest.digest_size, dtype=torch.uint8)
        torch.distributed.recv(proof, source, group=self._place.leaders)
        return why or ("" if bytes(proof.tolist()) == digest.digest() else f"rank {source} could not read all of it")


def _batches(ranges: Sequence[Range]) -> Iterator[list[Range]]:
    """As much at a time as one chunk of bytes."""
    batch: list[Range] = []
    room = CHUNK_BYTES
    for name, offset, length in ranges:
        while length:
            taken = min(length, room)
            batch.append((name, offset, taken))
            offset, length, room = offset + taken, length - taken, room - taken
            if not room:
                yield batch
                batch, room = [], CHUNK_BYTES
    if batch:
        yield batch


def _size(batch: Sequence[Range]) -> int:
    return sum(length for _name, _offset, length in batch)


def _split(content: torch.Tensor, batch: Sequence[Range]) -> list[memoryview]:
    """The part of ``content`` of each range."""
    parts = content.split([length for _name, _offset, length in batch])
    return [part.numpy().data for part in parts]
