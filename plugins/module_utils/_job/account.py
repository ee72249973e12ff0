# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The account of jobs on a node: made where it is missing, and let into the groups of the cards' devices.

Of an account that exists a directory service may have the rest, and an operator may have chosen it: it keeps all else.
"""

from __future__ import annotations

import grp
import os
import platform
import pwd
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Callable, Sequence

from .._errors import GaudiError
from .._node.commands import Run, last_line
from .._node.job_user import check_user
from .._node.lock import SHORT_S, exclusive

STATE = "/var/lib/gaudi3_scale"
COMMENT = "Jobs of gaudi3.scale"
NO_SHELL = "/usr/sbin/nologin"


@dataclass(frozen=True)
class AccountOptions:
    """What the operator asks for. ``uid`` 0 is whatever each node gives, an empty ``home`` a directory of its name.

    An empty ``shell`` is none to log in with. ``groups`` count as far as the node has them.
    """

    user: str
    uid: int = 0
    groups: Sequence[str] = ("render", "video")
    home: str = ""
    shell: str = ""


@dataclass(frozen=True)
class Account:
    """``groups`` are those of the wanted ones that it is in. ``uid`` None: the one that the node will give it."""

    user: str
    uid: int | None
    home: str
    shell: str
    groups: tuple[str, ...]


@dataclass(frozen=True)
class Found:
    """What the node has: the account, the number of the group of its name, and those of the wanted groups."""

    account: Account | None
    own_group: int | None
    groups: tuple[str, ...]


Look = Callable[[AccountOptions], Found]


def look(options: AccountOptions) -> Found:
    """Ask the node's databases, those of a directory service included; starts no process."""
    numbers = {name: _group(name) for name in dict.fromkeys(options.groups)}
    there = tuple(name for name, number in numbers.items() if number is not None and name != options.user)
    try:
        entry = pwd.getpwnam(options.user)
    except KeyError:
        return Found(None, _group(options.user), there)
    of_account = os.getgrouplist(entry.pw_name, entry.pw_gid)
    joined = tuple(name for name in there if numbers[name] in of_account)
    account = Account(options.user, entry.pw_uid, entry.pw_dir, entry.pw_shell, joined)
    return Found(account, _group(options.user), there)


def _group(name: str) -> int | None:
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError:
        return None


def wanted(options: AccountOptions, found: Found) -> Account:
    """The account as it should be on a node that has this."""
    if found.account:
        return replace(found.account, groups=found.groups)
    home = options.home or f"/var/lib/{options.user}"
    return Account(options.user, options.uid or None, home, options.shell or NO_SHELL, found.groups)


def refusal(options: AccountOptions, found: Found, node: str) -> str:
    """Why the account of this node is not touched, as one sentence; empty where it may be."""
    given, account = options.uid, found.account
    kind, own = ("account", account.uid) if account else ("group", found.own_group)
    if not given or own in (None, given):
        return ""
    subject = f"gaudi_venv_user {options.user}" if account else f"the group {options.user}"
    return (
        f"{subject} has the number {own} on {node}, not {given} as in gaudi_venv_user_uid; set that to the "
        f"number which the {kind} has on all nodes, or give it this number by hand."
    )


def commands(current: Account | None, asked: Account, own_group: int | None) -> list[tuple[str, ...]]:
    """What leads from ``current`` to ``asked``; groupadd(8), useradd(8), usermod(8)."""
    steps: list[tuple[str, ...]] = []
    number = () if asked.uid is None else (str(asked.uid),)
    if current is None and own_group is None:
        steps.append(("groupadd", *(("-g", *number) if number else ()), "-r", asked.user))
    if current is None:
        words = ("-g", asked.user, "-c", COMMENT, "-d", asked.home, "-s", asked.shell)
        # A home of mode 0750, where login.defs does not say otherwise.
        made = ("-m", "-K", "UMASK=0027", "-r", asked.user)
        steps.append(("useradd", *(("-u", *number) if number else ()), *words, *made))
    lacking = [name for name in asked.groups if current is None or name not in current.groups]
    if lacking:
        steps.append(("usermod", "-a", "-G", ",".join(lacking), asked.user))
    return steps


def render(account: Account | None) -> str:
    """The account as text, for ``--diff``."""
    if account is None:
        return ""
    number = "the node's next" if account.uid is None else account.uid
    values = {"user": account.user, "uid": number, "home": account.home, "shell": account.shell}
    return "".join(f"{name}: {value}\n" for name, value in values.items()) + f"groups: {' '.join(account.groups)}\n"


def converge(
    options: AccountOptions, run: Run, check_mode: bool, look: Look = look, state: str = STATE
) -> dict[str, object]:
    """Make the account what is wanted; the result's keys are always the same.

    Raises :class:`GaudiError` where the name can be none, or the account or its group has another number.
    """
    check_user(options.user, "gaudi_venv_user")
    found, asked = _judged(options, look)
    before, after = found.account, asked
    if asked != before and not check_mode:
        with exclusive("account of jobs", SHORT_S, directory=state, remedy="wait for it to finish"):
            # Another controller may have made it meanwhile.
            found, asked = _judged(options, look)
            before = found.account
            for command in commands(before, asked, found.own_group):
                _apply(command, asked, run)
            after = look(options).account or asked
    return {
        "changed": before != after,
        "diff": [_difference(before, after)] if before != after else [],
        "user": after.user,
        "uid": after.uid,
        "home": after.home,
        "shell": after.shell,
        "groups": list(after.groups),
    }


def _judged(options: AccountOptions, look: Look) -> tuple[Found, Account]:
    found = look(options)
    fault = refusal(options, found, platform.node())
    if fault:
        raise GaudiError(fault, user=options.user)
    return found, wanted(options, found)


def _apply(command: Sequence[str], asked: Account, run: Run) -> None:
    if command[0] == "useradd":
        # It makes the home, and nothing above it.
        Path(asked.home).parent.mkdir(parents=True, exist_ok=True)
    done = run(command)
    if done.rc != 0:
        raise GaudiError(
            f"{command[0]} could not set up the account {asked.user} as gaudi_venv_user and related options say: "
            f"{last_line(done.stderr)}; remove the cause, or make the account by hand.",
            user=asked.user,
        )


def _difference(before: Account | None, after: Account) -> dict[str, str]:
    header = f"account {after.user}"
    return {"before_header": header, "after_header": header, "before": render(before), "after": render(after)}
