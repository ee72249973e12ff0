# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Running a program on the node, as a value that a test can replace."""

from __future__ import annotations

import os
import subprocess
from typing import Mapping, NamedTuple, Protocol, Sequence

# poll(2) takes milliseconds in an int.
_LONGEST_WAIT_S = 2_000_000


class CommandResult(NamedTuple):
    """What a program left behind.

    ``rc`` is 127 when it is not installed, 126 when it cannot be run and 124 when it ran past its time.
    """

    rc: int
    stdout: str
    stderr: str


def last_line(text: str, otherwise: str = "no message") -> str:
    """The last line of what a program said, which is nearly always its reason; ``otherwise`` where it said nothing."""
    return (text.strip().splitlines() or [otherwise])[-1]


def search_path(given: str | None) -> str:
    """Where programs are looked for: SSH sessions leave the administrator's directories out on some systems."""
    return (given or "/usr/local/bin:/usr/bin:/bin") + ":/usr/local/sbin:/usr/sbin:/sbin"


class Run(Protocol):
    """How a program is run."""

    def __call__(
        self, argv: Sequence[str], *, timeout: float | None = None, env: Mapping[str, str] | None = None
    ) -> CommandResult:
        """Run ``argv`` and return its result; never raises for a failing, missing or slow program."""


def run_process(
    argv: Sequence[str], *, timeout: float | None = None, env: Mapping[str, str] | None = None
) -> CommandResult:
    """The real :class:`Run`: English messages, no standard input, ``env`` added to the caller's environment."""
    environment = {**os.environ, "LC_ALL": "C", "LANGUAGE": "C", **(env or {})}
    environment["PATH"] = search_path(environment.get("PATH"))
    try:
        # Not AnsibleModule.run_command: the wheel runs the same code beside PyTorch, where there is no Ansible.
        done = subprocess.run(  # pylint: disable=ansible-bad-function
            list(argv),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=None if timeout is None else min(timeout, _LONGEST_WAIT_S),
            env=environment,
            check=False,
            text=True,
            errors="replace",
        )
    except FileNotFoundError:
        return CommandResult(127, "", f"{argv[0]}: not installed")
    except (OSError, ValueError) as error:
        # A directory, a file without a header, a word that is too long or has a NUL.
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return CommandResult(126, "", f"{argv[0]}: cannot be run ({reason})")
    except subprocess.TimeoutExpired as expired:
        return CommandResult(124, _text(expired.stdout), f"{argv[0]}: no end after {timeout} s")
    return CommandResult(done.returncode, done.stdout, done.stderr)


def _text(output: bytes | str | None) -> str:
    return output.decode(errors="replace") if isinstance(output, bytes) else output or ""
