# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Kernel arguments through a GRUB drop-in, as the Debian family reads them. Pure text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..._errors import GaudiError

# Read after the cloud images' 50-cloudimg-settings.cfg, which sets the whole variable anew.
DROP_IN = "default/grub.d/99-gaudi3-scale.cfg"
MENU = "grub/grub.cfg"

_VARIABLE = "GRUB_CMDLINE_LINUX_DEFAULT"
_SET_ANEW = re.compile(rf"^\s*(?:export\s+)?{_VARIABLE}=(.*)$", re.MULTILINE)
_ARGUMENT = re.compile(r"[A-Za-z0-9_.-]+(=[A-Za-z0-9_.,:;/@+%*-]*)?")
_KERNEL_LINE = re.compile(r"^\s*linux(?:16|efi)?\s+(.*)$", re.MULTILINE)


def check_arguments(arguments: Sequence[str]) -> None:
    """Refuse what a shell or the kernel would read as something else."""
    for argument in arguments:
        if not _ARGUMENT.fullmatch(argument):
            raise GaudiError(
                f"kernel_arguments: {argument!r} is not one argument; write name or name=value, without blanks."
            )


def drop_in(arguments: Sequence[str]) -> str:
    """Text that adds ``arguments`` to whatever the variable holds by then."""
    return (
        "# Written by gaudi3.scale: adds to GRUB_CMDLINE_LINUX_DEFAULT, whatever it is.\n"
        f'GRUB_CMDLINE_LINUX_DEFAULT="${{GRUB_CMDLINE_LINUX_DEFAULT}} {" ".join(arguments)}"\n'
    )


def missing_arguments(command_line: str, arguments: Sequence[str]) -> list[str]:
    """Those of ``arguments`` that a kernel command line lacks."""
    words = set(command_line.split())
    return [argument for argument in arguments if argument not in words]


def kernel_lines(menu: str) -> list[str]:
    """The kernels of grub.cfg with their command lines, in its order."""
    return _KERNEL_LINE.findall(menu)


def menu_lacks(menu: str, arguments: Sequence[str]) -> list[str]:
    """Those of ``arguments`` that no kernel line of grub.cfg has.

    One line is enough: recovery entries never get GRUB_CMDLINE_LINUX_DEFAULT.
    """
    lines = [set(line.split()) for line in kernel_lines(menu)]
    return [argument for argument in arguments if not any(argument in line for line in lines)]


def loses(text: str, arguments: Sequence[str]) -> list[str]:
    """Those of ``arguments`` that GRUB's settings in ``text`` take away again, read after ours.

    The variable is set anew there: neither from what it holds, nor with the arguments in it.
    """
    lost: list[str] = []
    for value in _SET_ANEW.findall(text):
        if f"${{{_VARIABLE}}}" in value or f"${_VARIABLE}" in value:
            continue
        words = value.strip().strip("\"'").split()
        lost = [argument for argument in arguments if argument not in words]
    return lost
