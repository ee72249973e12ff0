# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Copies of one checkpoint on several nodes: which of them are good, and giving one to the nodes that lack it."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from gaudi3_scale.checkpoints.files import checkpoint_path, damage, manifest_of, set_aside
from gaudi3_scale.checkpoints.manifest import Manifest, manifest_text, read_manifest
from gaudi3_scale.checkpoints.place import Place
from gaudi3_scale.checkpoints.transfer import spread
from gaudi3_scale.core._errors import GaudiError

LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class LeftOut:
    """A checkpoint that is not gone on from, and why."""

    step: int
    where: str
    message: str


def good_copy(step: int, place: Place, left_out: list[LeftOut]) -> int | None:
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


def spread_from(source: int, path: Path, place: Place) -> None:
    """From rank ``source``, which has the checkpoint in ``path``, to every directory that lacks this very copy."""
    mine = readable_manifest(path) if path.is_dir() else None
    wanted = everyones_manifests(mine, place)[source]
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


def everyones_manifests(mine: Manifest | None, place: Place) -> list[Manifest | None]:
    """Collective. Raises ValueError where a rank says what is no manifest."""
    texts = place.gather(manifest_text(mine) if mine else None)
    return [read_manifest(text) if text else None for text in texts]


def readable_manifest(folder: Path) -> Manifest | None:
    try:
        return manifest_of(folder)
    except ValueError:
        return None
