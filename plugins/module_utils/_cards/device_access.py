# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Whether an account may open the cards' device nodes, by owner, group and mode; before a job or a trial tries to."""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import re
import stat
from pathlib import Path

from .._errors import GaudiError
from .._node.job_user import account

# A card, and the node by which it is managed; the second pair is that of drivers before 1.11.
_PLACES = (
    ("dev/accel", re.compile(r"accel\d+|accel_controlD\d+")),
    ("dev", re.compile(r"hl\d+|hl_controlD\d+")),
)
_ACL = "system.posix_acl_access"


def check_device_access(user: str, device: str, kernel_root: str = "/") -> None:
    """Raises GaudiError for no such account, and where it cannot open the cards of a ``device`` that is hpu."""
    entry = account(user)
    if device != "hpu":
        return
    closed = [path for path in device_nodes(kernel_root) if not may_open(entry, path)]
    if closed:
        raise GaudiError(_refusal(user, closed))


def device_nodes(kernel_root: str = "/") -> list[Path]:
    """The cards' device nodes, by name; none without the driver."""
    found = []
    for place, name in _PLACES:
        with contextlib.suppress(OSError):
            found += [path for path in Path(kernel_root, place).iterdir() if name.fullmatch(path.name)]
    return sorted(found)


def may_open(entry: pwd.struct_passwd, path: Path) -> bool:
    """Whether the account may read and write, as open(2) decides it; also where nobody but the kernel can tell."""
    try:
        status = path.stat()
    except OSError:
        # It has gone meanwhile.
        return True
    if entry.pw_uid == 0 or _has_acl(path):
        return True
    mode = stat.S_IMODE(status.st_mode)
    if status.st_uid == entry.pw_uid:
        return mode & 0o600 == 0o600
    if status.st_gid in os.getgrouplist(entry.pw_name, entry.pw_gid):
        return mode & 0o060 == 0o060
    return mode & 0o006 == 0o006


def _has_acl(path: Path) -> bool:
    with contextlib.suppress(OSError):
        return bool(os.getxattr(path, _ACL))
    return False


def _refusal(user: str, closed: list[Path]) -> str:
    first = closed[0].stat()
    group = _group(first.st_gid)
    more = f" and {len(closed) - 1} more" if len(closed) > 1 else ""
    mode = stat.S_IMODE(first.st_mode)
    what = f"user {user} cannot open {closed[0]}{more} on this node (group {group}, mode {mode:04o})"
    # The group root is no way: whoever is in it can do more than open a card.
    if first.st_gid == 0 or mode & 0o060 != 0o060:
        return f"{what}; give the cards' devices a dedicated group with a udev rule, and add {user} to it."
    return f"{what}; add it to the group {group} (gaudi_venv_user_groups), or set another user."


def _group(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)
