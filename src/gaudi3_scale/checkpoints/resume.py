# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""From which checkpoint a job goes on, and seeing to it that every rank has it.

Any whole copy will do: nodes that lack it, as a spare that took a dead node's place, get it from one that has it.
"""

from __future__ import annotations

import logging
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from gaudi3_scale.checkpoints.bucket import Bucket
from gaudi3_scale.checkpoints.copies import (
    LeftOut,
    everyones_manifests,
    good_copy,
    readable_manifest,
    spread_from,
)
from gaudi3_scale.checkpoints.files import checkpoint_path, damage, found_in, remove, remove_unfinished, steps_in
from gaudi3_scale.checkpoints.gathered_parts import Parts, find_parts
from gaudi3_scale.checkpoints.job_key import VARIABLE
from gaudi3_scale.checkpoints.memory_parts import PartedPlace
from gaudi3_scale.checkpoints.memory_room import shortage
from gaudi3_scale.checkpoints.place import Place
from gaudi3_scale.checkpoints.signature import ForeignError
from gaudi3_scale.core._errors import GaudiError

LOG = logging.getLogger(__name__)
RUNS = 1 << 31


@dataclass(frozen=True)
class Resume:
    """The checkpoint to go on from and its step; None and 0 to begin anew. ``run`` is this run's own number.

    ``memory`` is the place that it lies in where that is not the directory of checkpoints, ``parts`` who has what of it
    where no node has to have it whole.
    """

    path: Path | None
    step: int
    run: int
    left_out: list[LeftOut] = field(default_factory=list)
    memory: Place | None = None
    parts: Parts | None = None


def resume_from(choice: str, place: Place, bucket: Bucket | None = None, memory: Place | None = None) -> Resume:
    """The checkpoint meant by ``--resume`` (``auto``, ``never`` or a folder). Collective: every rank calls it.

    ``auto`` is the newest step of which any directory, in ``memory`` or not, or the bucket, has a whole copy whose
    checksums are right. All else in memory is removed: it would be of another course of the training than this one.
    Raises GaudiError, on every rank alike, where going on or beginning anew would leave newer checkpoints behind, which
    a later ``auto`` would mistake for this job's, and where the bucket's newest is not known to be this job's.
    """
    run = place.gather(secrets.randbelow(RUNS))[0]
    if place.leads:
        for name in remove_unfinished(place.directory):
            LOG.warning("gaudi3_scale: %s was never finished; removed.", place.directory / name)
    if memory and memory.leads:
        # As good as each kill leaves one.
        remove_unfinished(memory.directory)
    resume = _chosen(choice, place, run, bucket, memory)
    if memory and memory.leads:
        for step, path in steps_in(memory.directory).items():
            if resume.memory is None or step != resume.step:
                remove(path)
    return resume


def _chosen(choice: str, place: Place, run: int, bucket: Bucket | None, memory: Place | None) -> Resume:
    if choice not in ("auto", "never"):
        return _named(Path(choice), place, run)
    local = _everyones_steps(place)
    remote = _steps_in_bucket(choice, place, bucket, bool(local))
    if choice == "never":
        newest = max([*local, *remote], default=0)
        if newest:
            where = place.directory if newest in local else bucket and bucket.url
            raise GaudiError(
                f"--resume never: {where} already holds step {newest}; move it away, or choose another --job-dir."
            )
        return Resume(None, 0, run)
    held = _everyones_steps(memory) if memory else set()
    left_out: list[LeftOut] = []
    in_memory: list[LeftOut] = []
    for step in sorted({*local, *remote, *held}, reverse=True):
        if memory and step in held:
            is_there, parts = _found_in_memory(step, memory, in_memory)
            if is_there:
                path = checkpoint_path(memory.directory, step)
                return Resume(path, step, run, [*in_memory, *left_out], memory, parts)
        if step in {*local, *remote} and _made_sure(step, place, bucket if step in remote else None, left_out):
            return Resume(checkpoint_path(place.directory, step), step, run, [*in_memory, *left_out])
    if left_out:
        raise GaudiError(
            f"--resume auto: no checkpoint in {place.directory} is complete: step {left_out[0].step}: "
            f"{left_out[0].message}; start in another --job-dir."
        )
    return Resume(None, 0, run, in_memory)


def _made_sure(step: int, place: Place, bucket: Bucket | None, left_out: list[LeftOut]) -> bool:
    """Whether every directory has the checkpoint now. What is damaged is set aside and added to ``left_out``."""
    source = good_copy(step, place, left_out)
    if source is None and bucket:
        left_out += _downloaded(step, place, bucket)
        source = good_copy(step, place, left_out)
    if source is None:
        return False
    spread_from(source, checkpoint_path(place.directory, step), place)
    return True


def _found_in_memory(step: int, memory: Place, left_out: list[LeftOut]) -> tuple[bool, Parts | None]:
    """Whether all of it is there, and who has what where no node has to have it whole."""
    if isinstance(memory, PartedPlace):
        parts = find_parts(step, memory, left_out)
        return parts is not None, parts
    return _made_sure_in_memory(step, memory, left_out), None


def _made_sure_in_memory(step: int, memory: Place, left_out: list[LeftOut]) -> bool:
    """The same for copies in memory, which a node may lack the room for: then it is left out, whoever has it."""
    source = good_copy(step, memory, left_out)
    if source is None:
        return False
    path = checkpoint_path(memory.directory, step)
    manifest = readable_manifest(path) if path.is_dir() else None
    size = memory.gather(manifest.bytes if manifest else 0)[source]
    short = "" if manifest else shortage(memory.directory, size, size)
    found = [LeftOut(step, f"rank {rank}: {path}", why) for rank, why in enumerate(memory.gather(short)) if why]
    if not found:
        try:
            spread_from(source, path, memory)
        except GaudiError as error:
            found = [LeftOut(step, str(path), str(error))]
    left_out += found
    return not found


def _named(path: Path, place: Place, run: int) -> Resume:
    """A folder that at least one node has; the others get it into their own directory."""
    mine, reason = None, None
    if path.is_dir():
        mine = readable_manifest(path)
        reason = damage(path, mine, place.number, len(place.members)) if mine else "it has no manifest that can be read"
    manifests, reasons = everyones_manifests(mine, place), place.gather(reason)
    broken = next(((rank, why) for rank, why in enumerate(reasons) if why), None)
    if broken:
        raise GaudiError(f"--resume {path}: damaged on rank {broken[0]}: {broken[1]}; name another checkpoint.")
    source = next((rank for rank, manifest in enumerate(manifests) if manifest), None)
    if source is None:
        raise GaudiError(f"--resume {path}: no rank has such a checkpoint; name a folder step-….")
    wanted = manifests[source]
    assert wanted is not None
    newest = max(_everyones_steps(place), default=0)
    if newest > wanted.step:
        raise GaudiError(
            f"--resume {path}: {place.directory} already holds step {newest}; move it away, or choose another "
            "--job-dir."
        )
    if all(manifest == wanted for manifest in manifests):
        return Resume(path, wanted.step, run)
    own = checkpoint_path(place.directory, wanted.step)
    spread_from(source, path if mine == wanted else own, place)
    return Resume(path if mine == wanted else own, wanted.step, run)


def _downloaded(step: int, place: Place, bucket: Bucket) -> list[LeftOut]:
    """The first rank gets the checkpoint from the bucket; returns what is wrong with it there."""
    reason = foreign = None
    if place.leads and place.members[0] == 0:
        try:
            bucket.download(step, place.directory, place.fence.require)
        except ForeignError as error:
            foreign = str(error)
        # mypy does not see that a tuple of any length holds exceptions when it is in another.
        except (*bucket.errors, ValueError, OSError) as error:  # type: ignore[misc]
            reason = f"{type(error).__name__}: {error}"
            if isinstance(error, ValueError):
                bucket.take_out(step)
            LOG.warning("gaudi3_scale: step %s of %s is left out: %s.", step, bucket.url, reason)
    reason, foreign = place.gather((reason, foreign))[0]
    if foreign:
        raise GaudiError(
            f"--upload {bucket.url}: step {step} is not known to be of this job: {foreign}; give the job's key with "
            f"--checkpoint-key-file or ${VARIABLE}, remove that step from the bucket, or accept it as it is with "
            "--accept-unsigned-checkpoints."
        )
    return [LeftOut(step, bucket.url, reason)] if reason else []


def _everyones_steps(place: Place) -> set[int]:
    """The steps of which any rank sees a folder, whole or not."""
    whole, broken = found_in(place.directory)
    return {step for steps in place.gather([*whole, *broken]) for step in steps}


def _steps_in_bucket(choice: str, place: Place, bucket: Bucket | None, some_local: bool) -> list[int]:
    """Raises GaudiError where only the bucket can tell whether there is something to go on from, and does not."""
    if bucket is None:
        return []
    reported: list[int] | str = []
    if place.members[0] == 0 and place.leads:
        try:
            reported = bucket.steps()
        except bucket.errors as error:
            reported = f"{type(error).__name__}: {error}"
            LOG.warning("gaudi3_scale: %s could not be listed: %s", bucket.url, reported)
    reported = place.gather(reported)[0]
    if isinstance(reported, list):
        return reported
    if choice == "auto" and not some_local:
        raise GaudiError(
            f"--upload {bucket.url}: it is unknown whether it has a checkpoint to resume from ({reported}); "
            "correct it, wait until it responds, or start from the beginning with --resume never."
        )
    return []
