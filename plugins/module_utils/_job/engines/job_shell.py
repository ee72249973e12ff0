# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What systemd does for a job's processes, as shell: for the engines that start them on other nodes by themselves.

Lines for a POSIX shell. They run on each node, since a node's flags and its interfaces are its own.
"""

from __future__ import annotations

import shlex
from typing import Iterable, Mapping, Sequence

# As job.network does it in Python, which a venv of the user's need not have: the route to $towards tells this node's
# own address, and the address the interface. On loopback no other node could be reached.
INTERFACE = r"""address=$(getent ahosts "$towards" | sed -n '1s/ .*//p')
own=$(ip -oneline route get "${address:-$towards}" | sed -n 's/.* src \([^ ]*\).*/\1/p')
interface=$(ip -oneline address show to "${own:-$towards}" | sed -n '1s/^[0-9]*: *\([^ ]*\) .*/\1/p')
case $interface in '' | lo) ;; *) export GLOO_SOCKET_IFNAME="$interface" HCCL_SOCKET_IFNAME="$interface" ;; esac"""


def read_files(paths: Sequence[str]) -> list[str]:
    """Read environment files; one with a - before its path may be missing, without any other the shell ends."""
    lines = []
    for path in paths:
        word = shlex.quote(path.removeprefix("-"))
        lines.append(f"[ ! -r {word} ] || . {word}" if path.startswith("-") else f". {word}")
    return ["set -a", *lines, "set +a"] if lines else []


def exports(variables: Mapping[str, str]) -> list[str]:
    """The variables, sorted by name."""
    return [f"export {name}={shlex.quote(variables[name])}" for name in sorted(variables)]


def restored(names: Iterable[str], prefix: str) -> list[str]:
    """Give the variables the values that others of their names with ``prefix`` have, which go then.

    So a value is in no text: a program's words can be read by everybody.
    """
    return [line for name in sorted(names) for line in (f'export {name}="${prefix}{name}"', f"unset {prefix}{name}")]
