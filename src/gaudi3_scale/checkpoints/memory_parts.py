# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Copies in memory of a model that is sharded over nodes: no node has a whole one, and any one node may be lost.

All ranks write one copy together, each node's ranks into their own node's directory. Then each node gives its part to
the next one of a ring. Only when every node has both parts is the copy put in place, and only when it is in place on
every node is the one before it removed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch
import torch.distributed
from torch.distributed.checkpoint.metadata import Metadata

from gaudi3_scale.checkpoints.manifest import Manifest, manifest_text, read_manifest
from gaudi3_scale.checkpoints.memory_room import require_own
from gaudi3_scale.checkpoints.place import Place, gather_in
from gaudi3_scale.checkpoints.saver import BackgroundSaver
from gaudi3_scale.checkpoints.state import bytes_of, own_bytes_of, share_of
from gaudi3_scale.checkpoints.transfer import Chunk, arriving, chunks_in, lengths, put_file, send_file
from gaudi3_scale.checkpoints.writer import METADATA, WholeCheckpointWriter
from gaudi3_scale.core._errors import GaudiError


@dataclass(frozen=True)
class PartedPlace(Place):
    """A place of which each node's directory has parts of a copy: ``group`` joins all ranks.

    ``ring`` are the first ranks of each directory, which ``leaders`` joins; each gives its part to the next.
    """

    ring: tuple[int, ...]
    leaders: torch.distributed.ProcessGroup

    @property
    def before(self) -> int:
        """The first rank of the directory whose part this one has too: its own where there is no other."""
        return self.ring[self.ring.index(self.members[0]) - 1]

    @property
    def after(self) -> int:
        return self.ring[(self.ring.index(self.members[0]) + 1) % len(self.ring)]


def parted(place: Place) -> PartedPlace:
    """Collective."""
    ring = sorted({*place.gather(place.members[0])})
    return PartedPlace(
        place.directory,
        place.members,
        place.directories,
        # Saves run in the background of a training: they get groups of their own.
        torch.distributed.new_group(backend="gloo"),
        place.everyone,
        place.fence,
        tuple(ring),
        torch.distributed.new_group(ring, backend="gloo"),
    )


def sizes_of(state: Mapping[str, Any], place: Place) -> tuple[int, int]:
    """Bytes that a copy takes in this rank's directory, and those that the ranks here write of it. Collective."""
    if not isinstance(place, PartedPlace):
        whole = bytes_of(state)
        return whole, whole
    group = place.group
    mine = own_bytes_of(share_of(state, torch.distributed.get_rank(group), torch.distributed.get_world_size(group)))
    parts = dict.fromkeys(place.ring, 0)
    for leader, size in place.gather((place.members[0], mine)):
        parts[leader] += size
    own = parts[place.members[0]]
    return sum(parts[leader] for leader in sorted({place.members[0], place.before})), own


class OwnWriter(WholeCheckpointWriter):
    """Anybody may make a directory where all accounts have their memory: never into another one's."""

    def prepare_local_plan(self, plan: Any) -> Any:
        require_own(self._directory)
        return super().prepare_local_plan(plan)


class PartWriter(OwnWriter):
    """The first of all ranks knows what was written; nothing is in place by that."""

    manifest: Manifest | None = None

    def finish(self, metadata: Metadata, results: list[list[Any]]) -> None:
        self.manifest = self.described(metadata, results)


class PartSaver(BackgroundSaver):
    """Every rank calls the same methods at the same steps; a save has ended when it is in place on every node."""

    def __init__(self, place: PartedPlace, writer: PartWriter) -> None:
        super().__init__(place, writer)
        self._parted = place
        self._parts = writer

    def _begun(self, share: dict[str, Any]) -> Future[Any]:
        written = super()._begun(share)
        thread = ThreadPoolExecutor(1, "memory_parts")
        future = thread.submit(self._passed_on, written)
        thread.shutdown(wait=False)
        return future

    def _passed_on(self, written: Future[Any]) -> None:
        """GaudiError on each node's first rank alike where one of them has failed; each goes on until all know."""
        written.result()
        if self._place.leads:
            manifest, parts = self._described()
            self._require_all(self._copied(manifest, parts))
            self._require_all(self._put_in_place(manifest))
            self._parts.remove_older()

    def _described(self) -> tuple[Manifest, dict[int, list[str]]]:
        """What all have written, and the names of each node's files."""
        writer, leaders = self._parts, self._parted.leaders
        known = manifest_text(writer.manifest) if writer.manifest else ""
        try:
            manifest = read_manifest(gather_in(leaders, known)[0])
        except ValueError as error:
            raise GaudiError(f"rank {self._parted.ring[0]} sent an invalid manifest: {error}") from error
        written = sorted({*manifest.files} - {METADATA})
        parts = gather_in(leaders, [name for name in written if (writer.unfinished / name).exists()])
        if sorted(chain(*parts)) != written:
            raise GaudiError(f"step {manifest.step} has lost files while it was written")
        return manifest, dict(zip(self._parted.ring, parts))

    def _copied(self, manifest: Manifest, parts: Mapping[int, Sequence[str]]) -> str:
        """What went wrong here when each node has its neighbor's part, or nothing."""
        place, folder, first = self._parted, self._parts.unfinished, self._parted.ring[0]
        own, alone = place.members[0], len(place.ring) == 1
        foreign = [] if alone else parts[place.before]
        given = (chunks_in(folder / name, manifest.files[name].bytes) for name in ([] if alone else parts[own]))
        neighbors = _Neighbors(place, chain.from_iterable(given))
        size = manifest.files[METADATA].bytes
        if own == first:
            send_file(folder / METADATA, size, first, place.leaders)
            under_way: dict[str, Iterator[Chunk]] = {}
        else:
            under_way = {METADATA: arriving(size, first, place.leaders)}
        under_way |= {name: neighbors.arriving(manifest.files[name].bytes) for name in foreign}
        failure = ""
        try:
            for name, chunks in under_way.items():
                with (folder / name).open("xb") as stream:
                    put_file(name, manifest.files[name], chunks, stream)
        except OSError as error:
            failure = f"{folder}: {error.strerror}"
        except ValueError as error:
            failure = str(error)
        # The others are in the middle of the same: a node that cannot write goes on listening and giving.
        for chunks in under_way.values():
            for _chunk in chunks:
                pass
        neighbors.give_rest()
        self._parts.bytes = sum(manifest.files[name].bytes for name in {METADATA, *parts[own], *foreign})
        return failure

    def _put_in_place(self, manifest: Manifest) -> str:
        try:
            self._parts.put_in_place(manifest)
        except OSError as error:
            return f"{self._parts.final}: {error.strerror}"
        except GaudiError as error:
            return str(error)
        return ""

    def _require_all(self, failure: str) -> None:
        failures = zip(self._parted.ring, gather_in(self._parted.leaders, failure))
        told = next((f"rank {rank}: {why}" for rank, why in failures if why), None)
        if told:
            raise GaudiError(told)


class _Neighbors:
    """Gives chunks to the node after this one while it takes those of the node before: all nodes do so at once."""

    def __init__(self, place: PartedPlace, outgoing: Iterator[torch.Tensor]) -> None:
        self._place = place
        self._outgoing = outgoing

    def arriving(self, size: int) -> Iterator[Chunk]:
        for length in lengths(size):
            chunk = torch.empty(length, dtype=torch.uint8)
            # Before it gives: nobody waits for a node that waits itself.
            taken: Any = torch.distributed.irecv(chunk, self._place.before, group=self._place.leaders)
            self._give()
            taken.wait()
            yield chunk.numpy().data

    def give_rest(self) -> None:
        while self._give():
            pass

    def _give(self) -> bool:
        chunk = next(self._outgoing, None)
        if chunk is not None:
            torch.distributed.send(chunk, self._place.after, group=self._place.leaders)
        return chunk is not None
