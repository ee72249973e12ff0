# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The file in which a supervisor keeps what it voted for, as the launch of a new run makes it.

It says that nothing was voted for in that run yet, so it is made once a run and node. A supervisor that does not find
it has lost its memory, and does not vote on what went before.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

from .._errors import GaudiError
from .._follow.worker_group import WorkerGroup
from .._job.paths import JobPaths
from .._job.plan import Job
from .._node.account_directory import acting_as
from .._node.job_user import account
from .._node.json_file import read_json


def begin_votes(job: Job, paths: JobPaths, launch: str, worker_group: WorkerGroup) -> None:
    """Make the file for the run ``launch``, unless this node has been in it before; ``worker_group`` is how it stood.

    It is on the disk when this returns. The directory is the account's, and so is the file.
    """
    with acting_as(account(job.user)):
        has_voted = (read_json(paths.votes) or {}).get("launch") == launch
        # One that was in this run has lost its file since.
        if has_voted or worker_group.launch == launch:
            return
        try:
            _write(paths.votes, json.dumps({"launch": launch}) + "\n")
        except OSError as error:
            raise GaudiError(
                f"{paths.votes} cannot be written by {job.user}: {error.strerror}; let that account write there, or "
                "remove what is in its place."
            ) from error


def _write(path: str, text: str) -> None:
    new = Path(f"{path}.new")
    with contextlib.suppress(FileNotFoundError):
        new.unlink()
    # A new file, since the account could have put a pipe there for us to wait at.
    with new.open("x", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    new.replace(path)
    directory = os.open(Path(path).parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
