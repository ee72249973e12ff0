# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The directories that flags name, as state: for logs and for compiled recipes."""

from __future__ import annotations

import pwd
from dataclasses import dataclass
from pathlib import Path

from .._errors import GaudiError
from .._node.account_directory import give

_DIRECTORY_MODE = 0o755
# Below these nobody but the collection makes anything.
_OWN = ("/var/log/gaudi3_scale/", "/var/lib/gaudi3_scale/")


@dataclass(frozen=True)
class WantedDirectory:
    """A directory as it should be; ``account`` None leaves the owner alone."""

    path: str
    account: pwd.struct_passwd | None


def account_of(owner: str | None, check_mode: bool = False) -> pwd.struct_passwd | None:
    """None for no owner, and in check mode for one that the layer before would make."""
    if not owner:
        return None
    try:
        return pwd.getpwnam(owner)
    except KeyError:
        if check_mode:
            return None
        raise GaudiError(
            f"owner {owner!r} is not an account on this node; run playbooks/venv.yml, which creates the one in "
            "gaudi_venv_user, or name the account that runs the jobs."
        ) from None


def is_as_wanted(directory: WantedDirectory) -> bool:
    path = Path(directory.path)
    try:
        if not path.exists():
            return False
        if not path.is_dir():
            raise GaudiError(f"{path} is not a directory; move it away, or choose another path.")
        return directory.account is None or path.stat().st_uid == directory.account.pw_uid
    except OSError as error:
        raise GaudiError(f"{path} cannot be read: {error.strerror}; check its parent directories.") from error


def make(directory: WantedDirectory) -> None:
    path = Path(directory.path)
    try:
        if directory.account is not None:
            made_by_us = directory.path.startswith(_OWN)
            give(directory.path, directory.account, _DIRECTORY_MODE, instead_of_empty=True, made_by_us=made_by_us)
        elif not path.exists():
            path.mkdir(parents=True)
            # What the umask has taken, of what this has made in a directory of root's.
            path.chmod(_DIRECTORY_MODE)
    except OSError as error:
        raise GaudiError(f"{path} cannot be made: {error.strerror}; check its parent directory.") from error


def difference(directory: WantedDirectory) -> dict[str, str]:
    owner = f", owner {directory.account.pw_name}" if directory.account else ""
    there = Path(directory.path).exists()
    return {
        "before_header": f"{directory.path} ({'another owner' if there else 'absent'})",
        "after_header": f"{directory.path} (directory{owner})",
        "before": "",
        "after": f"directory, mode {_DIRECTORY_MODE:04o}{owner}\n",
    }
