# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The account that jobs and trials run as: nobody's own, and not root unless an operator says so."""

from __future__ import annotations

import contextlib
import os
import pwd
import re
from typing import Mapping, Sequence

from .._errors import GaudiError
from .account_directory import account_of
from .account_unit import DEFAULT_LIMITS, home_variables, run_as
from .commands import CommandResult, Run

# What the role gaudi_venv makes.
DEFAULT_USER = "gaudi"

# What useradd(8) takes, and the @ of a directory service's names; digits alone are a number to systemd and not a name.
_NAME = re.compile(r"(?![0-9]+$)[A-Za-z0-9_][A-Za-z0-9_.@-]{0,254}\$?")


def check_user(user: str, option: str = "user") -> None:
    """Refuse what cannot name an account; ``option`` is where it stands."""
    if not _NAME.fullmatch(user):
        raise GaudiError(
            f"{option} is {user!r}, which is not a valid account name; give a name of letters, digits, dots, dashes "
            f"and underscores, as {DEFAULT_USER}."
        )


def account(user: str) -> pwd.struct_passwd:
    """The account; raises GaudiError where this node has none of that name."""
    check_user(user)
    try:
        return pwd.getpwnam(user)
    except KeyError:
        raise GaudiError(
            f"user {user} does not exist on this node; run playbooks/venv.yml, which creates the account in "
            f"gaudi_venv_user ({DEFAULT_USER}), or name one that every node has."
        ) from None


def exists(user: str) -> bool:
    """Whether this node has an account of that name."""
    with contextlib.suppress(KeyError):
        return bool(pwd.getpwnam(user))
    return False


def other_account(user: str) -> pwd.struct_passwd | None:
    """The account, None where this process has it already; raises GaudiError where it cannot be changed to."""
    entry = account(user)
    if entry.pw_uid == os.geteuid():
        return None
    if os.geteuid() != 0:
        own = pwd.getpwuid(os.geteuid()).pw_name
        raise GaudiError(f"user is {user}, and only root can run as another account than {own}; run this with become.")
    return entry


def check_left_to(user: str, directory: str) -> None:
    """Refuse to go on from what another account has written, as root before jobs had an account of their own."""
    try:
        owner = os.lstat(directory).st_uid
    except OSError:
        return
    uid = account(user).pw_uid
    if uid in (0, owner):
        return
    other = account_of(owner, owner).pw_name
    raise GaudiError(
        f"{directory} belongs to {other}, as whom this job ran before, and {user} cannot resume from it; set user "
        f"(gaudi_training_user) to {other}, or change its owner on every node (chown -R {user}: {directory})."
    )


def environment_as(user: str | None) -> dict[str, str]:
    """The environment that a process of ``user`` begins with: this process's, with the account's own home."""
    entry = None if user is None else other_account(user)
    return {**os.environ, **(home_variables(entry) if entry else {})}


def run_as_user(
    user: str,
    argv: Sequence[str],
    run: Run,
    *,
    timeout: float,
    env: Mapping[str, str] | None = None,
    limits: Sequence[str] = DEFAULT_LIMITS,
    unit: str = "",
) -> CommandResult:
    """:func:`account_unit.run_as` for an account by its name; GaudiError where this node has none of it."""
    return run_as(account(user), argv, run, timeout=timeout, env=env, limits=limits, unit=unit)
