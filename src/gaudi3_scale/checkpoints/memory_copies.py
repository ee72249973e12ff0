# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Copies of a training's state in host memory: a second place of checkpoints, newer than those on the disk.

The same files, manifest, checksums and fence as on a disk. Nothing about them may end a training: where there is no
room, where they cannot be written, or where something removed them, there are none from then on, on any node.
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import Any

import lightning.pytorch as lightning

from gaudi3_scale.checkpoints.fence import FILE_NAME, FenceError
from gaudi3_scale.checkpoints.files import Retention
from gaudi3_scale.checkpoints.memory_parts import OwnWriter, PartedPlace, PartSaver, PartWriter, parted, sizes_of
from gaudi3_scale.checkpoints.memory_room import (
    IDENTITY,
    directory_of,
    free_in,
    identity_in,
    keep_identity,
    make_own,
    new_identity,
    remains_in,
    remove_own,
    shortage,
)
from gaudi3_scale.checkpoints.place import Place, find_place
from gaudi3_scale.checkpoints.resume import Resume
from gaudi3_scale.checkpoints.saver import BackgroundSaver
from gaudi3_scale.checkpoints.state import state_of
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._node.quantities import short_bytes
from gaudi3_scale.json_lines import WriteLine
from gaudi3_scale.models.sharding import FSDP2
from gaudi3_scale.ranks import Ranks

LOG = logging.getLogger(__name__)
IDLE, BUSY, FAILED = range(3)


class MemoryCopies:
    """One every ``every`` steps, or as soon as the one before it is there: no step waits for a copy to be written.

    Every rank calls the same methods at the same steps.
    """

    def __init__(self, place: Place, resume: Resume, every: int, write: WriteLine) -> None:
        self._place = place
        self._saver = _saver(place, resume.run)
        self._every = every
        self._write = write
        self._start = resume.step
        self._newest: int | None = None
        self._under_way = False
        self._failure = ""
        self._is_on = True
        self._is_told = False

    def answer(self) -> int:
        """What this rank says to the others, of which the largest counts.

        FenceError where a later generation of the ranks has begun.
        """
        self._look()
        return FAILED if self._failure else BUSY if self._under_way else IDLE

    def after_step(self, trainer: lightning.Trainer, agreed: int) -> None:
        """Begin a copy where one is due; ``agreed`` is what the ranks said after the step before, before it began one.

        Collective.
        """
        if not self._is_on:
            return
        if agreed == FAILED:
            self._look(wait=True)
            self._end(self._failure)
            return
        step = trainer.global_step
        is_known = self._newest is None or step - self._newest > 1
        if agreed == BUSY or not is_known or step - (self._newest or self._start) < self._every:
            return
        state = state_of(trainer)
        if self._newest is None and self._is_short(state):
            return
        self._newest, self._under_way = step, True
        self._saver.begin(step, state)

    def remove(self) -> None:
        """When the job has ended well: what is on the disk is all that it needs. Collective."""
        if self._is_on:
            self._is_on = False
            self._look(wait=True)
            self._remove()

    def _is_short(self, state: dict[str, Any]) -> bool:
        """Whether it is off now, for want of room. Collective."""
        copy, own = sizes_of(state, self._place)
        try:
            why = shortage(self._place.directory, copy, own) if self._place.leads else ""
        except OSError as error:
            why = f"{self._place.directory}: {error.strerror}"
        return self._end(why)

    def _look(self, wait: bool = False) -> None:
        if not self._under_way:
            return
        try:
            saved = self._saver.ended(wait)
        except FenceError:
            if (self._place.directory / FILE_NAME).exists():
                raise
            self._failure = f"{self._place.directory} was removed"
            self._under_way = False
            return
        self._under_way = saved is None
        if saved and saved.failure:
            parent = self._place.directory.parent
            # PyTorch's own words for a full disk are of its format.
            self._failure = (
                f"step {saved.step} could not be written to {parent}, which has {short_bytes(free_in(parent))} free: "
                f"{saved.failure}"
            )
        elif saved and not self._is_told:
            self._is_told = True
            self._write(
                "memory_copy",
                state="on",
                step=saved.step,
                path=str(saved.path),
                bytes=saved.bytes,
                seconds=round(saved.seconds, 3),
                blocked_seconds=round(saved.blocked_seconds, 3),
            )

    def _end(self, why: str) -> bool:
        """Where any rank says why, there are no copies from now on. Collective."""
        if not tell_off(self._place, why, self._write):
            return False
        self._is_on, self._failure = False, ""
        self._remove()
        return True

    def _remove(self) -> None:
        # Ranks that share a directory are all done with it.
        self._place.gather(None)
        if self._place.leads:
            remove_own(self._place.directory)


def _saver(place: Place, run: int) -> BackgroundSaver:
    whose = (place.directory, run, Retention(1), lambda: None, place.fence.require)
    if isinstance(place, PartedPlace):
        return PartSaver(place, PartWriter(*whose))
    return BackgroundSaver(place, OwnWriter(*whose))


def find_memory(options: argparse.Namespace, ranks: Ranks, disk: Place, write: WriteLine) -> Place | None:
    """The job's place in memory on every node, its fence taken; None where it has none, or none can be made.

    Collective. Raises GaudiError, on every rank alike, where a later generation of the ranks has begun.
    """
    if not options.memory_every:
        _forget(options.memory_dir, ranks, disk)
        return None
    reported = disk.gather((identity_in(disk.directory), new_identity()))
    identity = next((known for known, _new in reported if known), reported[0][1])
    directory = directory_of(options.memory_dir, identity, disk.directory)
    if tell_off(disk, _made(directory, identity, ranks, disk), write):
        return None
    try:
        place = find_place(directory, ranks, disk.everyone, "--memory-dir")
    except GaudiError as error:
        tell_off(disk, str(error), write)
        return None
    if tell_off(disk, _fenced(place), write):
        return None
    return parted(place) if options.sharding == FSDP2 else place


def tell_off(place: Place, why: str, write: WriteLine) -> bool:
    """Whether any rank says why there are no copies; the first such reason is told, once. Collective."""
    told = next(((rank, one) for rank, one in enumerate(place.gather(why)) if one), None)
    if told is None:
        return False
    rank, reason = told
    if place.members[0] == 0 and place.leads:
        LOG.warning("gaudi3_scale: no copies in memory from here on: rank %s: %s; training continues.", rank, reason)
    write("memory_copy", state="off", rank=rank, message=reason)
    return True


def _made(directory: Path, identity: str, ranks: Ranks, disk: Place) -> str:
    """Why this rank cannot make its part, or nothing."""
    try:
        if disk.leads and identity_in(disk.directory) != identity:
            keep_identity(disk.directory, identity)
        if ranks.local_rank == 0:
            make_own(directory)
            for path, size in remains_in(directory.parent, directory).items():
                LOG.warning(
                    "gaudi3_scale: %s has %s of another job, which wrote nothing there for an hour; remove it if that "
                    "job is not to be resumed.",
                    path,
                    short_bytes(size),
                )
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    except GaudiError as error:
        return str(error)
    return ""


def _fenced(place: Place) -> str:
    """Why this rank cannot take the fence, or nothing. Collective; GaudiError where a later generation has it."""
    why = superseded = ""
    try:
        if place.leads:
            place.fence.take()
    except FenceError as error:
        superseded = str(error)
    except GaudiError as error:
        why = str(error)
    refusal = next((f"{one} (rank {rank})" for rank, one in enumerate(place.gather(superseded)) if one), None)
    if refusal:
        raise GaudiError(refusal)
    return why


def _forget(parent: Path, ranks: Ranks, disk: Place) -> None:
    """What an earlier run left in memory: once this one is further, it would be of another course of the training."""
    identity = identity_in(disk.directory)
    if not any(disk.gather(bool(identity))):
        return
    if identity and ranks.local_rank == 0:
        remove_own(directory_of(parent, identity, disk.directory))
    disk.gather(None)
    if identity and disk.leads:
        (disk.directory / IDENTITY).unlink(missing_ok=True)
