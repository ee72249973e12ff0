# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The account that a job runs as."""

from __future__ import annotations

import os
import pwd
from typing import Sequence

from ..errors import GaudiError


def account(user: str) -> pwd.struct_passwd:
    """The account; raises GaudiError where this node has none of that name."""
    try:
        return pwd.getpwnam(user)
    except KeyError:
        raise GaudiError(f"user {user} does not exist on this node; create it on every node of the job.") from None


def as_user(user: str, argv: Sequence[str]) -> tuple[str, ...]:
    """``argv`` run as ``user``, which is a word more only where that is somebody else (runuser(1): root may)."""
    entry = account(user)
    if entry.pw_uid == os.geteuid():
        return tuple(argv)
    # runuser leaves the environment as it is; root's home is of no use to anybody else.
    home = ("env", f"HOME={entry.pw_dir}", f"USER={user}", f"LOGNAME={user}")
    return ("runuser", "-u", user, "--", *home, *argv)
