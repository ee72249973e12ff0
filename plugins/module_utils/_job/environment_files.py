# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The files of variables that a job names: read as root where only root writes them, else as the job's account.

systemd reads a unit's environment files as root and follows what it finds there, so it gets a copy of the latter.
"""

from __future__ import annotations

import contextlib
import os
import pwd
from typing import Mapping, NamedTuple, Sequence

from .._errors import GaudiError
from .._node.account_directory import acting_as
from .._node.environment_file import parse
from .._node.job_user import account
from .._node.path_writers import is_roots
from .._node.regular_file import open_regular
from .._node.rendered_files import WantedFile
from .paths import JobPaths
from .plan import Job

# More than any environment has room for (execve(2): 2 MiB of arguments and environment).
LARGEST = 1 << 20


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
    return [read_file(named, owner) for named in job.environment_files]


def read_file(named: str, owner: pwd.struct_passwd) -> VariableFile:
    """The file, read as root only where nobody else can put another one there.

    Where an account may change it, root reads it with no more rights than ``owner`` has; also where that is a third
    account: it could put a link there to what root alone may read.
    """
    path = named.removeprefix("-")
    # Asked before it is read: what root alone may write stays so, and all else is read as the account.
    is_of_others = owner.pw_uid not in (0, os.geteuid()) and not is_roots(path)
    rights = acting_as(owner) if is_of_others else contextlib.nullcontext()
    try:
        with rights, open_regular(os.path.realpath(path)) as stream:
            data = stream.read(LARGEST + 1)
    except FileNotFoundError:
        return VariableFile(named, is_of_others)
    except OSError as error:
        why = f"cannot be read as {owner.pw_name}: {error.strerror}; let that account read it."
        return VariableFile(named, is_of_others, refusal=GaudiError(f"environment_files: {path} {why}"))
    if len(data) > LARGEST:
        why = f"has more than {LARGEST} bytes; name a file of variables."
        return VariableFile(named, is_of_others, refusal=GaudiError(f"environment_files: {path} {why}"))
    return VariableFile(named, is_of_others, data.decode("utf-8", "surrogateescape"))


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


def settings_in(files: Sequence[VariableFile]) -> Mapping[str, Setting]:
    """The variables of the files, each from the last one that has it."""
    found: dict[str, Setting] = {}
    for file in files:
        # systemd takes more than this reads; such a file is the user's own, and so is what is in it.
        with contextlib.suppress(GaudiError):
            values = parse(file.text or "", file.path)
            found.update({name: Setting(value, file.is_of_others) for name, value in values.items()})
    return found
