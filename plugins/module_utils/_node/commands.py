# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Running a program on the node, as a value that a test can replace."""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from typing import Mapping, NamedTuple, Protocol, Sequence

# poll(2) takes milliseconds in an int.
_LONGEST_WAIT_S = 2_000_000
# More than any program says that somebody reads.
LARGEST = 1 << 26
_PIECE = 1 << 16


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
        process = subprocess.Popen(  # pylint: disable=ansible-bad-function,consider-using-with
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
    except FileNotFoundError:
        return CommandResult(127, "", f"{argv[0]}: not installed")
    except (OSError, ValueError) as error:
        # A directory, a file without a header, a word that is too long or has a NUL.
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return CommandResult(126, "", f"{argv[0]}: cannot be run ({reason})")
    with process:
        try:
            has_ended, (said, complained) = _answer(process, timeout)
        finally:
            # Nothing to one that has ended.
            process.kill()
    if not has_ended:
        return CommandResult(124, said, f"{argv[0]}: timed out after {timeout} s")
    return CommandResult(process.returncode, said, complained)


def _answer(process: subprocess.Popen[bytes], timeout: float | None) -> tuple[bool, list[str]]:
    """Whether it ended in time, and what it wrote to both of its outputs, as far as anybody reads it."""
    end = None if timeout is None else time.monotonic() + min(timeout, _LONGEST_WAIT_S)
    streams = [stream for stream in (process.stdout, process.stderr) if stream]
    kept: list[bytearray] = [bytearray() for _stream in streams]
    with selectors.DefaultSelector() as selector:
        for stream, bytes_ in zip(streams, kept):
            selector.register(stream, selectors.EVENT_READ, bytes_)
        while selector.get_map() and (end is None or time.monotonic() < end):
            for key, _events in selector.select(None if end is None else max(0.0, end - time.monotonic())):
                piece = os.read(key.fd, _PIECE)
                if not piece:
                    selector.unregister(key.fileobj)
                # Who writes without an end is read to its own, and not kept.
                key.data.extend(piece[: LARGEST - len(key.data)])
        has_ended = not selector.get_map()
    try:
        process.wait(None if end is None else max(0.0, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        has_ended = False
    return has_ended, [_text(bytes_) for bytes_ in kept]


def _text(output: bytearray) -> str:
    return output.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n")
