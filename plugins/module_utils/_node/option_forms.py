# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What words may be in units, in commands of root and in configuration of others: one form for each kind of option.

Each check raises GaudiError, in a sentence with the option's name, its value and the remedy.
"""

from __future__ import annotations

import re

from .._errors import GaudiError

# Also without what means something to systemd (% and quotes), to a shell, in a list and in a comment.
_PLACE = re.compile(r"/(?:[A-Za-z0-9._+@,:=~-]+(?:/[A-Za-z0-9._+@,:=~-]+)*/?)?")
# systemd.unit(5), without the \ of escaped paths, of which we name none.
_UNIT = re.compile(r"[A-Za-z0-9][A-Za-z0-9:_.@-]{0,200}\.(?:service|socket|target|timer)")
# Debian policy 5.6.1 and rpm's, with the version that may be asked for. apt-get(8) takes a name with a last - for one
# to remove, and anything with a first - for an option.
_PACKAGE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9+._-]*[A-Za-z0-9+])?(?::[a-z0-9]+)?(?:=[A-Za-z0-9.+:~-]*[A-Za-z0-9])?")
_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+)+(?:[-.+~][A-Za-z0-9.+~-]*)?")
_KERNEL = re.compile(r"[0-9]+\.[0-9][A-Za-z0-9.+~_-]*[A-Za-z0-9]")
_KERNEL_WORDS = ("", "supported", "distribution")
_ACCOUNT = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,31}\$?")


def check_place(option: str, path: str) -> None:
    """A directory or a program, as one word."""
    if not _PLACE.fullmatch(path) or ".." in path.split("/"):
        raise GaudiError(
            f"{option} is {path!r:.80}; give the whole path, of letters, digits and . _ + @ , : = ~ - alone.",
            option=option,
        )


def check_account_field(option: str, path: str) -> None:
    """A path in /etc/passwd, whose fields colons part (passwd(5))."""
    check_place(option, path)
    if ":" in path:
        raise GaudiError(f"{option} is {path!r:.80}; give a path without a colon.", option=option)


def check_unit(option: str, unit: str) -> None:
    """The name of a unit of systemd, with its kind."""
    if not _UNIT.fullmatch(unit):
        raise GaudiError(f"{option} is {unit!r:.80}; give the unit's name, such as NAME.service.", option=option)


def check_package(option: str, name: str) -> None:
    """A package of the distribution by name: no option, no file, no address, and none to remove.

    ``{kernel}`` in it stands for the node's own kernel.
    """
    if not _PACKAGE.fullmatch(name.replace("{kernel}", "0")):
        raise GaudiError(
            f"{option} has {name!r:.80}; give names of the distribution's packages, such as curl or curl=7.88.1-10.",
            option=option,
        )


def check_kernel(option: str, kernel: str) -> None:
    """A word for a kernel, or the release of one: it becomes part of package names and of GRUB's settings."""
    if kernel not in _KERNEL_WORDS and not _KERNEL.fullmatch(kernel):
        raise GaudiError(
            f"{option} is {kernel!r:.80}; give supported, distribution, or a kernel's release, such as "
            "6.8.0-45-generic.",
            option=option,
        )


def check_group(option: str, name: str) -> None:
    """An account's or a group's name (useradd(8))."""
    if not _ACCOUNT.fullmatch(name):
        raise GaudiError(f"{option} has {name!r:.80}; give a group name from /etc/group.", option=option)


def check_version(option: str, version: str) -> None:
    """A release as 1.24.1 or 1.24.1-482."""
    if not _VERSION.fullmatch(version):
        raise GaudiError(f"{option} is {version!r:.80}; give a release, such as 1.24.1.", option=option)


def check_range(option: str, value: float, least: float, most: float) -> None:
    """A number from ``least`` to ``most``."""
    if not least <= value <= most:
        raise GaudiError(f"{option} is {value:g}; give a number from {least:g} to {most:g}.", option=option)


def check_mtu(option: str, value: int) -> None:
    """What a network carries in a packet: from what IPv6 asks for to the largest of InfiniBand's and Ethernet's."""
    check_range(option, value, 1280, 65520)
