# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints without a training."""

from __future__ import annotations

from gaudi3_scale.checkpoints.files import (
    Manifest,
    checkpoint_path,
    put_in_place,
    record_of,
    unfinished_path,
    write_manifest,
)


def make(directory, step, run=7, content=b"weights"):
    """A whole checkpoint of two files, made as a run makes it."""
    folder = unfinished_path(directory, step, run)
    folder.mkdir(parents=True)
    for name in ("__0_0.distcp", "__1_0.distcp"):
        (folder / name).write_bytes(content)
    write_manifest(folder, Manifest(step, run, {path.name: record_of(path) for path in folder.iterdir()}))
    put_in_place(folder, checkpoint_path(directory, step))
    return checkpoint_path(directory, step)
