# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Whether a node has what the built-in trainer reads; a program of one's own says nothing of what it reads."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator, Sequence

from .._errors import GaudiError
from .._job.engines.torchrun import TELLS_STEPS
from .._job.paths import JobPaths
from .._job.plan import Job, starts_in
from .._node.commands import Run
from .._node.job_user import run_as_user
from .._node.unit_words import unexpanded
from .confinement import confined

# By the trainer's own options, the variables that they come from, and what is behind a path in the names of its files.
VARIABLES = {"--text": "gaudi_training_text", "--data": "gaudi_training_data"}
SUFFIXES = {"--text": ("",), "--data": (".idx", ".bin")}
LOOK = 'for path; do [ -e "$path" ] || echo "absent $path"; [ -r "$path" ] || echo "unreadable $path"; done'
LOOK_SECONDS = 60.0


def check_data(job: Job, paths: JobPaths, run: Run) -> None:
    """Raises GaudiError where text or tokens are not here, or not for the job's account.

    It says nothing of the node: what is missing everywhere is said once.
    """
    wanted = dict(data_of(job.command))
    if not wanted:
        return
    places = [str(Path(starts_in(job, paths), path)) for path in wanted]
    # As that account: root may read what it may not, and may not on a shared file system.
    limits = confined(job, paths, unexpanded)
    done = run_as_user(job.user, ["sh", "-c", LOOK, "sh", *places], run, timeout=LOOK_SECONDS, limits=limits)
    if done.rc == 124:
        raise GaudiError(
            f"{', '.join(places)} could not be read within {LOOK_SECONDS:g} s; see whether its storage answers."
        )
    for said in done.stdout.splitlines():
        how, _space, path = said.partition(" ")
        if path not in places:
            continue
        variable = VARIABLES[list(wanted.values())[places.index(path)]]
        if how == "absent":
            raise GaudiError(f"{variable}: there is no {path} on this node; copy it to every host of the job.")
        raise GaudiError(f"{variable}: {job.user} cannot read {path} on this node; let that user read it.")


def data_of(command: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each file or directory that the built-in trainer is to read, and the option that names it; what lies in a bucket
    is the trainer's to look for, with the job's credentials."""
    for path, option in _paths_of(command):
        if path.startswith("s3://"):
            continue
        for suffix in SUFFIXES[option]:
            yield path + suffix, option


def _paths_of(command: Sequence[str]) -> Iterator[tuple[str, str]]:
    option = ""
    for word in command[len(TELLS_STEPS) :] if tuple(command[: len(TELLS_STEPS)]) == TELLS_STEPS else ():
        if word.startswith("-"):
            option, _equals, value = word.partition("=")
            if value and option in VARIABLES:
                yield value, option
        elif option in VARIABLES:
            yield word, option
