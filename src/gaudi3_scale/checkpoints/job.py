# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The checkpoints of one run of a job, put together from its options."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from gaudi3_scale.checkpoints.bucket import Bucket
from gaudi3_scale.checkpoints.callback import Checkpoints
from gaudi3_scale.checkpoints.files import Retention
from gaudi3_scale.checkpoints.place import find_place
from gaudi3_scale.checkpoints.resume import resume_from
from gaudi3_scale.checkpoints.saver import BackgroundSaver
from gaudi3_scale.checkpoints.upload import Upload
from gaudi3_scale.checkpoints.writer import WholeCheckpointWriter
from gaudi3_scale.json_lines import WriteLine
from gaudi3_scale.ranks import Ranks


def checkpoints_of_job(options: argparse.Namespace, ranks: Ranks, write: WriteLine) -> Checkpoints:
    """Choose the checkpoint to go on from and see to it that every rank has it. Collective: every rank calls it.

    Raises GaudiError, on every rank alike, where that would lose something, or where no checkpoint could be written.
    """
    place = find_place(options.job_dir / "checkpoints", ranks)
    bucket = Bucket(options.upload) if options.upload else None
    resume = resume_from(options.resume, place, bucket)
    for left_out in resume.left_out:
        write("checkpoint_left_out", **asdict(left_out))
    retention = Retention(options.checkpoints_kept, options.checkpoints_kept_every)
    upload = Upload(bucket, place.directory, retention) if bucket and ranks.rank == 0 else None
    writer = WholeCheckpointWriter(place.directory, resume.run, retention, upload.busy_with if upload else lambda: None)
    return Checkpoints(place, BackgroundSaver(place, writer), options.checkpoint_every, write, resume, upload)
