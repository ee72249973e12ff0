# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The checkpoints of one run of a job, put together from its options."""

from __future__ import annotations

import argparse
import contextlib
import os
from dataclasses import asdict

from gaudi3_scale.checkpoints.bucket import Bucket
from gaudi3_scale.checkpoints.callback import Checkpoints
from gaudi3_scale.checkpoints.fence import generation_from
from gaudi3_scale.checkpoints.files import Retention
from gaudi3_scale.checkpoints.job_key import find_key
from gaudi3_scale.checkpoints.memory_copies import MemoryCopies, find_memory
from gaudi3_scale.checkpoints.place import Place, find_place
from gaudi3_scale.checkpoints.resume import resume_from
from gaudi3_scale.checkpoints.saver import BackgroundSaver
from gaudi3_scale.checkpoints.upload import Upload
from gaudi3_scale.checkpoints.writer import WholeCheckpointWriter
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.json_lines import WriteLine
from gaudi3_scale.ranks import Ranks


def checkpoints_of_job(options: argparse.Namespace, ranks: Ranks, write: WriteLine) -> Checkpoints:
    """Choose the checkpoint to go on from and see to it that every rank has it. Collective: every rank calls it.

    Raises GaudiError, on every rank alike, where that would lose something, or where no checkpoint could be written.
    """
    place = find_place(options.job_dir / "checkpoints", ranks)
    key = find_key(options.checkpoint_key_file, os.environ, options.job_dir, place) if options.upload else None
    generation = generation_from(os.environ)
    bucket = Bucket(options.upload, key.value, options.accept_unsigned_checkpoints, generation) if key else None
    _take_fences(place, bucket if ranks.rank == 0 else None)
    memory = find_memory(options, ranks, place, write)
    resume = resume_from(options.resume, place, bucket, memory)
    for left_out in resume.left_out:
        write("checkpoint_left_out", **asdict(left_out))
    retention = Retention(options.checkpoints_kept, options.checkpoints_kept_every)
    # Not before: a key that was made for a checkpoint that it did not sign would only be in the way.
    signing = key.made() if key else None
    uploads = signing and ranks.rank == 0
    upload = (
        Upload(Bucket(options.upload, signing, generation=generation), place.directory, retention) if uploads else None
    )
    spared = upload.busy_with if upload else lambda: None
    writer = WholeCheckpointWriter(place.directory, resume.run, retention, spared, place.fence.require)
    saver = BackgroundSaver(place, writer)
    copies = MemoryCopies(memory, resume, options.memory_every, write) if memory else None
    return Checkpoints(place, saver, options.checkpoint_every, write, resume, upload, memory=copies)


def _take_fences(place: Place, bucket: Bucket | None) -> None:
    """Before anything is read or written: one rank a directory takes its fence, and the first rank the bucket's.

    Collective. Raises GaudiError, on every rank alike, where a later generation of the ranks has one of them.
    """
    refused = None
    try:
        if place.leads:
            place.fence.take()
        if bucket:
            # A storage that does not answer now is asked again before anything goes up.
            with contextlib.suppress(*bucket.errors):
                bucket.hold_fence()
    except GaudiError as error:
        refused = str(error)
    refusal = next((f"{why} (rank {rank})" for rank, why in enumerate(place.gather(refused)) if why), None)
    if refusal:
        raise GaudiError(refusal)
