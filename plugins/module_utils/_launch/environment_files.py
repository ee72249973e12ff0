# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The files of variables that a job names: read as root where only root writes them, else as the job's account.

systemd reads a unit's environment files as root and follows what it finds there, so it gets a copy of the latter.
"""

from __future__ import annotations

import contextlib
import pwd
from typing import Mapping, NamedTuple, Sequence

from .._errors import GaudiError
from .._job.paths import JobPaths
from .._job.plan import Job
from .._job.variable_file import is_of_others, variable_text
from .._node.environment_file import parse
from .._node.job_user import account
from .._node.rendered_files import WantedFile


class VariableFile(NamedTuple):
    """A file that the job names, as it was read: ``text`` None where it is not there, or ``refusal`` says why it cannot
    be read. ``is_of_others``: another account than root's may change it.
    """

    named: str
    is_of_others: bool
    text: str | None = None
    refusal: GaudiError | None = None

    @property
    def path(self) -> str:
        return self.named.removeprefix("-")


class Setting(NamedTuple):
    """A variable's value, and whether another account than root's may change the file that has it."""

    value: str
    is_of_others: bool


def read_files(job: Job) -> list[VariableFile]:
    """The job's environment files, each read once."""
    try:
        owner = account(job.user)
    except GaudiError:
        # Only a check of a node that is not set up comes so far.
        return []
    return [_read(named, owner) for named in job.environment_files]


def _read(named: str, owner: pwd.struct_passwd) -> VariableFile:
    path = named.removeprefix("-")
    # Asked before it is read: what root alone may write stays so, and all else is read as the account.
    is_theirs = is_of_others(path, owner)
    try:
        return VariableFile(named, is_theirs, variable_text(path, owner))
    except GaudiError as refusal:
        return VariableFile(named, is_theirs, refusal=refusal)


def copies_of(files: Sequence[VariableFile], paths: JobPaths) -> dict[str, WantedFile | None]:
    """The copy for each file that an account may change; None for one that may be missing, and is."""
    copies: dict[str, WantedFile | None] = {}
    for number, file in enumerate(files):
        if not file.is_of_others:
            continue
        if file.refusal:
            raise file.refusal
        there = None if file.text is None else WantedFile(paths.environment_copy(number), file.text, mode=0o600)
        copies[file.named] = there
    return copies


def unit_files(job: Job, copies: Mapping[str, WantedFile | None]) -> list[str]:
    """What the unit names, in the order of the job's: the last file that has a variable wins."""
    named = [(path, copies[path]) if path in copies else (path, path) for path in job.environment_files]
    return [found.path if isinstance(found, WantedFile) else found for _path, found in named if found is not None]


def settings_in(files: Sequence[VariableFile]) -> dict[str, Setting]:
    """The variables of the files, each from the last one that has it."""
    found: dict[str, Setting] = {}
    for file in files:
        # systemd takes more than this reads; such a file is the user's own, and so is what is in it.
        with contextlib.suppress(GaudiError):
            values = parse(file.text or "", file.path)
            found.update({name: Setting(value, file.is_of_others) for name, value in values.items()})
    return found


def settings_of_files(job: Job) -> dict[str, str]:
    """The values of the variables of the job's environment files."""
    return {name: setting.value for name, setting in settings_in(read_files(job)).items()}


def setting_of_files(job: Job, name: str) -> str | None:
    """A variable's value from the last of the job's environment files that has it; None where none has."""
    return settings_of_files(job).get(name)
