# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Where trials run: a directory of their account, inside one that only the caller can change.

The account can put anything into its own directory, and cannot put anything in that directory's place. What it leaves
there is read as what it is: a regular file of bounded size, or nothing.
"""

from __future__ import annotations

import os
import pwd
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator

from .._node.account_directory import give
from .._node.job_user import other_account
from .._node.regular_file import read_end

# A result has some numbers for each step; of a log only the end is of use.
MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class TrialPlace:
    """``directory`` has the logs, ``work`` is where the trials start and write; ``account`` None: the caller's own."""

    directory: str
    account: pwd.struct_passwd | None

    @property
    def work(self) -> str:
        return f"{self.directory}/work"

    def log(self, rank: int) -> str:
        return f"{self.directory}/log-{rank}"

    def result(self, rank: int = 0) -> str:
        return f"{self.work}/result-{rank}.json"

    @property
    def as_account(self) -> dict[str, Any]:
        """What ``subprocess.Popen`` is told in order to start a process as the account."""
        if self.account is None:
            return {}
        uid, gid = self.account.pw_uid, self.account.pw_gid
        return {"user": uid, "group": gid, "extra_groups": os.getgrouplist(self.account.pw_name, gid)}


@contextmanager
def trial_place(prefix: str, user: str | None = None) -> Iterator[TrialPlace]:
    """A new place for ``user``, gone with all that is in it afterwards; None: for the caller's own account.

    Raises GaudiError where there is no such account, or the caller may not change to it.
    """
    account = None if user is None else other_account(user)
    directory = tempfile.mkdtemp(prefix=prefix)
    try:
        place = TrialPlace(directory, account)
        if account is None:
            Path(place.work).mkdir(mode=0o700)
        else:
            # The account has to come through to what is its own.
            Path(directory).chmod(0o711)
            give(place.work, account, 0o700)
        yield place
    finally:
        # By descriptors, without following links. TemporaryDirectory does follow them on its way out of a
        # permission error (CVE-2023-6597).
        shutil.rmtree(directory, ignore_errors=True)


def read_left(path: str) -> str | None:
    """The end of what a trial left; None where it left no regular file."""
    return read_end(path, MOST_BYTES)
