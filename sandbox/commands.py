# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Running programs of the host, and saying what is being done."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from .errors import SandboxError

LAST_LINES = 12


def run(
    argv: Sequence[str | os.PathLike[str]],
    *,
    cwd: Path | None = None,
    text_in: str | None = None,
    env: Mapping[str, str] | None = None,
    without: Collection[str] = (),
    remedy: str = "",
) -> str:
    """The program's standard output; a failure is a :class:`SandboxError` with the end of what it said.

    It gets the caller's environment but for the variables in ``without``.
    """
    kept = {name: value for name, value in os.environ.items() if name not in without}
    try:
        done = subprocess.run(
            [os.fspath(part) for part in argv],
            cwd=cwd,
            input=text_in,
            stdin=subprocess.DEVNULL if text_in is None else None,
            capture_output=True,
            text=True,
            env={**kept, "LC_ALL": "C.UTF-8", **(env or {})},
            check=False,
        )
    except FileNotFoundError as error:
        raise SandboxError(f"{argv[0]} is not installed; run `python3 -m sandbox prerequisites`.") from error
    if done.returncode != 0:
        said = "\n".join((done.stderr.strip() or done.stdout.strip()).splitlines()[-LAST_LINES:])
        command = " ".join(os.fspath(part) for part in argv)
        raise SandboxError(f"`{command}` failed with code {done.returncode}. {remedy}\n{said}".rstrip())
    return done.stdout


def say(text: str) -> None:
    """A line of progress; on standard error, so that a command's output stays clean."""
    print(text, file=sys.stderr, flush=True)


@contextmanager
def step(text: str) -> Iterator[None]:
    """Say what starts, and how long it took."""
    say(f"{text} ...")
    start = time.monotonic()
    yield
    say(f"{text}: {time.monotonic() - start:.1f} s")
