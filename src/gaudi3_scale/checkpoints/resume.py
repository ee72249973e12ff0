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
from gaudi3_scale.checkpoints.files import checkpoint_path, damage, found_in, manifest_of, remove_unfinished, set_aside
from gaudi3_scale.checkpoints.job_key import VARIABLE
from gaudi3_scale.checkpoints.manifest import Manifest, manifest_text, read_manifest
from gaudi3_scale.checkpoints.place import Place
from gaudi3_scale.checkpoints.signature import ForeignError
from gaudi3_scale.checkpoints.transfer import spread
from gaudi3_scale.core._errors import GaudiError

LOG = logging.getLogger(__name__)
RUNS = 1 << 31


@dataclass(frozen=True)
class LeftOut:
    """A checkpoint that is not gone on from, and why."""

    step: int
    where: str
    message: str


@dataclass(frozen=True)
class Resume:
    """The checkpoint to go on from and its step; None and 0 to begin anew. ``run`` is this run's own number."""

    path: Path | None
    step: int
    run: int
    left_out: list[LeftOut] = field(default_factory=list)


def resume_from(choice: str, place: Place, bucket: Bucket | None = None) -> Resume:
    """The checkpoint meant by ``--resume`` (``auto``, ``never`` or a folder). Collective: every rank calls it.

    ``auto`` is the newest step of which any directory, or the bucket, has a whole copy whose checksums are right.
    Raises GaudiError, on every rank alike, where going on or beginning anew would leave newer checkpoints behind, which
    a later ``auto`` would mistake for this job's, and where the bucket's newest is not known to be this job's.
    """
    run = place.gather(secrets.randbelow(RUNS))[0]
    if place.leads:
        for name in remove_unfinished(place.directory):
            LOG.warning("gaudi3_scale: %s was never finished; removed.", place.directory / name)
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
    left_out: list[LeftOut] = []
    for step in sorted({*local, *remote}, reverse=True):
        if _made_sure(step, place, bucket if step in remote else None, left_out):
            return Resume(checkpoint_path(place.directory, step), step, run, left_out)
    if left_out:
        raise GaudiError(
            f"--resume auto: no checkpoint in {place.directory} is complete: step {left_out[0].step}: "
            f"{left_out[0].message}; start in another --job-dir."
        )
    return Resume(None, 0, run)


def _made_sure(step: int, place: Place, bucket: Bucket | None, left_out: list[LeftOut]) -> bool:
    """Whether every directory has the checkpoint now. What is damaged is set aside and added to ``left_out``."""
    source = _good_copy(step, place, left_out)
    if source is None and bucket:
        left_out += _downloaded(step, place, bucket)
        source = _good_copy(step, place, left_out)
    if source is None:
        return False
    _spread_from(source, checkpoint_path(place.directory, step), place)
    return True


def _good_copy(step: int, place: Place, left_out: list[LeftOut]) -> int | None:
    """The first rank whose directory has a copy with the right checksums; each rank reads its part of the files."""
    path = checkpoint_path(place.directory, step)
    reason: str | None = None
    if path.is_dir():
        try:
            reason = damage(path, manifest_of(path), place.number, len(place.members))
        except ValueError as error:
            reason = str(error)
    reported = place.gather((path.is_dir(), reason))
    mine = next((reported[rank][1] for rank in place.members if reported[rank][1]), None)
    if mine and place.leads:
        kept = set_aside(path, place.fence.require)
        LOG.warning("gaudi3_scale: %s is damaged and was skipped: %s; kept as %s.", path, mine, kept.name)
    found = [LeftOut(step, f"rank {rank}: {path}", why) for rank, (_there, why) in enumerate(reported) if why]
    left_out += found
    members = place.gather(place.members)
    good = [
        rank
        for rank, (there, _why) in enumerate(reported)
        if there and not any(reported[one][1] for one in members[rank])
    ]
    return min(good, default=None)


def _spread_from(source: int, path: Path, place: Place) -> None:
    """From rank ``source``, which has the checkpoint in ``path``, to every directory that lacks this very copy."""
    mine = _manifest(path) if path.is_dir() else None
    wanted = _everyones_manifests(mine, place)[source]
    assert wanted is not None
    lacking = place.gather(place.leads and mine != wanted)
    receivers = [rank for rank, lacks in enumerate(lacking) if lacks and rank != source]
    if not receivers:
        return
    if place.leads:
        LOG.warning(
            "gaudi3_scale: step %s was copied from rank %s to rank %s, which did not have it.",
            wanted.step,
            source,
            receivers,
        )
    failures = place.gather(spread(source, receivers, path, wanted, place.directory, place.fence.require))
    failed = {rank: why for rank, why in enumerate(failures) if why}
    if failed:
        raise GaudiError(
            f"--resume: step {wanted.step} could not be copied to {place.directory} of rank "
            f"{', '.join(map(str, failed))}: {next(iter(failed.values()))}; make room there, or take the node out."
        )


def _everyones_manifests(mine: Manifest | None, place: Place) -> list[Manifest | None]:
    """Collective. Raises ValueError where a rank says what is no manifest."""
    texts = place.gather(manifest_text(mine) if mine else None)
    return [read_manifest(text) if text else None for text in texts]


def _named(path: Path, place: Place, run: int) -> Resume:
    """A folder that at least one node has; the others get it into their own directory."""
    mine, reason = None, None
    if path.is_dir():
        mine = _manifest(path)
        reason = damage(path, mine, place.number, len(place.members)) if mine else "it has no manifest that can be read"
    manifests, reasons = _everyones_manifests(mine, place), place.gather(reason)
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
    _spread_from(source, path if mine == wanted else own, place)
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


def _manifest(folder: Path) -> Manifest | None:
    try:
        return manifest_of(folder)
    except ValueError:
        return None
