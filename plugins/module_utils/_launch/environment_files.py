# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The files of variables that a job names: read as root where only root writes them, else as the job's account.

systemd reads a unit's environment files as root and follows what it finds there, so it gets a copy of the latter.
"""

from __future__ import annotations

import contextlib
from typing import Mapping, NamedTuple

from .._errors import GaudiError
from .._job.paths import JobPaths
from .._job.plan import Job
from .._job.variable_file import is_of_others, variable_text
from .._node.environment_file import parse
from .._node.job_user import account
from .._node.rendered_files import WantedFile


def copies_of(job: Job, paths: JobPaths) -> dict[str, WantedFile | None]:
    """The copy for each file that an account may change; None for one that may be missing, and is."""
    try:
        owner = account(job.user)
    except GaudiError:
        # Only a check of a node that is not set up comes so far.
        return {}
    copies: dict[str, WantedFile | None] = {}
    for number, named in enumerate(job.environment_files):
        path = named.removeprefix("-")
        if is_of_others(path, owner):
            text = variable_text(path, owner)
            copies[named] = None if text is None else WantedFile(paths.environment_copy(number), text, mode=0o600)
    return copies


def unit_files(job: Job, copies: Mapping[str, WantedFile | None]) -> list[str]:
    """What the unit names, in the order of the job's: the last file that has a variable wins."""
    named = [(path, copies[path]) if path in copies else (path, path) for path in job.environment_files]
    return [found.path if isinstance(found, WantedFile) else found for _path, found in named if found is not None]


class Setting(NamedTuple):
    """A variable's value, and whether another account than root's may change the file that has it."""

    value: str
    is_of_others: bool


def sourced_settings(job: Job) -> dict[str, Setting]:
    """The variables of the job's environment files, each from the last one that has it."""
    found: dict[str, Setting] = {}
    for path in job.environment_files:
        # systemd takes more than this reads; such a file is the user's own, and so is what is in it.
        with contextlib.suppress(GaudiError):
            name, owner = path.removeprefix("-"), account(job.user)
            # Asked before it is read: what root alone may write stays so, and all else is read as the account.
            is_theirs = is_of_others(name, owner)
            read = parse(variable_text(name, owner) or "", name)
            found.update({one: Setting(value, is_theirs) for one, value in read.items()})
    return found


def settings_of_files(job: Job) -> dict[str, str]:
    """The values of :func:`sourced_settings`."""
    return {name: setting.value for name, setting in sourced_settings(job).items()}


def setting_of_files(job: Job, name: str) -> str | None:
    """A variable's value from the last of the job's environment files that has it; None where none has."""
    return settings_of_files(job).get(name)
